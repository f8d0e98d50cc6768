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
