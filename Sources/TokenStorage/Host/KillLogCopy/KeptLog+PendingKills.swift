internal import Crypto
internal import Glibc
internal import LocalFiles
package import TokenModel

/// Kills that the store has not taken yet, or that are not in the audit log yet: each a file, for all processes that share
/// the directory.
extension KeptLog {
    private static let pendingKillPrefix = "order-"
    private static let standingPrefix = "standing-"

    /// Keeps an order that the store does not take, past the end of this process.
    package func keep(pendingKill bytes: Secret, id: String) throws(StoreError) {
        do throws(SystemCallError) {
            try self.makeDirectory()
            _ = try WholeFile.create(at: self.path(ofOrder: id), holding: KeptBytes.file(of: bytes))
        } catch {
            throw StoreError(.unwritable, error.message)
        }
    }

    /// The orders that were kept and not dropped; for one that is damaged, why it can't be read.
    package func pendingKills() throws(StoreError) -> [Result<Secret, StoreError>] {
        // What an earlier version called one that stands in the store and was not recorded.
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

    /// Forgets an order that stands in the store and was recorded.
    ///
    /// - Returns: whether it was there still.
    @discardableResult
    package func drop(pendingKill id: String) -> Bool {
        let isDropped = unsafe unlink(self.path(ofOrder: id)) == 0
        return unsafe unlink("\(self.directory)/\(Self.standingPrefix)\(id)") == 0 || isDropped
    }

    private func path(ofOrder id: String) -> String { "\(self.directory)/\(Self.pendingKillPrefix)\(id)" }
}

/// A file that says by itself whether it is whole: a mark, the SHA-256 of what follows, and that.
///
/// Nothing in it is secret. The digest tells what a disk has spoilt, not what somebody has changed: whoever may write to
/// `state_dir` could as well take the store away.
enum KeptBytes {
    private static let mark: [UInt8] = Array("martlet1".utf8)

    static func file(of content: Secret) -> Secret {
        let bytes = Self.plain(content)
        return Secret(Self.mark + Array(SHA256.hash(data: bytes)) + bytes)
    }

    /// What the file at `path` holds; `nil` where there is none.
    ///
    /// - Throws: ``StoreError/Code/unreadable`` for one that is spoilt, or another user's.
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
