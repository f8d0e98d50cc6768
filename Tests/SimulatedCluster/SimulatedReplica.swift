internal import Audit
internal import KillSwitch
internal import Logging
internal import SignIn
internal import Simulation
internal import Synchronization
internal import TestKit
internal import TokenModel
internal import TokenRefresh
internal import TokenStorage

/// One replica: the real engine and the real kill switch in a process that can be stopped and killed.
final class SimulatedReplica: Sendable {
    /// What a replica has once its store is open.
    struct Open: Sendable {
        let store: any TokenStore
        let kills: KillSwitch
        let engine: RefreshEngine
        let signIns: SignInService
        let audit: AuditTrail
        let disk: HostConnection
        /// The move to another store that the replica takes part in.
        let move: MigratingTokenStore?
        /// The store with its mirror.
        let mirroring: MirroringTokenStore?
        /// The record that stands for it until it has joined.
        let arrival: ReplicaID?
    }

    /// How a process starts.
    struct Start: Sendable {
        /// It is configured to move to the second store.
        var moves = false
        /// The operator accepts that the store lacks entries of the kill log.
        var acceptsOlderStore = false
        /// The operator unlocks it.
        var overridesLock = false
    }

    let name: String
    let host: SimulatedHost
    let process: SimulatedProcess
    let incarnation = IncarnationID.random()
    let connections: [StoreConnection]
    let proxy: SimulatedProxy
    private let cluster: SimulatedCluster
    private let start: Start
    private let open = Mutex<Open?>(nil)
    private let correction = ClockCorrection()

    static let lease = Duration.seconds(10)

    init(named name: String, on host: SimulatedHost, in cluster: SimulatedCluster, _ start: Start) {
        let process = SimulatedProcess(on: cluster.simulation)
        self.name = name
        self.host = host
        self.process = process
        self.cluster = cluster
        self.start = start
        let proxy = SimulatedProxy(named: name, process, host.clock.timepiece, in: cluster)
        self.connections = cluster.stores.indices.map { StoreConnection($0, process, proxy, named: name, in: cluster) }
        self.proxy = proxy
        host.begin(self.incarnation, process)
    }

    /// The clocks of the host, with the wall clock corrected by that of the store's server if there is one.
    private var timepiece: Timepiece {
        let (clock, correction) = (self.host.clock, self.correction)
        return Timepiece(ages: clock) { clock.wall.advanced(by: correction.offset) }
    }

    private func correctClock() async throws(StoreError) {
        guard self.cluster.weather.store != .sqlite else { return }
        let begin = self.host.clock.wall
        let time = try await self.connections[0].time()
        self.correction.learn(time, between: begin, and: self.host.clock.wall)
    }

    /// Its parts, while it serves requests.
    var parts: Open? { self.process.hasEnded ? nil : self.open.withLock { $0 } }

    /// Starts as a gateway does. A process that can't start ends, and another one is started in its place.
    func run() {
        self.process.start {
            var next = self.start
            do throws(StoreError) {
                let open = try await self.prepare()
                await open.disk.inheritAll()
                try await open.kills.start(
                    acceptsOlderStore: self.start.acceptsOlderStore,
                    overridesLock: self.start.overridesLock,
                    arrival: open.arrival
                )
                try await open.engine.indexAccounts()
                if self.start.overridesLock { _ = try? await open.kills.orderUnlock() }
                self.open.withLock { $0 = open }
                self.cluster.ledger.note(self.name, "serves")
                next.acceptsOlderStore = false
                await self.serve(open)
            } catch {
                self.cluster.ledger.note(self.name, "can't start: \(error.code.rawValue), \(error.message)")
                next.acceptsOlderStore = error.code == .outdated
                next.overridesLock = error.code == .locked
            }
            self.open.withLock { $0 = nil }
            guard !self.process.hasEnded else { return }
            self.cluster.replace(self, next)
        }
    }

    private func serve(_ open: Open) async {
        await withDiscardingTaskGroup { tasks in
            tasks.addTask { await open.move?.run { _ in } }
            tasks.addTask { await open.mirroring?.run() }
            tasks.addTask {
                while !Task.isCancelled {
                    await self.timepiece.rest(until: self.timepiece.now.boot.advanced(by: .seconds(10)))
                    await open.disk.inheritAll()
                    try? await self.correctClock()
                }
            }
            tasks.addTask {
                for await change in open.store.changes() where change == .anotherServer {
                    await open.disk.inheritAll(hasFailedOver: true)
                }
            }
            tasks.addTask {
                // Whoever reads the order stops the replica.
                for await lock in open.kills.lockOrders {
                    self.cluster.ledger.note(self.name, "obeys lock \(lock.id)")
                    await self.shutDown()
                }
            }
            await withDiscardingTaskGroup { members in
                members.addTask { await open.kills.run() }
                members.addTask { await open.engine.run() }
                members.addTask { await open.signIns.run() }
                members.addTask { await open.audit.run() }
            }
            _ = await open.mirroring?.flush(within: .seconds(3))
            tasks.cancelAll()
        }
    }

