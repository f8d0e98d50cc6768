internal import GRDB
internal import Synchronization
internal import TokenModel
internal import TokenStorage

/// Groups changes that wait while the disk is busy with earlier ones into one transaction, so that one sync serves all
/// of them.
///
/// Each change gets its own result, once the whole transaction is on disk. A change that finds another version than it
/// expects fails alone. If the transaction fails, all its changes fail.
final class GroupCommit: Sendable {
    /// The most changes in one transaction, so that later changes do not wait long for it.
    private static let largestGroup = 64

    private struct Change {
        let record: RecordChange
        let deadline: ContinuousClock.Instant
        let reply: Reply<Void>
        /// Either throws before it changes anything, or makes the transaction fail.
        let body: @Sendable (Database) throws -> Void
    }

    private let connection: Connection
    private let file: DatabaseFile
    private let lock: DatabaseLock
    /// Called with each change that is on disk, before the change gets its result: a change whose caller was told that
    /// it is too late may have been made all the same.
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

    /// Runs `body` in a transaction that holds the write lock from its beginning. Its changes are on disk when this
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

    /// - Throws: an error that makes the whole transaction fail.
    private func outcome(of change: Change, _ database: Database) throws -> Result<Void, StoreError> {
        // This change has waited too long for the lock, though others in the group have not.
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
    /// The operation during which SQLite failed.
    enum Attempt: String {
        case opening = "open"
        case reading = "read"
        case writing = "write"
    }

    /// Translates an error that SQLite threw. The message contains no statements and no values.
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
