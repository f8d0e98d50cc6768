internal import SystemSupport

/// The keys of `store`.
enum StoreKey: String, Vocabulary {
    case driver, path, url, password, ca
    case allowCleartext = "allow_cleartext"
    case sealingKey = "sealing_key"
    case sealingKeyFile = "sealing_key_file"

    static let later = ["current", "previous", "mirrors"]
}

/// The drivers of stores.
enum StoreDriver: String, Vocabulary {
    case sqlite, memory, postgres

    static let later = ["redis", "migrating", "mirroring"]

    /// The keys that have an effect with this driver.
    fileprivate var keys: Set<StoreKey> {
        switch self {
        case .sqlite: [.path, .sealingKey, .sealingKeyFile]
        case .memory: []
        case .postgres: [.url, .password, .ca, .allowCleartext, .sealingKey, .sealingKeyFile]
        }
    }
}

extension StoreSettings {
    init(_ section: Section<StoreKey>, state: String) {
        let driver = section.read(.driver) { $0.choice(StoreDriver.self) } ?? .sqlite
        for key in StoreKey.allCases where key != .driver && !driver.keys.contains(key) {
            section[key]?.warn("has no effect with the \(driver.rawValue) driver")
        }
        switch driver {
        case .sqlite:
            self = .sqlite(
                path: section.read(.path) { $0.file(under: state) }
                    ?? SettingsEnvironment.path("tokens.db", under: state),
                sealingKey: section.sealingKey(state: state)
                    ?? .file(SettingsEnvironment.path("sealing.key", under: state))
            )
        case .memory:
            self = .memory
        case .postgres:
            let isComplete = section.has(.sealingKey) || section.has(.sealingKeyFile)
            if !isComplete {
                section.missing(
                    "sealing_key is missing: replicas share this store, so make one key and give it to all of them"
                )
            }
            let key = section.sealingKey(state: state)
            if case .file(let path) = key { (section[.sealingKey] ?? section[.sealingKeyFile])?.checkShared(key: path) }
            guard let settings = PostgreSQLSettings(section), let key else {
                // The faults that were reported keep these settings from being used.
                self = .memory
                return
            }
            self = .postgres(settings, sealingKey: key)
        }
    }
}

extension Place {
    /// Reports a file of keys that is missing. No replica makes the keys of a store that several hosts share.
    fileprivate func checkShared(key path: String) {
        do throws(FileError) {
            try self.reading.surroundings.checkReadable(path)
        } catch {
            self.fault(
                "\(path) \(error.message); copy the key from another replica, or make one for a new store: "
                    + "openssl rand -base64 32"
            )
        }
    }
}

extension Section<StoreKey> {
    /// Where the sealing keys come from; `nil` if the file does not say, or says it wrong.
    fileprivate func sealingKey(state: String) -> SealingKeySettings? {
        guard !self.has(.sealingKey) || !self.has(.sealingKeyFile) else {
            self[.sealingKeyFile]?.faultAtKey("is the same as sealing_key.file; write one of them")
            return nil
        }
        let source: SealingKeySettings? =
            self.has(.sealingKey)
            ? self.read(.sealingKey) { SealingKeySettings($0, state: state) }
            : self.read(.sealingKeyFile) { $0.file(under: state).map { .file($0) } }
        // Inside state_dir, a file of another user is refused later. Elsewhere it is only a warning.
        if case .file(let path) = source, SecretFile.isOutside(path, of: state) {
            (self[.sealingKey] ?? self[.sealingKeyFile])?.warnOfOwner(path)
        }
        return source
    }
}

extension SealingKeySettings {
    fileprivate init?(_ place: Place, state: String) {
        if case .text = place.content {
            // The text may be the key itself, so the message doesn't repeat it.
            place.fault("a key must not be written in this file; expected { file: PATH } or { env: NAME }")
            return nil
        }
        guard let section = Section<ClientSecretKey>(place) else { return nil }
        if section.has(.file), !section.has(.env) {
            // The keys may be missing until the first start, and are read again while the gateway runs.
            guard let path = section.read(.file, { $0.file(under: state) }) else { return nil }
            self = .file(path)
        } else {
            guard let secret = ClientSecret(place) else { return nil }
            self = .given(secret)
        }
    }
}

/// Where tokens are kept.
package enum StoreSettings: Equatable, Sendable {
    /// In an SQLite database at `path`. The first start creates it, and the file of its key.
    case sqlite(path: String, sealingKey: SealingKeySettings)
    /// In this process only: all tokens are lost when it ends.
    case memory
    /// In a PostgreSQL database, which replicas on several hosts share.
    case postgres(PostgreSQLSettings, sealingKey: SealingKeySettings)

    /// The name of the driver.
    package var driver: String {
        switch self {
        case .sqlite: StoreDriver.sqlite.rawValue
        case .memory: StoreDriver.memory.rawValue
        case .postgres: StoreDriver.postgres.rawValue
        }
    }

    /// Whether the store keeps records past the end of the process.
    package var isDurable: Bool {
        switch self {
        case .sqlite, .postgres: true
        case .memory: false
        }
    }

    /// What `martlet check` prints.
    var summary: String {
        switch self {
        case .sqlite(let path, let key): "sqlite at \(path), sealed with the key in \(key)"
        case .memory: "in memory, all tokens are gone when the process ends"
        case .postgres(let settings, let key): "postgres \(settings.summary), sealed with the key in \(key)"
        }
    }
}

/// Where a store's sealing keys come from.
package enum SealingKeySettings: Equatable, Sendable {
    /// The absolute path of a file. It is read again when it changes.
    case file(String)
    /// A value that stays the same as long as the process runs.
    case given(ClientSecret)
}

extension SealingKeySettings: CustomStringConvertible {
    package var description: String {
        switch self {
        case .file(let path): path
        case .given(let secret): "\(secret.origin)"
        }
    }
}
