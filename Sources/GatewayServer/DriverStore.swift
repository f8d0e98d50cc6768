internal import FoundationEssentials
package import Settings
package import TokenStorage
internal import TokenStorageSQLite

#if PostgreSQL
    internal import TokenModel
    internal import TokenStoragePostgreSQL
#endif

/// A store as its driver opens it. A new driver is added here, and in `Settings/Sections/StoreSection.swift`.
package struct DriverStore: Sendable {
    package let store: any TokenStore
    package let keys: any KeyRingSource
    /// The name of the store in messages, such as the path of a database.
    package let name: String
    /// Asks the server about itself; `nil` if the store has none.
    package let condition: (@Sendable () async throws(StoreError) -> StoreCondition)?
    /// Closes the store after all writers have stopped.
    package let close: @Sendable () async -> Void

    private init(
        _ store: any TokenStore,
        keys: any KeyRingSource,
        name: String,
        condition: (@Sendable () async throws(StoreError) -> StoreCondition)? = nil,
        close: @escaping @Sendable () async -> Void
    ) {
        self.store = store
        self.keys = keys
        self.name = name
        self.condition = condition
        self.close = close
    }

    /// The file with the sealing keys; `nil` if they are not in a file.
    package var keyFile: KeyRingFile? { self.keys as? KeyRingFile }

    /// Opens the store that the settings name.
    ///
    /// - Parameter createsMissing: whether a missing store and its key are created, as by a gateway that starts. Commands
    ///   work on existing stores only.
    package static func open(_ settings: GatewaySettings, createsMissing: Bool) async throws(StartError) -> DriverStore
    {
        switch settings.store {
        case .memory:
            guard createsMissing else {
                throw StartError(.badConfiguration, "store in memory: a store of that kind ends with its gateway")
            }
            return DriverStore(
                MemoryTokenStore(),
                keys: GivenKeyRing(KeyRing(current: .random()), name: "this process"),
                name: "in memory",
                close: {}
            )
        case .sqlite(let path, let sealingKey):
            guard createsMissing || FileManager.default.fileExists(atPath: path) else {
                throw StartError(
                    .badConfiguration,
                    "store \(path): there is no such file; it is made when a gateway first starts"
                )
            }
            let keys = try sealingKey.source(isMadeWhenMissing: createsMissing, settings)
            do throws(StoreError) {
                let store = try await SQLiteTokenStore.open(at: path)
                return DriverStore(store, keys: keys, name: path, close: { await store.close() })
            } catch {
                throw StartError(error, store: path)
            }
        case .postgres(let database, let sealingKey):
            // Each host would make a key of its own.
            let keys = try sealingKey.source(isMadeWhenMissing: false, settings)
            return try await Self.open(database, keys: keys, createsMissing: createsMissing)
        }
    }
}

extension SealingKeySettings {
    fileprivate func source(
        isMadeWhenMissing: Bool,
        _ settings: GatewaySettings
    ) throws(StartError) -> any KeyRingSource {
        switch self {
        case .file(let path):
            return KeyRingFile(
                path: path,
                isMadeWhenMissing: isMadeWhenMissing,
                stateDirectory: settings.stateDirectory
            )
        case .given(let secret):
            do throws(KeyRingError) {
                return try GivenKeyRing(KeyRingText(secret.value, name: "\(self)"))
            } catch {
                throw StartError(.badConfiguration, "no sealing key: \(error.message)")
            }
        }
    }
}

extension DriverStore {
    private static func open(
        _ settings: PostgreSQLSettings,
        keys: any KeyRingSource,
        createsMissing: Bool
    ) async throws(StartError) -> DriverStore {
        #if PostgreSQL
            let server = PostgreSQLServer(settings)
            do throws(StoreError) {
                let store = try await PostgreSQLTokenStore.open(server, createsMissing: createsMissing)
                return DriverStore(
                    store,
                    keys: keys,
                    name: server.name,
                    condition: { () async throws(StoreError) in try await store.condition() },
                    close: { await store.close() }
                )
            } catch {
                throw StartError(error, store: server.name)
            }
        #else
            throw StartError(
                .badConfiguration,
                "store postgres: this program was built without the trait PostgreSQL; use another build"
            )
        #endif
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
