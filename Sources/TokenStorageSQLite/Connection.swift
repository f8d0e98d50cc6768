internal import CSQLiteShims
internal import GRDB
internal import Glibc
internal import Synchronization
internal import TokenModel
internal import TokenStorage

/// One connection to a database. It works on a thread of its own, so it never blocks the caller's.
///
/// Operations run one after another, and run to their end even if the calling task is cancelled. Each returns within
/// ``timeLimit``: an operation that can't get the lock, or whose disk does not respond, has failed for its caller by
/// then.
final class Connection: Sendable {
    /// How long an operation waits for its turn and for other processes' locks.
    static let lockLimit = Duration.milliseconds(1_600)
    /// How long a caller waits at most, whatever the operation is doing, such as waiting for a disk.
    static let timeLimit = Duration.milliseconds(1_900)

    /// Ends the wait of callers whose time is over.
    private static let deadlines = Deadlines(Connection.timeLimit)

    private let queue: DatabaseQueue
    private let patience: Patience
    private let path: String

    /// Opens the database. Blocks.
    ///
    /// - Parameter deadline: when to stop waiting for other processes' locks.
    init(path: String, label: String, by deadline: ContinuousClock.Instant) throws(StoreError) {
        let patience = Patience()
        var configuration = Configuration()
        configuration.label = label
        configuration.busyMode = .callback { tries in patience.wait(afterTries: tries) }
        // GRDB terminates the process for a transaction that is left open, for instance after a failed rollback. `run`
        // rolls such a transaction back instead.
        configuration.allowsUnsafeTransactions = true
        configuration.prepareDatabase { database in
            let code = unsafe martlet_forbid_checkpoint_on_close(database.sqliteConnection)
            guard code == 0 else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
            try Schema.configure(database)
        }
        self.queue = try Self.patiently(patience, path, by: deadline) {
            try DatabaseQueue(path: path, configuration: configuration)
        }
        self.patience = patience
        self.path = path
    }

    /// Runs `body` before the connection is shared. Blocks.
    func runAtOpening<Value>(
        by deadline: ContinuousClock.Instant,
        _ body: (Database) throws -> Value
    ) throws(StoreError) -> Value {
        try Self.patiently(self.patience, self.path, by: deadline) { try self.queue.writeWithoutTransaction(body) }
    }

    /// Retries while another process holds the lock. SQLite does not call the busy handler where it expects a deadlock,
    /// for instance when two processes turn on the write-ahead log at once.
    private static func patiently<Value>(
        _ patience: Patience,
        _ path: String,
        by deadline: ContinuousClock.Instant,
        _ body: () throws -> Value
    ) throws(StoreError) -> Value {
        patience.lasts(until: deadline)
        var tries = 0
        while true {
            do {
                return try body()
            } catch DatabaseError.SQLITE_BUSY where patience.wait(afterTries: tries) {
                tries += 1
            } catch {
                throw StoreError(error, attempt: .opening, path: path)
            }
        }
    }

    /// Runs `body` with the connection.
    func run<Value: Sendable>(
        _ attempt: StoreError.Attempt,
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(StoreError) -> Value {
        let deadline = ContinuousClock.now + Self.lockLimit
        return try await self.reply(attempt) { reply in
            self.takeTurn { database, patience in
                guard ContinuousClock.now < deadline else { return reply.give(.failure(self.late(attempt))) }
                patience.lasts(until: deadline)
                let result = Result {
                    if database.isInsideTransaction { try database.rollback() }
                    return try body(database)
                }
                reply.give(result.mapError { self.storeError($0, attempt) })
            }
        }
    }

    /// Runs `body` on the connection, after all earlier operations.
    func takeTurn(_ body: @escaping @Sendable (Database, Patience) -> Void) {
        self.queue.asyncWriteWithoutTransaction { database in body(database, self.patience) }
    }

    /// The reply that `begin` arranges; a failure if that takes longer than ``timeLimit``.
    func reply<Value: Sendable>(
        _ attempt: StoreError.Attempt,
        _ begin: (Reply<Value>) -> Void
    ) async throws(StoreError) -> Value {
        try await Self.deadlines.reply(late: { self.late(attempt) }, begin)
    }

    /// The store error for an error that SQLite threw.
    func storeError(_ error: any Error, _ attempt: StoreError.Attempt) -> StoreError {
        StoreError(error, attempt: attempt, path: self.path)
    }

    /// The error for an operation that took too long.
    func late(_ attempt: StoreError.Attempt) -> StoreError {
        StoreError(
            .unreachable,
            "can't \(attempt.rawValue) the database \(self.path) in time: another process holds its lock, or its disk is slow"
        )
    }

    /// Runs `body` on the connection, after all earlier operations. Blocks.
    func runAtOnce(_ body: (Database, Patience) throws -> Void) throws {
        try self.queue.writeWithoutTransaction { database in try body(database, self.patience) }
    }

    /// Waits for all earlier operations. Blocks.
    func drain() {
        // A closed connection has no operations left.
        try? self.runAtOnce { _, _ in }
    }

    /// Closes the connection. Later operations fail. Blocks.
    func close() {
        // If it can't be closed now, it is closed with its last reference.
        try? self.queue.close()
    }
}

/// The deadline up to which the current operation of a connection may wait for another process's lock.
///
/// SQLite's busy handler calls ``wait(afterTries:)`` between tries, on the connection's own thread.
final class Patience: Sendable {
    private let end = Mutex(ContinuousClock.now)

    /// Sets the deadline for the operation that begins.
    func lasts(until end: ContinuousClock.Instant) {
        self.end.withLock { $0 = end }
    }

    /// Waits 1 to 10 ms, longer after more tries.
    ///
    /// - Returns: whether to try again.
    func wait(afterTries tries: Int) -> Bool {
        guard ContinuousClock.now < self.end.withLock({ $0 }) else { return false }
        let milliseconds = min(1 << min(tries, 4), 10)
        usleep(UInt32(milliseconds) * 1000)
        return true
    }
}
