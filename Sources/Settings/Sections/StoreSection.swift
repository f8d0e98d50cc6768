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
}
