internal import FoundationEssentials
package import Settings
package import TokenStorage

/// Where the keys of the store come from.
extension DriverStore {
    /// The origin of the keys of the store that the settings name.
    ///
    /// - Parameter createsMissing: whether the keys of a new store are made, as by a gateway that starts. Commands make
    ///   none.
    package static func keyOrigin(_ settings: GatewaySettings, createsMissing: Bool) -> any SealingKeyOrigin {
        switch settings.store {
        case .memory: FixedKeyOrigin(GivenKeyRing(KeyRing(current: .random()), name: "this process"))
        case .single(let database, let key), .mirroring(primary: let database, _, let key):
            // Each host would make a key of its own for a store that several hosts share.
            key.origin(settings, isMadeWhenMissing: createsMissing && database.isOfOneHost)
        // The key is that of the existing store.
        case .migrating(_, _, let key): key.origin(settings, isMadeWhenMissing: false)
        }
    }

    /// Whether the store that the settings name is sealed already, so that a new key would not open it. Makes the tables
    /// of a server that has none: those who ask have yet to make the key without which no gateway makes them.
    package static func isSealed(_ settings: GatewaySettings) async throws(StartError) -> Bool {
        let database: DatabaseSettings
        switch settings.store {
        case .memory: return false
        case .migrating: return true
        case .single(let single, _): database = single
        case .mirroring(primary: let primary, _, _): database = primary
        }
        if case .sqlite(let path) = database, !FileManager.default.fileExists(atPath: path) { return false }
        let opened = try await OpenDatabase.open(database, createsMissing: true)
        do throws(StoreError) {
            let isSealed = try await opened.store.read(.canary) != nil
            await opened.close()
            return isSealed
        } catch {
            await opened.close()
            throw StartError(error, store: opened.name)
        }
    }
}

extension DatabaseSettings {
    fileprivate var isOfOneHost: Bool {
        if case .sqlite = self { true } else { false }
    }
}

extension SealingKeySettings {
    fileprivate func origin(_ settings: GatewaySettings, isMadeWhenMissing: Bool) -> any SealingKeyOrigin {
        let variables = ProcessInfo.processInfo.environment
        return switch self {
        case .file(let path):
            FixedKeyOrigin(
                KeyRingFile(
                    path: path,
                    isMadeWhenMissing: isMadeWhenMissing,
                    stateDirectory: settings.stateDirectory
                )
            )
        case .given(let secret): TextKeyOrigin(KeyRingText(secret.value, name: "\(secret.origin)"))
        case .command(let words): CommandKeyOrigin(words, environment: settings.variablesOfCommand(variables))
        case .credential(let name):
            CredentialKeyOrigin(name, in: variables[CredentialKeyOrigin.directoryVariable])
        case .passphrase: settings.passphraseOrigin(isMadeWhenMissing: isMadeWhenMissing)
        }
    }
}

extension GatewaySettings {
    /// The envelope of the store's keys, whether the store has one or not.
    package func passphraseOrigin(isMadeWhenMissing: Bool) -> PassphraseKeyOrigin {
        PassphraseKeyOrigin(
            path: "\(self.stateDirectory)/\(PassphraseKeyOrigin.fileName)",
            isMadeWhenMissing: isMadeWhenMissing
        )
    }
}
