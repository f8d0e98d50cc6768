internal import Dispatch
package import TokenModel
package import TokenStorage

/// A store in a PostgreSQL database, which replicas on several hosts share.
///
/// It uses two connections: one writes, the other reads and listens to hints. A write is acknowledged when it is durable
/// on the primary and, if the server is set up so (`synchronous_standby_names`), on a synchronous standby. Then a failover
/// to that standby loses nothing. Otherwise it may lose the last writes, so this store always says that it may: the server's
/// setup can change while the store is open.
package final class PostgreSQLTokenStore: TokenStore {
    /// Far below what fits into an entry of the index, a third of a page of 8 KiB.
    private static let longestKey = 2_000
    /// The most rows on a page, so that a listing without a limit stays bounded.
    private static let largestPage = 2_000

    private let reader: Connection
    private let writer: Connection
    private let broadcaster: ChangeBroadcaster

    /// Connects to the primary among the hosts.
    ///
    /// - Parameter createsMissing: whether missing tables are made.
    /// - Throws: ``StoreError/Code/unreachable`` where no host responds as a primary; ``StoreError/Code/unreadable`` for a
    ///   missing database, and for tables of another program or of a later version; ``StoreError/Code/unwritable`` where
    ///   the server refuses the user, its password or the making of tables, or has a certificate that is not trusted.
    package static func open(
        _ server: PostgreSQLServer,
        createsMissing: Bool = true
    ) async throws(StoreError) -> PostgreSQLTokenStore {
        let opened: Result<PostgreSQLTokenStore, StoreError> = await withCheckedContinuation { continuation in
            DispatchQueue(label: "martlet.store.opening").async {
                let result: Result<PostgreSQLTokenStore, StoreError>
                do throws(StoreError) {
                    result = .success(try PostgreSQLTokenStore(server, createsMissing: createsMissing))
                } catch {
                    result = .failure(error)
                }
                continuation.resume(returning: result)
            }
        }
        return try opened.get()
    }

    private init(_ server: PostgreSQLServer, createsMissing: Bool) throws(StoreError) {
        let (primary, broadcaster) = (PrimaryRecord(), ChangeBroadcaster())
        self.broadcaster = broadcaster
        self.writer = try Connection(to: server, .writing, primary)
        self.reader = try Connection(to: server, .reading, primary) { broadcaster.announce($0) }
        do throws(SessionError) {
            let writing = try ConnectedSession.open(server, .writing, primary) { session throws(SessionError) in
                try Layout.prepare(session, createsMissing: createsMissing, by: .now + Connection.connectLimit)
            }
            self.reader.start(with: try ConnectedSession.open(server, .reading, primary))
            self.writer.start(with: writing)
        } catch {
            throw StoreError(opening: error, server)
        }
    }

    deinit {
        self.broadcaster.finish()
        self.reader.close()
        self.writer.close()
    }

    /// Ends all streams of changes and closes the connections. Later operations fail.
    package func close() async {
        self.broadcaster.finish()
        self.reader.close()
        self.writer.close()
        await self.reader.ended()
        await self.writer.ended()
    }

    package var guarantees: StoreGuarantees { StoreGuarantees(reach: .network, failover: .losesSuffix) }

    package func read(_ key: RecordKey) async throws(StoreError) -> StoredRecord? {
        let found = try await self.reader.run(.read, [Array(key.rawValue.utf8)], by: .now + Connection.callLimit)
        return try Self.record(in: found, at: key)
    }

    private static func record(
        in found: CallResult.Table,
        at key: RecordKey
    ) throws(StoreError) -> StoredRecord? {
        guard let row = found.rows.first else { return nil }
        guard row.count == 2, let record = StoredRecord(row[0], row[1]) else { throw Self.unreadable(key.rawValue) }
        return record
    }

    package func write(
        _ value: SealedBytes,
        at key: RecordKey,
        as version: Version,
        expecting: Version?
    ) async throws(StoreError) {
        try StoreError.checkWrite(value, at: key, as: version, expecting: expecting)
        guard key.rawValue.utf8.count <= Self.longestKey else {
            throw StoreError(.invalid, "the key has more than \(Self.longestKey) bytes")
        }
        var parameters = [Array(key.rawValue.utf8), BinaryValue.version(version), value.bytes]
        if let expecting { parameters.append(BinaryValue.version(expecting)) }
        try await self.change(
            RecordChange(key: key, version: version),
            by: expecting == nil ? .insert : .update,
            parameters
        )
    }

    package func remove(_ key: RecordKey, expecting: Version) async throws(StoreError) {
        try await self.change(
            RecordChange(key: key, version: nil),
            by: .remove,
            [Array(key.rawValue.utf8), BinaryValue.version(expecting)]
        )
    }

    private func change(
        _ change: RecordChange,
        by statement: Statement,
        _ parameters: [[UInt8]]
    ) async throws(StoreError) {
        let done = try await self.writer.run(statement, parameters, by: .now + Connection.callLimit)
        guard done.changed > 0 else { throw .conflict(try Self.record(in: done, at: change.key)) }
        self.broadcaster.announce(change)
        self.reader.post(.notify, [Array(HintText.of(change).utf8)])
    }

    package func records(
        under prefix: RecordKey.Prefix,
        after: RecordKey?,
        limit: Int
    ) async throws(StoreError) -> [KeyedRecord] {
        try StoreError.checkLimit(limit)
        let bounds = prefix.bounds(after: after)
        let found = try await self.reader.run(
            .page,
            [bounds.start, bounds.end, BinaryValue.integer(Int64(min(limit, Self.largestPage)))],
            by: .now + Connection.callLimit
        )
        var page: [KeyedRecord] = []
        for row in found.rows {
            guard row.count == 3, let key = row[0].flatMap({ String(validating: $0, as: UTF8.self) }),
                let stored = StoredRecord(row[1], row[2])
            else { throw Self.unreadable("a key under \(prefix.rawValue)") }
            page.append(KeyedRecord(key: RecordKey(rawValue: key), stored: stored))
        }
        return page
    }

    package func changes() -> AsyncStream<RecordChange> { self.broadcaster.listen() }

    /// Asks the server about itself.
    package func condition() async throws(StoreError) -> StoreCondition {
        let found = try await self.reader.run(.condition, by: .now + Connection.callLimit)
        guard let row = found.rows.first, row.count == 3, let time = BinaryValue.integer(from: row[0]) else {
            throw StoreError(.unreachable, "the server does not tell its time")
        }
        return StoreCondition(
            time: WallTime(millisecondsSince1970: time),
            isReplicated: BinaryValue.flag(from: row[1]),
            losesNothing: BinaryValue.flag(from: row[1]),
            connectedReplicas: BinaryValue.integer(from: row[2]).map { Int($0) }
        )
    }

    private static func unreadable(_ what: String) -> StoreError {
        StoreError(.unreadable, "the row of \(what) does not hold a record")
    }
}
