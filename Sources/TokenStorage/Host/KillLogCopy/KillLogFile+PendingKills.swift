internal import Crypto
internal import Glibc
internal import SystemSupport
package import TokenModel

/// Kills that are not yet in the store or not yet in the audit log. Each is a file, shared by all processes that use
/// the directory.
extension KillLogFile {
    private static let pendingKillPrefix = "order-"
    private static let standingPrefix = "standing-"

    /// Saves a kill that the store does not take, so that it outlives this process.
    package func keep(pendingKill bytes: Secret, id: String) throws(StoreError) {
        do throws(SystemCallError) {
            try self.makeDirectory()
            _ = try WholeFile.create(at: self.path(ofOrder: id), holding: KeptBytes.file(of: bytes))
        } catch {
            throw StoreError(.unwritable, error.message)
        }
    }

    /// The kills that were saved and not dropped. For a damaged one, the reason why it can't be read.
    package func pendingKills() throws(StoreError) -> [Result<Secret, StoreError>] {
        // Earlier versions used the second prefix for a kill that was in the store but not in the audit log.
        try self.files(named: Self.pendingKillPrefix) + self.files(named: Self.standingPrefix)
    }

    private func files(named prefix: String) throws(StoreError) -> [Result<Secret, StoreError>] {
        let names: [String]
        do throws(SystemCallError) {
            names = try PrivateDirectory.names(in: self.directory)
        } catch {
            guard !error.isMissing else { return [] }
            throw StoreError(.unreadable, "the kill log's copy in state_dir: \(error.message)")
        }
        var files: [Result<Secret, StoreError>] = []
        for name in names where name.hasPrefix(prefix) && !name.hasSuffix(".tmp") {
            do throws(StoreError) {
                let file = try KeptBytes.read("\(self.directory)/\(name)", limit: KeptSegment.sizeLimit)
                if let file { files.append(.success(file)) }
            } catch {
                files.append(.failure(error))
            }
        }
        return files
    }

    /// Deletes a saved kill that the store has taken and the audit log has recorded.
    ///
    /// - Returns: whether it was still there.
    @discardableResult
    package func drop(pendingKill id: String) -> Bool {
        let isDropped = unsafe unlink(self.path(ofOrder: id)) == 0
        return unsafe unlink("\(self.directory)/\(Self.standingPrefix)\(id)") == 0 || isDropped
    }

    private func path(ofOrder id: String) -> String { "\(self.directory)/\(Self.pendingKillPrefix)\(id)" }
}

/// A file that shows whether it is complete: a mark, the SHA-256 of the content, and the content.
///
/// Nothing in it is secret. The digest detects damage on disk, not tampering: anyone who can write to `state_dir` could
/// also remove the store.
enum KeptBytes {
    private static let mark: [UInt8] = Array("martlet1".utf8)

    static func file(of content: Secret) -> Secret {
        let bytes = Self.plain(content)
        return Secret(Self.mark + Array(SHA256.hash(data: bytes)) + bytes)
    }

    /// The content of the file at `path`; `nil` if there is none.
    ///
    /// - Throws: ``StoreError/Code/unreadable`` for a file that is damaged or belongs to another user.
    static func read(_ path: String, limit: Int) throws(StoreError) -> Secret? {
        let bytes: [UInt8]
        do throws(SystemCallError) {
            let file = try OpenFile(opening: path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
            let ownership = try file.ownership()
            guard ownership.isRegular, ownership.owner == geteuid() else {
                throw SystemCallError(EPERM, "\(path) is not a file of this user's")
            }
            bytes = try file.read(limit: limit)
        } catch {
            guard !error.isMissing else { return nil }
            throw StoreError(.unreadable, "the kill log's copy in state_dir: \(error.message)")
        }
        let head = Self.mark.count + SHA256.byteCount
        guard bytes.count >= head, bytes.starts(with: Self.mark),
            Array(SHA256.hash(data: bytes[head...])) == Array(bytes[Self.mark.count..<head])
        else {
            throw StoreError(
                .unreadable,
                "\(path), of the kill log's copy in state_dir, is damaged: put it back from a backup, or move it away to go "
                    + "by the store alone"
            )
        }
        return Secret(bytes[head...])
    }

    private static func plain(_ content: Secret) -> [UInt8] {
        content.withUnredacted { span in span.indices.map { span[$0] } }
    }
}
