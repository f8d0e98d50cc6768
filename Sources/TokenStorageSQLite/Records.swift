internal import FoundationEssentials
internal import GRDB
internal import TokenModel
internal import TokenStorage

/// The SQL statements on the only table.
///
/// Versions are unsigned 64-bit numbers and SQLite's integers are signed, so the bit pattern is stored. SQLite only
/// tests versions for equality, where the sign does not matter.
package enum Records {
    static func read(_ key: RecordKey, _ database: Database) throws -> StoredRecord? {
        let statement = try database.cachedStatement(sql: "SELECT version, value FROM record WHERE key = ?")
        guard let row = try Row.fetchOne(statement, arguments: [Data(key.rawValue.utf8)]) else { return nil }
        return try Self.record(at: key, row[0], row[1])
    }

    private static func record(
        at key: RecordKey,
        _ version: DatabaseValue,
        _ value: DatabaseValue
    ) throws -> StoredRecord {
        guard case .int64(let version) = version.storage, case .blob(let value) = value.storage else {
            throw StoreError(.unreadable, "the row of \(key) does not hold a record")
        }
        return StoredRecord(version: Version(UInt64(bitPattern: version)), value: SealedBytes(bytes: Array(value)))
    }

    /// Compares and sets, in a transaction of the caller's that holds the write lock. Changes nothing if it throws a
    /// ``StoreError``.
    static func write(
        _ value: SealedBytes,
        at key: RecordKey,
        as version: Version,
        expecting: Version?,
        _ database: Database
    ) throws {
        let current = try Self.read(key, database)
        guard current?.version == expecting else { throw StoreError.conflict(current) }
        // GRDB binds an empty blob as NULL.
        let statement = try database.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO record (key, version, value) VALUES (coalesce(?, x''), ?, coalesce(?, x''))
                """
        )
        try statement.execute(
            arguments: [Data(key.rawValue.utf8), Int64(bitPattern: version.rawValue), Data(value.bytes)]
        )
    }

    /// Compares and removes; otherwise as ``write(_:at:as:expecting:_:)``.
    static func remove(_ key: RecordKey, expecting: Version, _ database: Database) throws {
        let current = try Self.read(key, database)
        guard current?.version == expecting else { throw StoreError.conflict(current) }
        let statement = try database.cachedStatement(sql: "DELETE FROM record WHERE key = ?")
        try statement.execute(arguments: [Data(key.rawValue.utf8)])
    }

    /// The page query. Both ends are bounds of the index. With an optional bound (`?2 IS NULL OR key < ?2`) SQLite
    /// would read every row after the prefix before it finds the end of the page.
    package static let pageSQL = """
        SELECT key, version, value FROM record WHERE key >= coalesce(?1, x'') AND key < ?2 ORDER BY key
        """

    static func page(
        under prefix: RecordKey.Prefix,
        after: RecordKey?,
        limit: Int,
        _ database: Database
    ) throws -> [KeyedRecord] {
        let bounds = prefix.bounds(after: after)
        let statement = try database.cachedStatement(sql: Self.pageSQL)
        let rows = try Row.fetchCursor(statement, arguments: [Data(bounds.start), Data(bounds.end)])
        var (page, bytes): ([KeyedRecord], Int) = ([], 0)
        // The limit is counted here and not by SQLite, so that rows that can't be Martlet's keys don't make a page
        // empty.
        while page.count < limit, let row = try rows.next() {
            guard let key = RecordKey(row[0] as DatabaseValue) else { continue }
            let stored = try Self.record(at: key, row[1], row[2])
            bytes += stored.value.bytes.count
            guard page.isEmpty || bytes <= StoreGuarantees.largestPage else { break }
            page.append(KeyedRecord(key: key, stored: stored))
        }
        return page
    }

    /// The writes after `change`, in their order.
    ///
    /// - Returns: at most `limit` writes, and the number of the last.
    static func changes(after change: Int64, limit: Int, _ database: Database) throws -> (
        found: [RecordChange], last: Int64
    ) {
        let statement = try database.cachedStatement(
            sql: "SELECT change, key, version FROM record WHERE change > ? ORDER BY change LIMIT ?"
        )
        var (found, last): ([RecordChange], Int64) = ([], change)
        let rows = try Row.fetchCursor(statement, arguments: [change, limit])
        while let row = try rows.next() {
            guard case .int64(let number) = (row[0] as DatabaseValue).storage else { continue }
            last = number
            guard let key = RecordKey(row[1] as DatabaseValue) else { continue }
            let version: Version? =
                if case .int64(let version) = (row[2] as DatabaseValue).storage {
                    Version(UInt64(bitPattern: version))
                } else {
                    nil
                }
            found.append(RecordChange(key: key, version: version))
        }
        return (found, last)
    }

    static func lastChange(_ database: Database) throws -> Int64 {
        try Int64.fetchOne(database, sql: "SELECT max(change) FROM record") ?? 0
    }

    /// The number of the last write that was ever made, even if its record has been removed since.
    static func highestChange(_ database: Database) throws -> Int64 {
        try Int64.fetchOne(database.cachedStatement(sql: "SELECT seq FROM sqlite_sequence WHERE name = 'record'")) ?? 0
    }
}

extension RecordKey {
    /// `nil` for a value that can't be one of Martlet's keys.
    fileprivate init?(_ value: DatabaseValue) {
        guard case .blob(let bytes) = value.storage, let text = String(validating: bytes, as: UTF8.self) else {
            return nil
        }
        self.init(rawValue: text)
    }
}
