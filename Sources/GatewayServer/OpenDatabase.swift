internal import FoundationEssentials
internal import Settings
internal import TokenModel
internal import TokenStorage
internal import TokenStorageRedis
internal import TokenStorageSQLite

#if PostgreSQL
    internal import TokenStoragePostgreSQL
#endif

/// A database as its driver opens it. A new driver is added here, and to `DatabaseSettings`.
struct OpenDatabase: Sendable {
    let store: any TokenStore
    /// Its name in messages.
    let name: String
    /// What an operator should know about it.
    var warnings: [String] = []
    /// Asks the server about itself; `nil` if there is none.
    var condition: (@Sendable () async throws(StoreError) -> StoreCondition)?
    let close: @Sendable () async -> Void

    /// - Parameter createsMissing: whether a missing database or its tables are made.
    static func open(
        _ settings: DatabaseSettings,
        createsMissing: Bool
    ) async throws(StartError) -> OpenDatabase {
        let name = settings.name
        if case .sqlite(let path) = settings, !createsMissing, !FileManager.default.fileExists(atPath: path) {
            throw StartError(
                .badConfiguration,
                "store \(path): there is no such file; it is made when a gateway first starts"
            )
        }
        do throws(StoreError) {
            switch settings {
            case .sqlite(let path):
                let store = try await SQLiteTokenStore.open(at: path)
                return OpenDatabase(store: store, name: name, close: { await store.close() })
            case .postgres(let settings):
                #if PostgreSQL
                    let server = PostgreSQLServer(settings)
                    let store = try await PostgreSQLTokenStore.open(server, createsMissing: createsMissing)
                    return OpenDatabase(
                        store: store,
                        name: name,
                        condition: { () async throws(StoreError) in try await store.condition() },
                        close: { await store.close() }
                    )
                #else
                    _ = settings
                    throw StoreError(
                        .unreadable,
                        "this program was built without the trait PostgreSQL; use another build"
                    )
                #endif
            case .redis(let settings):
                let store = try await RedisTokenStore.open(RedisServer(settings), createsMissing: createsMissing)
                return OpenDatabase(
                    store: store,
                    name: name,
                    warnings: store.warnings,
                    condition: { () async throws(StoreError) in try await store.condition() },
                    close: { await store.close() }
                )
            }
        } catch {
            throw StartError(error, store: name)
        }
    }

    /// Opens a mirror. One that can't be reached is opened when it can.
    static func openMirror(_ settings: DatabaseSettings) async throws(StartError) -> OpenDatabase {
        do throws(StartError) {
            return try await Self.open(settings, createsMissing: true)
        } catch {
            guard error.code == .unavailable, !settings.isLocal else { throw error }
            let late = LateDatabase(settings)
            return OpenDatabase(store: late.store, name: settings.name, close: { await late.close() })
        }
    }
}

/// A database that could not be reached when the gateway started.
private final class LateDatabase: Sendable {
    let store: DeferredTokenStore
    private let opened: OpenedDatabase

    private actor OpenedDatabase {
        var database: OpenDatabase?
        func keep(_ database: OpenDatabase) { self.database = database }
    }

    init(_ settings: DatabaseSettings) {
        let opened = OpenedDatabase()
        self.opened = opened
        self.store = DeferredTokenStore(StoreGuarantees(reach: .network, failover: .losesSuffix)) {
            () async throws(StoreError) in
            do throws(StartError) {
                let database = try await OpenDatabase.open(settings, createsMissing: true)
                await opened.keep(database)
                return database.store
            } catch {
                throw StoreError(error.code == .unavailable ? .unreachable : .unreadable, error.message)
            }
        }
    }

    func close() async { await self.opened.database?.close() }
}

extension DatabaseSettings {
    /// Whether it is a file of this host.
    fileprivate var isLocal: Bool {
        if case .sqlite = self { true } else { false }
    }

    fileprivate var name: String {
        switch self {
        case .sqlite(let path): path
        case .postgres(let settings): "\(settings.hosts.map(\.text).joined(separator: ","))/\(settings.database)"
        case .redis(let settings): RedisServer(settings).name
        }
    }
}

#if PostgreSQL
    extension PostgreSQLServer {
        /// Where Debian and most others keep the roots that the system trusts. libpq has no such default.
        private static let systemRoots = "/etc/ssl/certs/ca-certificates.crt"

        fileprivate init(_ settings: PostgreSQLSettings) {
            self.init(
                hosts: settings.hosts.map { Host(name: $0.name, port: $0.port) },
                database: settings.database,
                user: settings.user,
                password: settings.password?.value,
                encryption: settings.isEncrypted
                    ? .verified(roots: settings.certificateAuthorities ?? Self.systemRoots) : .none
            )
        }
    }
#endif

extension RedisServer {
    fileprivate init(_ settings: RedisSettings) {
        self.init(
            hosts: settings.hosts.map { Host(name: $0.name, port: $0.port) },
            sentinels: settings.sentinels.map {
                Sentinels(name: $0.name, user: $0.user, password: $0.password?.value)
            },
            database: settings.database,
            user: settings.user,
            password: settings.password?.value,
            encryption: settings.isEncrypted ? .verified(roots: settings.certificateAuthorities) : .none,
            prefix: settings.prefix
        )
    }
}
