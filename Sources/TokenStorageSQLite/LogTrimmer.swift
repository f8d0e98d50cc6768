internal import GRDB
internal import Glibc
internal import Synchronization
internal import TokenStorage

/// The schedule on which the write-ahead log is emptied.
package struct LogTrimming: Sendable {
    /// The delay after the first write to an empty log.
    package var delay = Duration.seconds(1)
    /// The longest delay between tries while another process reads for a long time.
    package var longestDelay = Duration.seconds(60)
    /// How long a try waits for such readers. Writers of all processes wait meanwhile.
    package var patience = Duration.milliseconds(20)
    /// The growth of the log in bytes after which it is emptied without delay.
    package var cap = 16 << 20

    package init() {}
}

/// Empties the write-ahead log soon after writes. Until then it contains records that were replaced or removed, and
/// deleted records must disappear from the disk.
final class LogTrimmer: Sendable {
    private struct State {
        /// The task that waits for the next try; `nil` if none is needed.
        var waiting: Task<Void, Never>?
        /// The size of the log at which it is emptied without delay.
        var limit: Int
        var isFinished = false
    }

    /// A connection of its own, so that no read waits for a disk.
    private let connection: Connection
    private let lock: DatabaseLock
    /// The path of the log.
    private let path: String
    private let trimming: LogTrimming
    private let state: Mutex<State>

    /// - Parameter path: the path of the database.
    init(_ connection: Connection, _ lock: DatabaseLock, at path: String, _ trimming: LogTrimming) {
        self.connection = connection
        self.lock = lock
        self.path = path + "-wal"
        self.trimming = trimming
        self.state = Mutex(State(limit: trimming.cap))
    }

    deinit { self.cancel() }

    /// Called after each write.
    func logGrew() {
        let size = self.logSize
        guard size > 0 else { return }
        self.state.withLock { state in
            guard size >= state.limit else { return self.schedule(after: self.trimming.delay, &state) }
            // If the try does not empty the log, the next one comes once the log has grown by as much again.
            state.limit = size + self.trimming.cap
            state.waiting?.cancel()
            state.waiting = nil
            self.schedule(after: .zero, &state)
        }
    }

    /// Ends the try in progress, and makes no more. Blocks.
    func stop() {
        self.state.withLock { $0.isFinished = true }
        self.cancel()
        self.connection.drain()
    }

    /// Empties the log once more. The caller holds the lock. Blocks.
    func trimLast() {
        guard self.logSize > 0 else { return }
        try? self.connection.runAtOnce { _ = try Self.checkpoint($0, $1, self.trimming) }
    }

    /// Closes the connection. Blocks.
    func close() { self.connection.close() }

    private func cancel() {
        self.state.withLock { state in
            state.waiting?.cancel()
            state.waiting = nil
        }
    }

    private func schedule(after delay: Duration, _ state: inout State) {
        guard state.waiting == nil, !state.isFinished else { return }
        state.waiting = Task { [weak self] in
            try? await Task.sleep(for: delay)
            guard !Task.isCancelled else { return }
            await self?.tryToTrim(after: delay)
        }
    }

    private func tryToTrim(after delay: Duration) async {
        // Reset this before the log is read: a write after that needs a try of its own.
        self.state.withLock { $0.waiting = nil }
        let isTrimmed = await self.trim()
        self.state.withLock { state in
            guard !isTrimmed else { return state.limit = self.trimming.cap }
            let next = max(delay * 2, self.trimming.delay)
            self.schedule(after: min(next, self.trimming.longestDelay), &state)
        }
    }

    /// - Returns: whether the log is empty now. If another connection reads the log, as much of it as possible was
    ///   copied to the database.
    private func trim() async -> Bool {
        let (connection, lock, trimming) = (self.connection, self.lock, self.trimming)
        let isTrimmed = try? await connection.reply(.writing) { (reply: Reply<Bool>) in
            connection.takeTurn { database, patience in
                let result = Result {
                    try lock.withLock(until: .now + Connection.lockLimit) {
                        try Self.checkpoint(database, patience, trimming)
                    }
                }
                reply.give(result.mapError { connection.storeError($0, .writing) })
            }
        }
        return isTrimmed == true
    }

    private static func checkpoint(
        _ database: Database,
        _ patience: Patience,
        _ trimming: LogTrimming
    ) throws -> Bool {
        patience.lasts(until: .now + trimming.patience)
        let row = try Row.fetchOne(database, sql: "PRAGMA wal_checkpoint(TRUNCATE)")
        return row.map { Int.fromDatabaseValue($0[0]) } == 0
    }

    private var logSize: Int {
        var status = stat()
        return unsafe stat(self.path, &status) == 0 ? Int(status.st_size) : 0
    }
}
