internal import FoundationEssentials
internal import KillSwitch
package import Settings
internal import Synchronization
internal import TokenModel
package import TokenStorage

/// A store as the settings name it: one database, or several that a composite joins.
package struct DriverStore: Sendable {
    package let store: any TokenStore
    package let keys: any KeyRingSource
    /// The name of the store in messages, such as the path of a database.
    package let name: String
    /// What an operator should know about the store, for the log.
    package private(set) var warnings: [String]
    /// Asks the server about itself; `nil` if the store has none.
    package private(set) var condition: (@Sendable () async throws(StoreError) -> StoreCondition)?
    /// The move to another database; `nil` if there is none.
    package private(set) var migration: MigratingTokenStore?
    /// The copies in other databases; `nil` if there are none.
    package private(set) var mirroring: MirroringTokenStore?
    /// Closes the store after all writers have stopped.
    package let close: @Sendable () async -> Void
    private let ending: Ending

    /// Whether the process is about to end its work on the mirrors.
    private final class Ending: Sendable {
        private let flag = Mutex(false)
        var hasBegun: Bool { self.flag.withLock { $0 } }
        func begin() { self.flag.withLock { $0 = true } }
    }

    /// A store that is one database.
    private init(_ database: OpenDatabase, keys: any KeyRingSource, warnings: [String] = []) {
        self.init(database.store, keys: keys, name: database.name, closing: [database])
        self.warnings += warnings
        self.condition = database.condition
    }

    private init(
        _ store: any TokenStore,
        keys: any KeyRingSource,
        name: String,
        closing databases: [OpenDatabase],
        ending: Ending = Ending()
    ) {
        self.ending = ending
        self.store = store
        self.keys = keys
        self.name = name
        self.warnings = databases.flatMap(\.warnings)
        self.close = { for database in databases { await database.close() } }
    }

    /// The file with the sealing keys; `nil` if they are not in a file.
    package var keyFile: KeyRingFile? { self.keys as? KeyRingFile }

    /// Opens the store that the settings name.
    ///
    /// - Parameters:
    ///   - keys: those of the store (``keyOrigin(_:createsMissing:)``).
    ///   - createsMissing: whether a missing store and its key are created, as by a gateway that starts. Commands work on
    ///     existing stores only.
    ///   - mirrorChanged: called when a mirror falls behind or has caught up.
    package static func open(
        _ settings: GatewaySettings,
        keys: any KeyRingSource,
        createsMissing: Bool,
        mirrorChanged: @escaping @Sendable (MirrorState) -> Void = { _ in }
    ) async throws(StartError) -> DriverStore {
        switch settings.store {
        case .memory:
            guard createsMissing else {
                throw StartError(.badConfiguration, "store in memory: a store of that kind ends with its gateway")
            }
            return DriverStore(MemoryTokenStore(), keys: keys, name: "in memory", closing: [])
        case .single(let database, _):
            return DriverStore(try await OpenDatabase.open(database, createsMissing: createsMissing), keys: keys)
        case .migrating(let current, let previous, _):
            return try await Self.migrating(to: current, from: previous, keys: keys, createsMissing: createsMissing)
        case .mirroring(let primary, let mirrors, _):
            let opened = try await OpenDatabase.open(primary, createsMissing: createsMissing)
            guard createsMissing else {
                // A command changes the primary only; the gateways bring it to the mirrors.
                return DriverStore(opened, keys: keys)
            }
            return try await Self.mirroring(opened, to: mirrors, keys: keys, changed: mirrorChanged)
        }
    }
}

// MARK: - Composites

extension DriverStore {
    private static func migrating(
        to current: DatabaseSettings,
        from previous: DatabaseSettings,
        keys: any KeyRingSource,
        createsMissing: Bool
    ) async throws(StartError) -> DriverStore {
        let target = try await OpenDatabase.open(current, createsMissing: createsMissing)
        let source: OpenDatabase
        do throws(StartError) {
            source = try await OpenDatabase.open(previous, createsMissing: false)
        } catch {
            // After the move, nobody needs the other store any more.
            guard (try? await StoreMigration.isWhole(target.store, keys: keys)) == true else {
                await target.close()
                throw StartError(
                    error.code,
                    "\(error.message); this is the store that records are moved from: are current and previous exchanged?"
                )
            }
            return DriverStore(target, keys: keys, warnings: [Self.moved])
        }
        let name = "\(target.name) (moving from \(source.name))"
        do throws(StoreError) {
            let migration = try await StoreMigration(to: target.store, from: source.store, keys: keys) {
                records throws(StoreError) in try await KillLog(records).contents().last.rawValue
            }
            guard !migration.isDone else {
                await source.close()
                return DriverStore(target, keys: keys, warnings: [Self.moved])
            }
            let store = MigratingTokenStore(migration)
            var driver = DriverStore(store, keys: keys, name: name, closing: [target, source])
            driver.migration = store
            if target.condition != nil || source.condition != nil {
                driver.condition = { () async throws(StoreError) in
                    let asked = store.phase == .after ? target : source
                    let other = store.phase == .after ? source : target
                    guard let ask = asked.condition ?? other.condition else {
                        throw StoreError(.unreachable, "the store has no server")
                    }
                    return try await ask()
                }
            }
            return driver
        } catch {
            await target.close()
            await source.close()
            throw StartError(error, store: name)
        }
    }

    private static let moved =
        "all records are in the store that is current: use its settings alone, and take previous out of the configuration"

    private static func mirroring(
        _ primary: OpenDatabase,
        to mirrors: [DatabaseSettings],
        keys: any KeyRingSource,
        changed: @escaping @Sendable (MirrorState) -> Void
    ) async throws(StartError) -> DriverStore {
        var opened: [OpenDatabase] = []
        let ending = Ending()
        do throws(StartError) {
            for mirror in mirrors { opened.append(try await OpenDatabase.openMirror(mirror)) }
            do throws(StoreError) {
                let store = try await MirroringTokenStore.open(
                    primary: primary.store,
                    mirrors: opened.map { MirroringTokenStore.Target(name: $0.name, store: $0.store) },
                    keys: keys,
                    changed: { if !ending.hasBegun { changed($0) } }
                )
                let databases = opened + [primary]
                var driver = DriverStore(store, keys: keys, name: primary.name, closing: databases, ending: ending)
                driver.mirroring = store
                driver.condition = primary.condition
                return driver
            } catch {
                throw StartError(error, store: opened.map(\.name).joined(separator: " or "))
            }
        } catch {
            for database in opened + [primary] { await database.close() }
            throw error
        }
    }

    /// Moves records and writes to mirrors, until its task is cancelled.
    ///
    /// - Parameter moved: called when a move has ended.
    func run(moved: @escaping @Sendable (MigratingTokenStore.Progress) -> Void) async {
        await withDiscardingTaskGroup { tasks in
            if let migration = self.migration { tasks.addTask { await migration.run(ended: moved) } }
            if let mirroring = self.mirroring { tasks.addTask { await mirroring.run() } }
        }
    }

    /// Waits for what is on its way to the mirrors, after all writers have stopped.
    func flush() async {
        _ = await self.mirroring?.flush(within: .seconds(3))
        // From now on the mirrors are behind, which is no news.
        self.ending.begin()
    }
}
