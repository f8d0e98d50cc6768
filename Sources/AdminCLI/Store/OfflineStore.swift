internal import Audit
internal import GatewayServer
internal import Glibc
internal import KillSwitch
internal import Settings
internal import TokenModel
internal import TokenStorage

/// The store that a configuration names, opened by a command without a gateway.
struct OfflineStore {
    let opened: OpenedStore
    let keys: any KeyRingSource
    /// The name of the store in messages, such as the path of its database.
    var path: String { self.driver.name }
    /// The directory whose journals may hold tokens that the store has not accepted.
    let stateDirectory: String
    /// Within this time every running gateway has read its own record, and has sealed it again if the gateway uses
    /// another key.
    let lease: Duration
    private let driver: DriverStore
    private let sealingKey: SealingKeySettings?

    /// Opens an existing store. Creates neither a store nor a key.
    ///
    /// - Parameters:
    ///   - passphraseFile: the file that has the passphrase of its keys; `nil` asks for it, if one is needed.
    ///   - mirror: what to do with a store that is a mirror of another one.
    init(configuration path: String, passphraseFile: String?, mirror: MirrorTreatment = .refuse) async throws {
        let settings = try Self.settings(path)
        let keys = try await DriverStore.keyOrigin(settings, createsMissing: false)
            .keys(passphraseFile: passphraseFile)
        let driver: DriverStore
        (driver, self.opened) = try await Self.open(settings, keys, mirror)
        self.driver = driver
        self.keys = driver.keys
        self.sealingKey = settings.store.sealingKey
        self.stateDirectory = settings.stateDirectory
        self.lease = settings.replica.lease
    }

    private static func open(
        _ settings: GatewaySettings,
        _ keys: any KeyRingSource,
        _ mirror: MirrorTreatment
    ) async throws(CommandFailure) -> (driver: DriverStore, opened: OpenedStore) {
        let driver: DriverStore
        do throws(StartError) {
            driver = try await DriverStore.open(settings, keys: keys, createsMissing: false)
        } catch {
            throw CommandFailure(error)
        }
        do throws(StoreError) {
            return (driver, try await Self.opened(driver, mirror))
        } catch {
            await driver.close()
            throw CommandFailure(error, store: driver.name)
        }
    }

    private static func opened(
        _ driver: DriverStore,
        _ mirror: MirrorTreatment
    ) async throws(StoreError) -> OpenedStore {
        try await OpenedStore.openExisting(driver.store, keys: driver.keys, mirror: mirror)
    }

    /// Expects keys that open the existing store that the settings name.
    static func expect(_ keys: any KeyRingSource, open settings: GatewaySettings) async throws(CommandFailure) {
        await (try Self.open(settings, keys, .readOnly)).driver.close()
    }

    /// Reads a configuration, and reports its faults.
    static func settings(_ path: String) throws(CommandFailure) -> GatewaySettings {
        do throws(SettingsError) {
            return try ConfigurationFile.load(path)
        } catch {
            for fault in error.faults { Console.report(fault.description) }
            throw CommandFailure(.badConfiguration, "the configuration \(path) can't be used, so there is no store")
        }
    }

    func close() async { await self.driver.close() }

    /// Expects a store that has all its records: none that is on its way to another one, unless both are named.
    func expectWhole() async throws(CommandFailure) {
        guard self.driver.migration == nil else { return }
        do throws(StoreError) { _ = try await self.opened.wholePlace() } catch {
            throw CommandFailure(.no, "store \(self.path): \(error.message)")
        }
    }

    /// The file of the sealing keys, for a command that changes it.
    func keyFile() throws(CommandFailure) -> KeyRingFile {
        guard let file = self.driver.keyFile else {
            throw CommandFailure(.badConfiguration, "store \(self.path): \(self.unchangeable)")
        }
        return file
    }

    /// Why no command changes the keys, and what to do instead.
    private var unchangeable: String {
        let change =
            "stop the gateways, run this with a configuration that names the file (sealing_key: { file: PATH }), first as it is "
            + "and then with --retire"
        return switch self.sealingKey {
        case .command(let words):
            "its key is what the command \(words.first ?? "") prints; to change it, put the key in a file, \(change), and have "
                + "the command print the key that is left in the file"
        case .passphrase:
            "its key is in an envelope; to change it, get it with martlet store passphrase --to-key-file PATH, \(change), "
                + "and put the file back with martlet store passphrase --from-key-file PATH"
        case .file, .given, .credential, nil:
            "its keys come from \(self.keys.name), which no command can change; put them in a file"
        }
    }

    /// Runs `body` with an audit record before it and another after it.
    ///
    /// - Parameter ended: the outcome and the details of the second record.
    func audited<Outcome>(
        _ action: AuditAction,
        detail: String?,
        _ body: () async throws -> Outcome,
        ended: (Outcome) -> (outcome: String, detail: String)
    ) async throws -> Outcome {
        let audit = AuditTrail.command(self.opened.records)
        let ticket: AuditTicket
        do throws(AuditError) {
            ticket = try await audit.begin(action, detail: detail, by: .command(user: geteuid()))
        } catch {
            throw CommandFailure(.unavailable, error.message)
        }
        do {
            let outcome = try await body()
            let end = ended(outcome)
            if await !audit.end(ticket, end.outcome, detail: end.detail) {
                Console.complain("warning: what came of it could not be put into the audit log")
            }
            return outcome
        } catch {
            await audit.end(ticket, "failed")
            throw error
        }
    }

    /// The running replicas, as far as they lack a key or do not seal under it.
    var replicas: Rekeying.Replicas {
        let vault = ReplicaVault(self.opened.records)
        @Sendable func names(_ lacks: (ReplicaRecord) -> Bool) async throws(StoreError) -> [String] {
            let listing = try await vault.list()
            let lacking = listing.entries.filter { !$0.record.isExpelled && lacks($0.record) }
            let named = lacking.map { "\($0.record.name) (\($0.record.incarnation.rawValue.prefix(8)))" }
            return (named + listing.unreadable.map(\.unreadableName)).sorted()
        }
        return Rekeying.Replicas(
            without: { key throws(StoreError) in try await names { !$0.keys.contains(key.description) } },
            notSealing: { key throws(StoreError) in try await names { $0.keys.first != key.description } }
        )
    }
}

/// Runs `body` with the store that a configuration names, and closes the store afterwards in every case.
func withOfflineStore(
    configuration path: String,
    passphraseFile: String?,
    mirror: MirrorTreatment = .refuse,
    _ body: (OfflineStore) async throws -> Void
) async throws {
    let store = try await OfflineStore(configuration: path, passphraseFile: passphraseFile, mirror: mirror)
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