    /// Ends in order, as for SIGTERM.
    func shutDown() async {
        guard let open = self.parts else { return }
        self.open.withLock { $0 = nil }
        self.proxy.close()
        open.signIns.stop()
        open.engine.stop()
        while open.engine.flightCount > 0, !self.process.hasEnded {
            await self.timepiece.rest(until: self.timepiece.now.boot.advanced(by: .milliseconds(100)))
        }
        open.kills.stop()
        open.audit.stop()
    }

    /// What is left of it after ``SimulatedProcess/end()`` may go.
    func clear() {
        let open = self.open.withLock { $0.take() }
        open?.signIns.stop()
        open?.engine.stopNow()
        open?.kills.stop()
        open?.audit.stop()
        self.proxy.close()
    }

    // MARK: - The store

    /// Opens the store, and builds what works on it.
    private func prepare() async throws(StoreError) -> Open {
        try await self.correctClock()
        let keys = self.cluster.keys
        var (store, move): (any TokenStore, MigratingTokenStore?) = (self.connections[0], nil)
        if self.start.moves {
            let migration = try await StoreMigration(to: self.connections[1], from: self.connections[0], keys: keys) {
                records throws(StoreError) in try await KillLog(records).contents().last.rawValue
            }
            store = self.connections[1]
            if !migration.isDone {
                let migrating = MigratingTokenStore(migration, timepiece: self.timepiece)
                (store, move) = (migrating, migrating)
            }
        }
        var mirroring: MirroringTokenStore?
        if self.cluster.weather.mirrors {
            let mirror = MirroringTokenStore.Target(name: "the mirror", store: self.connections[1])
            mirroring = MirroringTokenStore(
                primary: store,
                mirrors: [mirror],
                keys: keys,
                timepiece: self.timepiece
            )
            store = mirroring ?? store
        }
        var opened = try await OpenedStore.open(store, keys: keys)
        let place = move == nil ? try await opened.wholePlace() : nil
        var arrival: ReplicaID?
        if let move {
            opened.moves = { [move] in move.moves }
            if move.phase == .before {
                let id = try await KillSwitch.announceArrival(
                    opened.records,
                    self.incarnation,
                    name: self.name,
                    lease: Self.lease,
                    at: self.timepiece.now.wall
                )
                if try await move.goOver() { await move.leaveBehind(.replica(id.rawValue)) } else { arrival = id }
            }
        }
        return self.build(on: opened, place, move, mirroring, arrival)
    }

    private func build(
        on opened: OpenedStore,
        _ place: StorePlace?,
        _ move: MigratingTokenStore?,
        _ mirroring: MirroringTokenStore?,
        _ arrival: ReplicaID?
    ) -> Open {
        let (cluster, proxy) = (self.cluster, self.proxy)
        let disk = HostConnection(
            host: self.host,
            incarnation: self.incarnation,
            process: self.process,
            vault: opened.accounts,
            cluster: cluster
        )
        let endpoint = ProviderConnection(
            cluster: cluster,
            process: self.process,
            clock: self.host.clock,
            name: self.name
        )
        let kills = KillSwitch(
            opened.records,
            incarnation: self.incarnation,
            name: self.name,
            lease: Self.lease,
            fewestToFold: 2,
            host: disk,
            place: place,
            move: move,
            timepiece: self.timepiece,
            logger: cluster.logger,
            fence: proxy,
            target: { _ in RevocationTarget(endpoint: endpoint) }
        )
        func plan(_ account: AccountID) -> AccountConfiguration {
            AccountConfiguration(account: account, provider: ProviderConnection.id, endpoint: endpoint)
        }
        let member = plan(AccountID("customer-*"))
        let engine = RefreshEngine(
            plans: cluster.named.map(plan),
            families: [AccountFamilyConfiguration(cluster.family, member: member, max: 100)],
            vault: opened.accounts,
            kills: kills,
            incarnation: self.incarnation,
            host: disk,
            timepiece: self.timepiece,
            logger: cluster.logger,
            onCredential: { proxy.apply($0) }
        )
        let audit = AuditTrail(
            opened.records,
            incarnation: self.incarnation,
            replica: self.name,
            timepiece: self.timepiece,
            logger: cluster.logger
        )
        let configuration = SignInConfiguration(
            gatewayRedirectURI: nil,
            providers: [ProviderConnection.id: SignInConfiguration.Provider(server: endpoint)]
        )
        let signIns = SignInService(
            opened.records,
            engine: engine,
            audit: audit,
            timepiece: self.timepiece,
            logger: cluster.logger,
            configuration: { configuration }
        )
        proxy.open(engine)
        return Open(
            store: opened.store,
            kills: kills,
            engine: engine,
            signIns: signIns,
            audit: audit,
            disk: disk,
            move: move,
            mirroring: mirroring,
            arrival: arrival
        )
    }
}
