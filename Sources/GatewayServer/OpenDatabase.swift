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

    /// Opens a mirror. One that can't be reached is opened when it can, and one that has lost all records is opened anew.
    static func openMirror(_ settings: DatabaseSettings) async throws(StartError) -> OpenDatabase {
        if case .sqlite = settings { return try await Self.open(settings, createsMissing: true) }
        let first: OpenDatabase?
        do throws(StartError) {
            first = try await Self.open(settings, createsMissing: true)
        } catch {
            guard error.code == .unavailable else { throw error }
            first = nil
        }
        let mirror = MirrorDatabase(settings, first)
        return OpenDatabase(
            store: mirror.store,
            name: settings.name,
            warnings: first?.warnings ?? [],
            close: { await mirror.close() }
        )
    }
}

/// The database of a mirror, which may be opened late, or more than once.
private final class MirrorDatabase: Sendable {
    let store: DeferredTokenStore
    private let opened: Opened

    private actor Opened {
        private var current: OpenDatabase?

        init(_ first: OpenDatabase?) { self.current = first }

        func next(_ settings: DatabaseSettings) async throws(StartError) -> OpenDatabase {
            await self.current.take()?.close()
            let database = try await OpenDatabase.open(settings, createsMissing: true)
            self.current = database
            return database
        }

        func close() async { await self.current?.close() }
    }

    init(_ settings: DatabaseSettings, _ first: OpenDatabase?) {
        let opened = Opened(first)
        self.opened = opened
        self.store = DeferredTokenStore(
            StoreGuarantees(reach: .network, failover: .losesSuffix),
            store: first?.store,
            isLost: { ($0 as? RedisTokenStore)?.hasLostRecords ?? false }
        ) { () async throws(StoreError) in
            do throws(StartError) {
                return try await opened.next(settings).store
            } catch {
                throw StoreError(error.code == .unavailable ? .unreachable : .unreadable, error.message)
            }
        }
    }

    func close() async { await self.opened.close() }
}

extension DatabaseSettings {
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
