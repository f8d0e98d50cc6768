internal import FoundationEssentials
package import Settings
package import TokenStorage
internal import TokenStorageSQLite

/// A store as its driver opens it. A new driver is added here, and in `Settings/Sections/StoreSection.swift`.
package struct DriverStore: Sendable {
    package let store: any TokenStore
    package let keys: any KeyRingSource
    /// The file with the sealing keys; `nil` if they end with the process.
    package let keyFile: KeyRingFile?
    /// The name of the store in messages, such as the path of a database.
    package let name: String
    /// Closes the store after all writers have stopped.
    package let close: @Sendable () async -> Void

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
                store: MemoryTokenStore(),
                keys: GivenKeyRing(KeyRing(current: .random()), name: "this process"),
                keyFile: nil,
                name: "in memory",
                close: {}
            )
        case .sqlite(let path, let sealingKeyFile):
            guard createsMissing || FileManager.default.fileExists(atPath: path) else {
                throw StartError(
                    .badConfiguration,
                    "store \(path): there is no such file; it is made when a gateway first starts"
                )
            }
            let keys = KeyRingFile(
                path: sealingKeyFile,
                isMadeWhenMissing: createsMissing,
                stateDirectory: settings.stateDirectory
            )
            do throws(StoreError) {
                let store = try await SQLiteTokenStore.open(at: path)
                return DriverStore(
                    store: store,
                    keys: keys,
                    keyFile: keys,
                    name: path,
                    close: { await store.close() }
                )
            } catch {
                throw StartError(error, store: path)
            }
        }
    }
}
