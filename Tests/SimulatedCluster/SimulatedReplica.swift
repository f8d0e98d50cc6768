internal import KillSwitch
internal import Logging
internal import Simulation
internal import Synchronization
internal import TestKit
internal import TokenModel
internal import TokenRefresh
internal import TokenStorage

/// One replica: the real engine and the real kill switch in a process that can be stopped and killed.
final class SimulatedReplica: Sendable {
    let name: String
    let host: SimulatedHost
    let process: SimulatedProcess
    let incarnation = IncarnationID.random()
    let connection: StoreConnection
    let proxy: SimulatedProxy
    let engine: RefreshEngine
    let kills: KillSwitch
    private let disk: HostConnection
    private let ledger: Ledger
    private let isOpen = Mutex(false)

    static let lease = Duration.seconds(10)

    init(named name: String, on host: SimulatedHost, in cluster: SimulatedCluster) {
        let process = SimulatedProcess(on: cluster.simulation)
        let (network, weather, mutation) = (cluster.network, cluster.weather, cluster.mutation)
        let connection = StoreConnection(
            cluster.store.connect(),
            process,
            named: name,
            network,
            weather,
            mutation,
            StoreObserver(vault: cluster.vault, ledger: cluster.ledger)
        )
        let records = SealedRecords(store: connection, keys: cluster.records.keys, storeID: cluster.records.storeID)
        let vault = AccountVault(records)
        let disk = HostConnection(
            host: host,
            incarnation: self.incarnation,
            process: process,
            vault: vault,
            mutation: mutation
        )
        let proxy = SimulatedProxy(
            named: name,
            process,
            host.clock.timepiece,
            network,
            cluster.provider,
            cluster.ledger,
            isDurable: { cluster.isDurable($0) }
        )
        let endpoint = ProviderConnection(
            provider: cluster.provider,
            process: process,
            name: name,
            network: network,
            weather: weather,
            mutation: mutation
        )
        let kills = KillSwitch(
            records,
            incarnation: self.incarnation,
            name: name,
            lease: Self.lease,
            host: disk,
            timepiece: host.clock.timepiece,
            logger: cluster.logger,
            fence: proxy,
            target: { _ in RevocationTarget(endpoint: endpoint) }
        )
        let named = cluster.named.map { AccountConfiguration(account: $0, provider: ProviderConnection.id, endpoint: endpoint) }
        let member = AccountConfiguration(
            account: AccountID("customer-*"),
            provider: ProviderConnection.id,
            endpoint: endpoint
        )
        self.engine = RefreshEngine(
            plans: named,
            families: [AccountFamilyConfiguration(cluster.family, member: member, max: 100)],
            vault: vault,
            kills: kills,
            incarnation: self.incarnation,
            host: disk,
            timepiece: host.clock.timepiece,
            logger: cluster.logger,
            onCredential: { proxy.apply($0) }
        )
        self.name = name
        self.host = host
        self.process = process
        self.connection = connection
        self.proxy = proxy
        self.kills = kills
        self.disk = disk
        self.ledger = cluster.ledger
        host.begin(self.incarnation, process)
        proxy.connect(to: self.engine)
    }

    /// Whether the replica serves requests.
    var isServing: Bool { self.isOpen.withLock { $0 } && !self.process.hasEnded }

    /// Starts as a gateway does, and tries again until the store lets it in, as an operator would.
    func start() {
        self.process.start {
            var acceptsOlderStore = false
            while !Task.isCancelled {
                await self.disk.inheritAll()
                do throws(StoreError) {
                    try await self.kills.start(acceptsOlderStore: acceptsOlderStore)
                    try await self.engine.indexAccounts()
                    break
                } catch {
                    self.ledger.note(self.name, "can't start: \(error.code.rawValue)")
                    acceptsOlderStore = error.code == .outdated
                }
                await self.rest(.seconds(1))
            }
            guard !Task.isCancelled else { return }
            self.isOpen.withLock { $0 = true }
            self.ledger.note(self.name, "serves")
            await withDiscardingTaskGroup { tasks in
                tasks.addTask { await self.kills.run() }
                tasks.addTask { await self.engine.run() }
                tasks.addTask {
                    while !Task.isCancelled, self.isServing {
                        await self.rest(.seconds(10))
                        await self.disk.inheritAll()
                    }
                }
            }
        }
    }

    private func rest(_ duration: Duration) async {
        let timepiece = self.host.clock.timepiece
        await timepiece.rest(until: timepiece.now.boot.advanced(by: duration))
    }

    /// Ends in order, as for SIGTERM.
    func shutDown() async {
        self.isOpen.withLock { $0 = false }
        self.engine.stop()
        while self.engine.flightCount > 0, !self.process.hasEnded { await self.rest(.milliseconds(100)) }
        self.kills.stop()
        while !self.kills.hasLeft, !self.process.hasEnded { await self.rest(.milliseconds(100)) }
    }

    /// What is left of it after ``SimulatedProcess/end()`` may go.
    func clear() {
        self.isOpen.withLock { $0 = false }
        self.engine.stopNow()
        self.kills.stop()
        self.proxy.connect(to: nil)
    }
}
