internal import GRDB
internal import TokenStorage

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
