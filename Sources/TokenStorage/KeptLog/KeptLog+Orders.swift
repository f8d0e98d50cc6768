internal import Glibc
internal import LocalFiles
package import TokenModel

/// Kills that the store has not taken yet, and such as it has taken and nobody has recorded: each a file, for all processes
/// that share the directory.
extension KeptLog {
    private static let orderPrefix = "order-"
    private static let standingPrefix = "standing-"

    /// Keeps an order that the store does not take, past the end of this process.
    package func keep(order bytes: Secret, id: String) throws(StoreError) {
        do throws(SystemCallError) {
            try self.makeDirectory()
            _ = try WholeFile.create(at: self.path(ofOrder: id), holding: KeptBytes.file(of: bytes))
        } catch {
            throw StoreError(.unwritable, error.message)
        }
    }

    /// The orders that were kept and not let go of; for one that is damaged, why it can't be read.
    package func orders() throws(StoreError) -> [Result<Secret, StoreError>] {
        try self.files(named: Self.orderPrefix)
    }

    /// Those that stand in the store, and that nobody has recorded yet; for one that is damaged, why it can't be read.
    package func standing() throws(StoreError) -> [Result<Secret, StoreError>] {
        try self.files(named: Self.standingPrefix)
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

    /// Forgets an order that nobody needs to hear of any more.
    ///
    /// - Returns: whether it was there still.
    @discardableResult
    package func drop(order id: String) -> Bool {
        unsafe unlink(self.path(ofOrder: id)) == 0
    }

    /// Lets go of an order, since it stands in the store; what is left is for its record.
    ///
    /// - Returns: whether this call did: of several processes that let go of it one is told so.
    @discardableResult
    package func release(order id: String) -> Bool {
        unsafe rename(self.path(ofOrder: id), self.path(ofStanding: id)) == 0
    }

    /// Has an order that was let go of recorded, by one process at a time, and forgets it then.
    ///
    /// - Returns: whether nothing is left to be done: it is recorded, by this process or by another.
    package func settle(_ id: String, _ record: @Sendable () async -> Bool) async -> Bool {
        let path = self.path(ofStanding: id)
        do throws(SystemCallError) {
            let file = try OpenFile(opening: path, O_RDWR | O_NOFOLLOW)
            // Whoever had the lock may have forgotten it meanwhile.
            guard try file.lock() else { return false }
            var isSettled = unsafe access(path, F_OK) != 0 && errno == ENOENT
            if !isSettled, await record() {
                isSettled = true
                unsafe unlink(path)
            }
            _ = consume file
            return isSettled
        } catch {
            return error.isMissing
        }
    }

    private func path(ofOrder id: String) -> String { "\(self.directory)/\(Self.orderPrefix)\(id)" }
    private func path(ofStanding id: String) -> String { "\(self.directory)/\(Self.standingPrefix)\(id)" }
}
