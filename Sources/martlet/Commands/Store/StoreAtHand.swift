internal import FoundationEssentials
internal import Settings
internal import TokenStorage
internal import TokenStorageSQLite

/// The store of a configuration, opened for a command without a gateway.
struct StoreAtHand {
    let opened: OpenedStore
    let keys: KeyRingFile
    /// Where it is.
    let path: String
    /// Whose journals may hold tokens that the store did not take.
    let stateDirectory: String
    /// Within which a gateway that runs has looked at its own record, and sealed it anew where it goes by another key.
    let lease: Duration
    private let store: SQLiteTokenStore

    /// Opens what is there; makes neither a store nor a key.
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

/// Runs `body` with the store of a configuration, and closes it whatever comes of that.
func withStoreAtHand(
    configuration path: String,
    _ body: (StoreAtHand) async throws -> Void
) async throws {
    let store = try await StoreAtHand(configuration: path)
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
