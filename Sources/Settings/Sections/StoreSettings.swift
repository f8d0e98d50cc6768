/// Where tokens are kept.
package enum StoreSettings: Equatable, Sendable {
    /// In this process only: all tokens are lost when it ends.
    case memory
    case single(DatabaseSettings, sealingKey: SealingKeySettings)
    /// On their way from `previous` to `current`.
    case migrating(current: DatabaseSettings, previous: DatabaseSettings, sealingKey: SealingKeySettings)
    /// In `primary`, with copies in `mirrors`.
    case mirroring(primary: DatabaseSettings, mirrors: [DatabaseSettings], sealingKey: SealingKeySettings)

    /// The name of the driver.
    package var driver: String {
        switch self {
        case .memory: StoreDriver.memory.rawValue
        case .single(let database, _): database.driver
        case .migrating: StoreDriver.migrating.rawValue
        case .mirroring: StoreDriver.mirroring.rawValue
        }
    }

    /// Where the sealing keys come from; `nil` for a store in memory, whose key nobody needs to know.
    package var sealingKey: SealingKeySettings? {
        switch self {
        case .memory: nil
        case .single(_, let key), .migrating(_, _, let key), .mirroring(_, _, let key): key
        }
    }

    /// Whether the store keeps records past the end of the process.
    package var isDurable: Bool { self != .memory }

    /// What `martlet check` prints.
    var summary: String {
        switch self {
        case .memory: "in memory, all tokens are gone when the process ends"
        case .single(let database, let key): "\(database.summary), \(key.summary)"
        case .migrating(let current, let previous, let key):
            "moving from \(previous.summary) to \(current.summary), \(key.summary)"
        case .mirroring(let primary, let mirrors, let key):
            "\(primary.summary), mirrored to \(mirrors.map(\.summary).joined(separator: " and to ")), "
                + "\(key.summary)"
        }
    }
}

/// A database that holds the records of a store.
package enum DatabaseSettings: Equatable, Sendable {
    /// An SQLite database at `path`. The first start makes it.
    case sqlite(path: String)
    /// A PostgreSQL database, which replicas on several hosts share.
    case postgres(PostgreSQLSettings)
    /// A Redis or Valkey database, which replicas on several hosts share.
    case redis(RedisSettings)

    /// The name of the driver.
    package var driver: String {
        switch self {
        case .sqlite: StoreDriver.sqlite.rawValue
        case .postgres: StoreDriver.postgres.rawValue
        case .redis: StoreDriver.redis.rawValue
        }
    }

    var summary: String {
        switch self {
        case .sqlite(let path): "sqlite at \(path)"
        case .postgres(let settings): "postgres \(settings.summary)"
        case .redis(let settings): "redis \(settings.summary)"
        }
    }
}
