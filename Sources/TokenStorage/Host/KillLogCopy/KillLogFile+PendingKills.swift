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
