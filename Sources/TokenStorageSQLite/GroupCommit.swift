internal import GRDB
internal import Synchronization
internal import TokenModel
internal import TokenStorage

/// Changes that wait while the disk is busy with earlier ones, and then go into one transaction: one sync for all of them.
///
/// Each is answered for itself, and only when all are on the disk: one that finds another version than it expects fails
/// alone, a transaction that fails takes all of its changes with it.
final class GroupCommit: Sendable {
    /// How many changes go into a transaction at most: what comes behind them must not wait long for it.
    private static let largestGroup = 64

    private struct Change {
        let record: RecordChange
        let deadline: ContinuousClock.Instant
        let reply: Reply<Void>
        /// Throws before it changes anything, or has the transaction fail.
        let body: @Sendable (Database) throws -> Void
    }

    private let connection: Connection
    private let file: DatabaseFile
    private let lock: DatabaseLock
    /// Called with each change that is on the disk. Before the answer and not after it: a change whose caller was told
    /// "too late" may stand all the same.
    private let changed: @Sendable (RecordChange) -> Void
    private let waiting = Mutex<[Change]>([])

    init(
        _ connection: Connection,
        _ file: DatabaseFile,
        _ lock: DatabaseLock,
        changed: @escaping @Sendable (RecordChange) -> Void
    ) {
        self.connection = connection
        self.file = file
        self.lock = lock
        self.changed = changed
    }

    /// Runs `body` in a transaction that holds the write lock from its beginning; what it does is on the disk when this
    /// returns.
    func run(
        _ record: RecordChange,
        _ body: @escaping @Sendable (Database) throws -> Void
    ) async throws(StoreError) {
        try await self.connection.reply(.writing) { reply in
            let change = Change(record: record, deadline: .now + Connection.lockLimit, reply: reply, body: body)
            let isFirst = self.waiting.withLock { waiting in
                waiting.append(change)
                return waiting.count == 1
            }
            if isFirst { self.commitSoon() }
        }
    }

    private func commitSoon() {
        self.connection.takeTurn { database, patience in
            let (group, isMore) = self.waiting.withLock { waiting in
                let group = Array(waiting.prefix(Self.largestGroup))
                waiting.removeFirst(group.count)
                return (group, !waiting.isEmpty)
            }
            if isMore { self.commitSoon() }
            self.commit(group, database, patience)
        }
    }

    private func commit(_ group: [Change], _ database: Database, _ patience: Patience) {
        guard let last = group.map(\.deadline).max() else { return }
        patience.lasts(until: last)
        var outcomes: [Result<Void, StoreError>] = []
        do {
            try self.lock.withLock(until: last) {
                if database.isInsideTransaction { try database.rollback() }
                try self.file.checkInPlace()
                try database.inTransaction(.immediate) {
                    for change in group { outcomes.append(try self.outcome(of: change, database)) }
                    return .commit
                }
            }
        } catch {
            let error = self.connection.storeError(error, .writing)
            for change in group { change.reply.give(.failure(error)) }
            return
        }
        for (change, outcome) in zip(group, outcomes) {
            if case .success = outcome { self.changed(change.record) }
            change.reply.give(outcome)
        }
    }

    /// - Throws: what the whole transaction fails with.
    private func outcome(of change: Change, _ database: Database) throws -> Result<Void, StoreError> {
        // Waiting for the lock took too long for this one, though not for all.
        guard ContinuousClock.now < change.deadline else { return .failure(self.connection.late(.writing)) }
        do {
            try change.body(database)
            return .success(())
        } catch let error as StoreError where error.code == .conflict || error.code == .unreadable {
            return .failure(error)
        }
    }
}

extension StoreError {
    /// What was being done when SQLite failed.
    enum Attempt: String {
        case opening = "open"
        case reading = "read"
        case writing = "write"
    }

    /// Translates what SQLite threw. Statements and values stay out of it.
    init(_ error: any Error, attempt: Attempt, path: String) {
        if let error = error as? StoreError {
            self = error
            return
        }
        guard let error = error as? DatabaseError else {
            self.init(.unreachable, "can't \(attempt.rawValue) the database \(path)")
            return
        }
        let (code, advice) = Self.meaning(of: error.resultCode, attempt: attempt)
        let said = error.message ?? "no message"
        self.init(
            code,
            "can't \(attempt.rawValue) the database \(path): \(said) "
                + "(SQLite code \(error.extendedResultCode.rawValue)); \(advice)"
        )
    }

    private static func meaning(of code: ResultCode, attempt: Attempt) -> (Code, advice: String) {
        switch code {
        case .SQLITE_FULL:
            (.unwritable, "free space on its disk")
        case .SQLITE_READONLY, .SQLITE_PERM, .SQLITE_AUTH:
            (.unwritable, "this user must be able to write the file and its directory")
        case .SQLITE_IOERR:
            (attempt == .writing ? .unwritable : .unreachable, "look at its disk and the kernel's log")
        case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_FORMAT:
            (.unreadable, "the file is damaged or no SQLite database; restore it from a backup or change store.path")
        case .SQLITE_ERROR, .SQLITE_MISMATCH, .SQLITE_CONSTRAINT:
            (.unreadable, "the file does not have the table that Martlet makes; restore it from a backup")
        case .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_PROTOCOL:
            (.unreachable, "another process holds its lock")
        case .SQLITE_CANTOPEN:
            (.unreachable, "the file and its directory must be there and be readable and writable by this user")
        case .SQLITE_MISUSE:
            (.unreachable, "the store was closed")
        default:
            (.unreachable, "try again")
        }
    }
}
