internal import GRDB
internal import TokenStorage

/// The one table, and how a database is told to keep it.
///
/// `change` grows with each write to any key, so that other processes find what is new without looking at everything;
/// being `AUTOINCREMENT` it never comes again. Keys are blobs, which SQLite compares byte by byte.
enum Schema {
    /// `MRTL`: says in the file's header that it is ours.
    private static let applicationID = 0x4D52_544C
    private static let version = 1

    /// For each connection: how it writes, and that nothing in a file may make it run functions.
    static func configure(_ database: Database) throws {
        try database.execute(sql: "PRAGMA synchronous = FULL")
        try database.execute(sql: "PRAGMA secure_delete = ON")
        // One of SQLite's own would come at a moment of its choice; the trimmer's hold the lock.
        try database.execute(sql: "PRAGMA wal_autocheckpoint = 0")
        try database.execute(sql: "PRAGMA trusted_schema = OFF")
        try database.execute(sql: "PRAGMA cell_size_check = ON")
    }

    /// Makes the table in an empty database, and refuses a database that is another program's or a newer Martlet's.
    static func prepare(_ database: Database, path: String) throws {
        // Looked at before anything is changed: what is not ours stays as it is. In one transaction, as another process
        // may be making the table right now.
        var isNew = false
        try database.inTransaction(.deferred) {
            isNew = try Self.isNew(database, path: path)
            return .commit
        }
        let mode = try String.fetchOne(database, sql: "PRAGMA journal_mode = WAL")
        guard mode == "wal" else {
            throw StoreError(
                .unwritable,
                "the database \(path) can't have a write-ahead log; keep it on a local disk, "
                    + "a network file system will not do"
            )
        }
        guard isNew else { return }
        try database.inTransaction(.immediate) {
            // Another process may have been faster.
            guard try Self.isNew(database, path: path) else { return .rollback }
            try database.execute(
                sql: """
                    CREATE TABLE record (
                        change INTEGER PRIMARY KEY AUTOINCREMENT,
                        key BLOB NOT NULL UNIQUE,
                        version INTEGER NOT NULL,
                        value BLOB NOT NULL
                    ) STRICT
                    """
            )
            try database.execute(sql: "PRAGMA application_id = \(Self.applicationID)")
            try database.execute(sql: "PRAGMA user_version = \(Self.version)")
            return .commit
        }
    }

    private static func isNew(_ database: Database, path: String) throws -> Bool {
        let applicationID = try Int.fetchOne(database, sql: "PRAGMA application_id") ?? 0
        let version = try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
        if applicationID == Self.applicationID {
            guard version <= Self.version else {
                throw StoreError(
                    .unreadable,
                    "the database \(path) has layout \(version), and this Martlet knows \(Self.version): "
                        + "a newer one made it; use that, or another store.path"
                )
            }
            return false
        }
        let objects = try Int.fetchOne(database, sql: "SELECT count(*) FROM sqlite_schema") ?? 0
        guard applicationID == 0, version == 0, objects == 0 else {
            throw StoreError(
                .unreadable,
                "the database \(path) belongs to another program; choose another store.path"
            )
        }
        return true
    }
}
