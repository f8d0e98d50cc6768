import TestKit
import Testing
import TokenModel
import TokenStorage
import TokenStoragePostgreSQL
import TokenStorageRedis
import TokenStorageSQLite

/// The contract of stores over two databases, each with its real server. Each clause has one pair of databases: what a
/// database does of its own, its own tests show for all clauses.
@Suite(.needsPostgreSQL, .needsRedis) struct CompositeContractTests {
    /// A database of one kind, and its handles.
    enum Kind: CaseIterable {
        case sqlite, postgres, redis

        /// The next one, so that each kind is in both places once.
        var other: Kind {
            switch self {
            case .sqlite: .postgres
            case .postgres: .redis
            case .redis: .sqlite
            }
        }
    }

    /// All clauses, each with the kind of its first database: one kind after another.
    private static let clauses = TokenStoreContract.clauses.enumerated().map { number, clause in
        (clause, Kind.allCases[number % Kind.allCases.count])
    }

    private let files: TemporaryDirectory

    init() throws { self.files = try TemporaryDirectory() }

    /// Opens a new database with as many handles as there are to be processes.
    private func open(_ kind: Kind, handles: Int) async throws -> [any TokenStore] {
        var stores: [any TokenStore] = []
        switch kind {
        case .sqlite:
            for _ in 0..<handles {
                stores.append(try await SQLiteTokenStore.open(at: self.files.path(of: "tokens.db")))
            }
        case .postgres:
            let server = try await PostgreSQLTestServer.shared()
            let database = PostgreSQLServer(
                hosts: [PostgreSQLServer.Host(name: "127.0.0.1", port: server.port)],
                database: try await server.makeDatabase(),
                user: PostgreSQLTestServer.user,
                password: Secret(PostgreSQLTestServer.password),
                encryption: .verified(roots: server.roots)
            )
            for _ in 0..<handles { stores.append(try await PostgreSQLTokenStore.open(database)) }
        case .redis:
            let server = try await RedisTestServer.shared()
            let database = RedisServer(
                hosts: [RedisServer.Host(name: "127.0.0.1", port: server.port)],
                user: RedisTestServer.user,
                password: Secret(RedisTestServer.password),
                encryption: .verified(roots: server.roots),
                prefix: "\(RedisTestServer.prefix)\(UInt64.random(in: .min ... .max)):"
            )
            for _ in 0..<handles { stores.append(try await RedisTokenStore.open(database)) }
        }
        return stores
    }

    @Test(arguments: Self.clauses)
    func `a moving store satisfies the contract while its replicas go over`(
        clause: TokenStoreContract.Clause,
        from kind: Kind
    ) async throws {
        let previous = try await self.open(kind, handles: 2)
        let current = try await self.open(kind.other, handles: 2)
        let stores = try await MigratingStores(from: previous, to: current)

        try await stores.check(clause, goingOverAfter: 3)
    }

    @Test(arguments: Self.clauses)
    func `a mirrored store satisfies the contract`(
        clause: TokenStoreContract.Clause,
        primary kind: Kind
    ) async throws {
        let primaries = try await self.open(kind, handles: 2)
        let mirrors = try await self.open(kind.other, handles: 2)
        let stores = zip(primaries, mirrors).map { primary, mirror in
            MirroringTokenStore(
                primary: primary,
                mirrors: [MirroringTokenStore.Target(name: "the mirror", store: mirror)]
            )
        }
        try await whileRunning(stores) {
            for store in stores { try await store.upToDate() }
            try await clause.check(TokenStoreContract.Subject(store: stores[0], other: stores[1]))
            try await equal(mirrors[0], primaries[0])
        }
    }
}
