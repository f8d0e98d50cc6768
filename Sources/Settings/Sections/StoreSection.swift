internal import SystemSupport

/// The keys of `store`.
enum StoreKey: String, Vocabulary {
    case driver, path
    case sealingKeyFile = "sealing_key_file"

    static let later = ["current", "previous", "mirrors"]
}

/// The drivers of stores.
enum StoreDriver: String, Vocabulary {
    case sqlite, memory

    static let later = ["postgres", "redis", "migrating", "mirroring"]
}

extension StoreSettings {
    init(_ section: Section<StoreKey>, state: String) {
        let driver = section.read(.driver) { $0.choice(StoreDriver.self) } ?? .sqlite
        let path = section.read(.path) { $0.file(under: state) }
        let sealingKeyFile = section.read(.sealingKeyFile) { $0.file(under: state) }
        switch driver {
        case .sqlite:
            self = .sqlite(
                path: path ?? SettingsEnvironment.path("tokens.db", under: state),
                sealingKeyFile: sealingKeyFile ?? SettingsEnvironment.path("sealing.key", under: state)
            )
            // Inside state_dir, a file of another user is refused later. Elsewhere it is only a warning.
            if let sealingKeyFile, SecretFile.isOutside(sealingKeyFile, of: state) {
                section[.sealingKeyFile]?.warnOfOwner(sealingKeyFile)
            }
        case .memory:
            self = .memory
            for key in [StoreKey.path, .sealingKeyFile] { section[key]?.warn("has no effect with the memory driver") }
        }
    }
}

/// Where tokens are kept.
package enum StoreSettings: Equatable, Sendable {
    /// In an SQLite database at `path`, sealed with the key in `sealingKeyFile`. The first start creates both.
    case sqlite(path: String, sealingKeyFile: String)
    /// In this process only: all tokens are lost when it ends.
    case memory

    /// The name of the driver.
    package var driver: String {
        switch self {
        case .sqlite: StoreDriver.sqlite.rawValue
        case .memory: StoreDriver.memory.rawValue
        }
    }

    /// Whether the store keeps records past the end of the process.
    package var isDurable: Bool {
        switch self {
        case .sqlite: true
        case .memory: false
        }
    }

    /// What `martlet check` prints.
    var summary: String {
        switch self {
        case .sqlite(let path, let key): "sqlite at \(path), sealed with the key in \(key)"
        case .memory: "in memory, all tokens are gone when the process ends"
        }
    }
}
