internal import CSQLiteShims
internal import GRDB
internal import Glibc
internal import Synchronization
internal import TokenModel
internal import TokenStorage

/// One connection to a database, with a thread of its own for as long as it works: nothing here blocks the caller's.
///
/// Operations run one after another, to their end also when the task that asked is cancelled, and are answered within
/// ``timeLimit``: one that can't get the lock, or whose disk does not answer, has failed by then for its caller.
final class Connection: Sendable {
    /// When an operation stops waiting for its turn and for other processes' locks.
    static let lockLimit = Duration.milliseconds(1_600)
    /// When its caller is answered whatever it does, such as waiting for a disk.
    static let timeLimit = Duration.milliseconds(1_900)

    /// Answers those whose time is over.
    private static let deadlines = Deadlines(Connection.timeLimit)

    private let queue: DatabaseQueue
    private let patience: Patience
    private let path: String

    /// Opens the database; blocks.
    ///
    /// - Parameter deadline: when to stop waiting for other processes' locks.
    init(path: String, label: String, by deadline: ContinuousClock.Instant) throws(StoreError) {
        let patience = Patience()
        var configuration = Configuration()
        configuration.label = label
        configuration.busyMode = .callback { tries in patience.wait(afterTries: tries) }
        // GRDB ends the process for a transaction left open, as after a rollback that failed; `run` ends it instead.
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

    /// Runs `body` before the connection is shared; blocks.
    func runAtOpening<Value>(
        by deadline: ContinuousClock.Instant,
        _ body: (Database) throws -> Value
    ) throws(StoreError) -> Value {
        try Self.patiently(self.patience, self.path, by: deadline) { try self.queue.writeWithoutTransaction(body) }
    }

    /// Tries again while another process holds the lock: SQLite does not ask for patience where it fears a deadlock, as
    /// when two processes turn on the write-ahead log at once.
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

    /// Has the connection run `body` behind all that was asked of it before.
    func takeTurn(_ body: @escaping @Sendable (Database, Patience) -> Void) {
        self.queue.asyncWriteWithoutTransaction { database in body(database, self.patience) }
    }

    /// What `begin` sees to that is answered; a failure where that takes longer than ``timeLimit``.
    func reply<Value: Sendable>(
        _ attempt: StoreError.Attempt,
        _ begin: (Reply<Value>) -> Void
    ) async throws(StoreError) -> Value {
        let result: Result<Value, StoreError> = await withCheckedContinuation { continuation in
            let reply = Reply(to: continuation)
            Self.deadlines.watch { isLate in
                guard reply.isAwaited else { return false }
                if isLate { reply.give(.failure(self.late(attempt))) }
                return !isLate
            }
            begin(reply)
        }
        return try result.get()
    }

    /// What SQLite threw, as the store says it.
    func storeError(_ error: any Error, _ attempt: StoreError.Attempt) -> StoreError {
        StoreError(error, attempt: attempt, path: self.path)
    }

    /// It took too long.
    func late(_ attempt: StoreError.Attempt) -> StoreError {
        StoreError(
            .unreachable,
            "can't \(attempt.rawValue) the database \(self.path) in time: another process holds its lock, or its disk is slow"
        )
    }

    /// Runs `body` behind all that was asked of the connection before; blocks.
    func runAtOnce(_ body: (Database, Patience) throws -> Void) throws {
        try self.queue.writeWithoutTransaction { database in try body(database, self.patience) }
    }

    /// Waits for all that was asked of the connection; blocks.
    func drain() {
        // A closed one has nothing left.
        try? self.runAtOnce { _, _ in }
    }

    /// Closes the connection; later operations fail. Blocks.
    func close() {
        // What can't be closed now is closed with the last reference.
        try? self.queue.close()
    }
}

/// The first answer to one operation; later ones are dropped.
final class Reply<Value: Sendable>: Sendable {
    private let continuation: Mutex<CheckedContinuation<Result<Value, StoreError>, Never>?>

    init(to continuation: CheckedContinuation<Result<Value, StoreError>, Never>) {
        self.continuation = Mutex(continuation)
    }

    /// Whether no answer was given yet.
    var isAwaited: Bool { self.continuation.withLock { $0 != nil } }

    func give(_ result: Result<Value, StoreError>) {
        let waiting = self.continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }
        waiting?.resume(returning: result)
    }
}

/// How long the operation that a connection is busy with may go on waiting for another process's lock.
///
/// SQLite asks it between tries, on the connection's own thread.
final class Patience: Sendable {
    private let end = Mutex(ContinuousClock.now)

    /// Sets it for the operation that begins.
    func lasts(until end: ContinuousClock.Instant) {
        self.end.withLock { $0 = end }
    }

    /// Waits a little, longer after more tries.
    ///
    /// - Returns: whether to try again.
    func wait(afterTries tries: Int) -> Bool {
        guard ContinuousClock.now < self.end.withLock({ $0 }) else { return false }
        let milliseconds = min(1 << min(tries, 4), 10)
        usleep(UInt32(milliseconds) * 1000)
        return true
    }
}
