internal import GRDB
internal import TokenStorage

/// The only table of a database, and the settings of its connections.
///
/// `change` grows with each write to any key, so that other processes can find new records without reading all of them.
/// As `AUTOINCREMENT` it is never reused. Keys are blobs, which SQLite compares byte by byte.
enum Schema {
    /// `MRTL` in ASCII: marks the file as Martlet's in the SQLite header.
    private static let applicationID = 0x4D52_544C
    private static let version = 1

    /// Configures a connection: how it writes, and that nothing in a file can make it run functions.
    static func configure(_ database: Database) throws {
        try database.execute(sql: "PRAGMA synchronous = FULL")
        try database.execute(sql: "PRAGMA secure_delete = ON")
        // SQLite would make an automatic checkpoint at any moment. The trimmer makes checkpoints under the lock.
        try database.execute(sql: "PRAGMA wal_autocheckpoint = 0")
        try database.execute(sql: "PRAGMA trusted_schema = OFF")
        try database.execute(sql: "PRAGMA cell_size_check = ON")
    }

    /// Makes the table in an empty database. Rejects a database of another program or of a newer Martlet.
    static func prepare(_ database: Database, path: String) throws {
        // Check before anything is changed, so that a foreign database stays as it is. Use one transaction, because
        // another process may be making the table right now.
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
                    + "a network file system does not work"
            )
        }
        guard isNew else { return }
        try database.inTransaction(.immediate) {
            // Another process may have made the table meanwhile.
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
