internal import FoundationEssentials
internal import GatewayServer
internal import Settings
internal import TokenStorage
internal import TokenStorageSQLite

/// The store that a configuration names, opened by a command without a gateway.
struct OfflineStore {
    let opened: OpenedStore
    let keys: KeyRingFile
    /// The path of the database.
    let path: String
    /// The directory whose journals may hold tokens that the store has not accepted.
    let stateDirectory: String
    /// Within this time every running gateway has read its own record, and has sealed it again if the gateway uses
    /// another key.
    let lease: Duration
    private let store: SQLiteTokenStore

    /// Opens an existing store. Creates neither a store nor a key.
    init(configuration path: String) async throws {
        let settings: GatewaySettings
        do throws(SettingsError) {
            settings = try ConfigurationFile.load(path)
        } catch {
            for fault in error.faults { Console.report(fault.description) }
            throw CommandFailure(.badConfiguration, "the configuration \(path) can't be used, so there is no store")
        }
        guard case .sqlite(let database, let keyFile) = settings.store else {
            throw CommandFailure(.badConfiguration, "store in memory: a store of that kind ends with its gateway")
        }
        guard FileManager.default.fileExists(atPath: database) else {
            throw CommandFailure(
                .badConfiguration,
                "store \(database): there is no such file; it is made when a gateway first starts"
            )
        }
        let keys = KeyRingFile(
            path: keyFile,
            isMadeWhenMissing: false,
            stateDirectory: settings.stateDirectory
        )
        do throws(StoreError) {
            let store = try await SQLiteTokenStore.open(at: database)
            do throws(StoreError) {
                self.opened = try await OpenedStore.openExisting(store, keys: keys)
            } catch {
                await store.close()
                throw error
            }
            self.store = store
        } catch {
            throw CommandFailure(error, store: database)
        }
        self.keys = keys
        self.path = database
        self.stateDirectory = settings.stateDirectory
        self.lease = settings.replica.lease
    }

    func close() async { await self.store.close() }
}

/// Runs `body` with the store that a configuration names, and closes the store afterwards in every case.
func withOfflineStore(
    configuration path: String,
    _ body: (OfflineStore) async throws -> Void
) async throws {
    let store = try await OfflineStore(configuration: path)
    do {
        try await body(store)
    } catch let error as StoreError {
        await store.close()
        throw CommandFailure(error, store: store.path)
    } catch let error as KeyRingError {
        await store.close()
        throw CommandFailure(.badConfiguration, error.message)
    } catch {
        await store.close()
        throw error
    }
    await store.close()
}
