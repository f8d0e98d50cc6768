internal import GRDB
internal import Synchronization
internal import TokenStorage

/// Empties the write-ahead log soon after writes: records that were replaced or removed stand in it until then, and what
/// is forgotten must be gone from the disk.
final class LogTrimmer: Sendable {
    private static let delay = Duration.seconds(1)
    /// After tries that found another process reading for long.
    private static let longestDelay = Duration.seconds(60)
    /// For others' locks: those who come meanwhile wait behind it.
    private static let lockPatience = Duration.milliseconds(20)

    /// Of its own: what takes a disk's time is done beside the writes.
    private let connection: Connection
    /// Waits for the next try; `nil` while nothing is to be done.
    private let waiting = Mutex<Task<Void, Never>?>(nil)

    /// Opens its connection; blocks.
    init(path: String) throws(StoreError) {
        self.connection = try Connection(path: path, label: "martlet.store.trimmer")
    }

    deinit { self.stop() }

    /// To be called after each write.
    func logGrew() {
        self.schedule(after: Self.delay)
    }

    /// Closes the connection; blocks.
    func close() { self.connection.close() }

    func stop() {
        self.waiting.withLock { waiting in
            waiting?.cancel()
            waiting = nil
        }
    }

    private func schedule(after delay: Duration) {
        self.waiting.withLock { waiting in
            guard waiting == nil else { return }
            waiting = Task { [weak self] in
                try? await Task.sleep(for: delay)
                guard !Task.isCancelled else { return }
                await self?.trim(after: delay)
            }
        }
    }

    private func trim(after delay: Duration) async {
        // Free for the next one before the log is looked at: a write after that needs a try of its own.
        self.waiting.withLock { $0 = nil }
        // First without keeping a writer waiting; then what came meanwhile, for which nobody may write.
        _ = try? await self.connection.run(.writing) { database in
            try database.execute(sql: "PRAGMA wal_checkpoint(PASSIVE)")
        }
        let isTrimmed = try? await self.connection.run(.writing, lockPatience: Self.lockPatience) { database in
            let row = try Row.fetchOne(database, sql: "PRAGMA wal_checkpoint(TRUNCATE)")
            return row.map { Int.fromDatabaseValue($0[0]) } == 0
        }
        if isTrimmed != true { self.schedule(after: min(delay * 2, Self.longestDelay)) }
    }
}
