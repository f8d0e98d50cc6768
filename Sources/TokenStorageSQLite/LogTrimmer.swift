internal import GRDB
internal import Glibc
internal import Synchronization
internal import TokenStorage

/// When the write-ahead log is emptied.
package struct LogTrimming: Sendable {
    /// After the first write to an empty log.
    package var delay = Duration.seconds(1)
    /// After tries that found another process reading for long.
    package var longestDelay = Duration.seconds(60)
    /// For such readers: those who come to write meanwhile wait behind it.
    package var patience = Duration.milliseconds(20)
    /// A log that has grown by so many bytes does not wait for the delay.
    package var cap = 16 << 20

    package init() {}
}

/// Empties the write-ahead log soon after writes: records that were replaced or removed stand in it until then, and what
/// is forgotten must be gone from the disk.
final class LogTrimmer: Sendable {
    private struct State {
        /// Waits for the next try; `nil` while nothing is to be done.
        var waiting: Task<Void, Never>?
        /// The log's size at which there is no waiting.
        var limit: Int
        var isFinished = false
    }

    /// Of its own, so that no read waits for a disk.
    private let connection: Connection
    private let lock: DatabaseLock
    /// Of the log.
    private let path: String
    private let trimming: LogTrimming
    private let state: Mutex<State>

    /// - Parameter path: of the database.
    init(_ connection: Connection, _ lock: DatabaseLock, at path: String, _ trimming: LogTrimming) {
        self.connection = connection
        self.lock = lock
        self.path = path + "-wal"
        self.trimming = trimming
        self.state = Mutex(State(limit: trimming.cap))
    }

    deinit { self.cancel() }

    /// To be called after each write.
    func logGrew() {
        let size = self.logSize
        guard size > 0 else { return }
        self.state.withLock { state in
            guard size >= state.limit else { return self.schedule(after: self.trimming.delay, &state) }
            // A try that does not help is followed by one when the log has grown as much again.
            state.limit = size + self.trimming.cap
            state.waiting?.cancel()
            state.waiting = nil
            self.schedule(after: .zero, &state)
        }
    }

    /// Ends the try under way, and makes no more; blocks.
    func stop() {
        self.state.withLock { $0.isFinished = true }
        self.cancel()
        self.connection.drain()
    }

    /// Empties the log once more, for the caller that holds the lock; blocks.
    func trimLast() {
        guard self.logSize > 0 else { return }
        try? self.connection.runAtOnce { _ = try Self.checkpoint($0, $1, self.trimming) }
    }

    /// Closes the connection; blocks.
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
        // Free for the next one before the log is looked at: a write after that needs a try of its own.
        self.state.withLock { $0.waiting = nil }
        let isTrimmed = await self.trim()
        self.state.withLock { state in
            guard !isTrimmed else { return state.limit = self.trimming.cap }
            let next = max(delay * 2, self.trimming.delay)
            self.schedule(after: min(next, self.trimming.longestDelay), &state)
        }
    }

    /// - Returns: whether the log is empty now. Where somebody reads it, what it holds was copied as far as that allows.
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
