internal import SystemSupport

/// The keys of `store`, and of the stores within it.
enum StoreKey: String, Vocabulary {
    case driver, path, url, password, ca, prefix
    case allowCleartext = "allow_cleartext"
    case sentinelPassword = "sentinel_password"
    case sealingKey = "sealing_key"
    case sealingKeyFile = "sealing_key_file"
    case current, previous, primary, mirrors
}

/// The drivers of stores.
enum StoreDriver: String, Vocabulary {
    case sqlite, memory, postgres, redis, migrating, mirroring

    /// The keys that have an effect with this driver.
    fileprivate var keys: Set<StoreKey> {
        switch self {
        case .sqlite: [.path, .sealingKey, .sealingKeyFile]
        case .memory: []
        case .postgres: [.url, .password, .ca, .allowCleartext, .sealingKey, .sealingKeyFile]
        case .redis:
            [.url, .password, .ca, .allowCleartext, .prefix, .sentinelPassword, .sealingKey, .sealingKeyFile]
        case .migrating: [.current, .previous]
        case .mirroring: [.primary, .mirrors]
        }
    }
}

extension StoreSettings {
    private static let mostMirrors = 4

    init(_ section: Section<StoreKey>, state: String) {
        let driver = section.readDriver()
        // The faults that were reported keep these settings from being used.
        self = .memory
        switch driver {
        case .memory: break
        case .sqlite, .postgres, .redis:
            let key = section.ownSealingKey(driver, state: state)
            guard let database = DatabaseSettings(section, driver, state: state), let key else { return }
            self = .single(database, sealingKey: key)
        case .migrating:
            let current = section.inner(.current, holdsKey: true, state: state)
            let previous = section.inner(.previous, holdsKey: false, state: state)
            guard let current, let previous, let key = current.key else { return }
            guard !current.database.isSame(as: previous.database) else {
                section[.previous]?.fault("is the same store as current")
                return
            }
            self = .migrating(current: current.database, previous: previous.database, sealingKey: key)
        case .mirroring:
            let primary = section.inner(.primary, holdsKey: true, state: state)
            guard let places = section.require(.mirrors, { $0.items() }) else { return }
            guard (1...Self.mostMirrors).contains(places.count) else {
                section[.mirrors]?.fault("must have 1 to \(Self.mostMirrors) stores")
                return
            }
            let mirrors = places.map { Section<StoreKey>.store(at: $0, holdsKey: false, state: state)?.database }
            guard let primary, let key = primary.key else { return }
            var known = [primary.database]
            for (place, mirror) in zip(places, mirrors) {
                guard let mirror else { return }
                if known.contains(where: { $0.isSame(as: mirror) }) { place.fault("is the same store as another one") }
                known.append(mirror)
            }
            self = .mirroring(primary: primary.database, mirrors: Array(known.dropFirst()), sealingKey: key)
        }
    }
}

extension DatabaseSettings {
    fileprivate init?(_ section: Section<StoreKey>, _ driver: StoreDriver, state: String) {
        switch driver {
        case .sqlite:
            let path = section.read(.path) { $0.file(under: state) }
            guard section.has(.path) == (path != nil) else { return nil }
            self = .sqlite(path: path ?? SettingsEnvironment.path("tokens.db", under: state))
        case .postgres:
            guard let settings = PostgreSQLSettings(section) else { return nil }
            self = .postgres(settings)
        case .redis:
            guard let settings = RedisSettings(section) else { return nil }
            self = .redis(settings)
        case .memory, .migrating, .mirroring:
            section[.driver]?.fault("can't be used here, there are sqlite, postgres, redis")
            return nil
        }
    }

    /// Whether both are plainly the same records.
    fileprivate func isSame(as other: DatabaseSettings) -> Bool {
        switch (self, other) {
        case (.sqlite(let path), .sqlite(let otherPath)): path == otherPath
        case (.postgres(let one), .postgres(let two)): one.hosts == two.hosts && one.database == two.database
        case (.redis(let one), .redis(let two)):
            one.hosts == two.hosts && one.database == two.database && one.prefix == two.prefix
                && one.sentinels?.name == two.sentinels?.name
        default: false
        }
    }
}

extension Section<StoreKey> {
    /// A store within another one, with the key that seals there.
    fileprivate typealias Inner = (database: DatabaseSettings, key: SealingKeySettings?)

    /// Reads the driver, and warns of keys that have no effect with it.
    fileprivate func readDriver() -> StoreDriver {
        let driver = self.read(.driver) { $0.choice(StoreDriver.self) } ?? .sqlite
        for key in StoreKey.allCases where key != .driver && !driver.keys.contains(key) {
            self[key]?.warn("has no effect with the \(driver.rawValue) driver")
        }
        return driver
    }

    fileprivate func inner(_ key: StoreKey, holdsKey: Bool, state: String) -> Inner? {
        self.require(key) { Self.store(at: $0, holdsKey: holdsKey, state: state) }
    }

    /// Reads a store within another one.
    ///
    /// - Parameter holdsKey: whether its sealing key is that of all stores beside it: a record is copied as it is sealed.
    fileprivate static func store(at place: Place, holdsKey: Bool, state: String) -> Inner? {
        guard let section = Section<StoreKey>(place) else { return nil }
        let driver = section.readDriver()
        for key in [StoreKey.sealingKey, .sealingKeyFile] where !holdsKey {
            section[key]?.faultAtKey(
                "has no place here: the key of current, or of primary, seals in both and must open both"
            )
        }
        guard let database = DatabaseSettings(section, driver, state: state) else { return nil }
        guard holdsKey else { return (database, nil) }
        guard let key = section.ownSealingKey(driver, state: state) else { return nil }
        return (database, key)
    }

    /// The key that the section names. A file of one host has a default, which the first start makes; no replica makes the
    /// key of a store that several hosts share.
    fileprivate func ownSealingKey(_ driver: StoreDriver, state: String) -> SealingKeySettings? {
        let isNamed = self.has(.sealingKey) || self.has(.sealingKeyFile)
        let key = self.sealingKey(state: state)
        guard driver != .sqlite else {
            return isNamed ? key : .file(SettingsEnvironment.path("sealing.key", under: state))
        }
        if !isNamed {
            self.missing(
                "sealing_key is missing: replicas share this store, so make one key and give it to all of them"
            )
        }
        if case .file(let path) = key { (self[.sealingKey] ?? self[.sealingKeyFile])?.checkShared(key: path) }
        return key
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
