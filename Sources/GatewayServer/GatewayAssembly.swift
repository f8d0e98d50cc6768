internal import AdminAPI
internal import Audit
internal import KillSwitch
package import Logging
internal import NIOPosix
internal import ProviderClient
internal import Proxy
package import Settings
package import SystemSupport
package import Telemetry
internal import TokenModel
internal import TokenRefresh
internal import TokenStorage

/// Wires the modules together: settings in, a gateway out that holds its addresses and is ready to run.
///
/// Everything that can keep a gateway from starting, such as a key that doesn't fit or a busy port, fails here, before
/// anything runs. A step that acquires something pushes its release to ``CleanupStack``. If a later step fails, the
/// releases run in reverse order.
package struct GatewayAssembly {
    let settings: GatewaySettings
    let claim: PortClaim
    private let acceptsOlderStore: Bool
    private let log: LogWriter
    let logger: Logger
    let startedAt = Timepiece.system.now.wall
    let incarnation = IncarnationID.random()
    let name: String
    let metrics: ProgramMetrics
    private let keeper = EndpointKeeper()
    let status = ReloadStatus()
    var cleanup = CleanupStack()

    private init(
        _ settings: GatewaySettings,
        ports claim: PortClaim,
        acceptsOlderStore: Bool,
        log: LogWriter,
        logger: Logger
    ) {
        self.settings = settings
        self.claim = claim
        self.acceptsOlderStore = acceptsOlderStore
        self.log = log
        self.logger = logger
        self.name = settings.replica.name ?? HostName.text
        self.metrics = ProgramMetrics(settings)
    }

    /// Builds a gateway.
    ///
    /// - Parameters:
    ///   - path: the configuration file, which ``Reloader/reload()`` reads again.
    ///   - claim: `.successor` to share the ports of an older gateway of this user.
    ///   - acceptsOlderStore: whether a store that lacks known kills is repaired instead of refused.
    ///   - threshold: the log level, which a reload changes.
    package static func assemble(
        _ settings: GatewaySettings,
        from path: String,
        ports claim: PortClaim,
        acceptsOlderStore: Bool,
        log: LogWriter,
        threshold: LogThreshold,
        logger: Logger
    ) async throws(StartError) -> (RunningGateway, Reloader) {
        var assembly = GatewayAssembly(
            settings,
            ports: claim,
            acceptsOlderStore: acceptsOlderStore,
            log: log,
            logger: logger
        )
        do throws(StartError) {
            let (gateway, providers) = try await assembly.assemble()
            let reloader = Reloader(
                path: path,
                running: RunningConfiguration(settings: settings, providers: providers),
                gateway: gateway,
                log: log,
                threshold: threshold,
                logger: logger
            )
            return (gateway, reloader)
        } catch {
            await assembly.cleanup.unwind()
            throw error
        }
    }

    private mutating func assemble() async throws(StartError) -> (RunningGateway, ProviderRegistry) {
        try StateDirectory.make(self.settings.stateDirectory)
        StateDirectory.warnIfExposed(self.settings.stateDirectory, logger: self.logger)
        let (driver, opened, storeWatch) = try await self.openStore()
        let timepiece = Timepiece.corrected(by: storeWatch.correction)
        let (place, arrival) = try await self.arrive(at: opened, driver, timepiece)
        var store = opened
        store.moves = { driver.migration?.moves ?? place?.moves ?? 0 }
        let host = DirectoryHostState(
            self.settings.stateDirectory,
            of: store,
            isDurable: self.settings.store.isDurable
        )
        try await self.checkKillLog(of: store, host)
        let audit = AuditTrail(
            store.records,
            incarnation: self.incarnation,
            replica: self.name,
            timepiece: timepiece,
            logger: self.logger
        )
        let takeover = try await self.announceTakeover(in: audit)
        let incarnations = IncarnationKeeper(host, logger: self.logger)
        self.cleanup.push { await host.close() }
        await incarnations.begin(self.incarnation, self.settings, store)
        self.cleanup.push { [keeper = self.keeper] in await keeper.shutDown() }
        let providers = try ProviderRegistry(self.settings, keeper: self.keeper, logger: self.logger)

        let core = try await self.wire(
            (store, place, driver.migration),
            storeWatch,
            timepiece,
            host,
            CurrentProviders(providers),
            audit
        )
        let callers = try await self.bind(core.proxy)
        let monitor = self.monitor(of: core, driver, store, listeners: callers)
        let encryption = try CallerTLS(self.settings.admin)
        let admin = try await self.listenForOperators(core, monitor, encryption)
        let metricsServer = try await self.listenForMetrics(core, monitor)
        // Once nothing else can fail, so that no record of a replica is left behind, and before anybody is served: a kill
        // holds from the first request on.
        // If that fails, a record of this replica may land all the same. Then its end must stay provable.
        self.cleanup.push { await host.close(leavesNothing: false) }
        try await self.startKillSwitch(core.kills, audit, arrival: arrival)
        // Last, since commands come here from now on.
        let socket = await self.openSocket(of: admin)
        core.budget.report(
            wanted: self.settings.limits.connections,
            isNamed: self.settings.limits.namesConnections,
            to: self.logger
        )
        if let takeover { await audit.end(takeover, "done") }
        let gateway = RunningGateway(
            callers: zip(callers, self.settings.listeners).map { address, listener in
                address.hasPrefix("unix:") ? address : "\(listener.tls == nil ? "http" : "https")://\(address)"
            },
            proxy: core.proxy,
            engine: core.engine,
            kills: core.kills,
            audit: audit,
            providers: core.providers,
            webhook: core.webhook,
            admin: admin,
            adminEncryption: encryption,
            adminSocket: socket,
            metrics: metricsServer,
            keeper: self.keeper,
            counts: self.metrics,
            incarnations: incarnations,
            storeWatch: storeWatch,
            room: core.room,
            status: self.status,
            driver: driver,
            grace: self.settings.shutdownGrace,
            logger: self.logger
        )
        return (gateway, providers)
    }
}

// MARK: - The store

extension GatewayAssembly {
    private mutating func openStore() async throws(StartError) -> (DriverStore, OpenedStore, StoreWatch) {
        if !self.settings.store.isDurable {
            self.logger.warning("the memory store loses all tokens when this process ends")
        }
        let logger = self.logger
        let driver = try await DriverStore.open(self.settings, createsMissing: true) { $0.tell(logger) }
        self.cleanup.push(driver.close)
        for warning in driver.warnings {
            logger.warning("the store needs attention", metadata: ["store.warning": "\(warning)"])
        }
        do throws(StoreError) {
            let opened = try await OpenedStore.open(
                self.metrics.timing(driver.store),
                keys: driver.keys,
                mirror: self.acceptsOlderStore ? .promote : .refuse
            )
            let watch = StoreWatch(driver, logger: self.logger)
            try await watch.look()
            return (driver, opened, watch)
        } catch {
            throw StartError(error, store: driver.name)
        }
    }

    /// Finds out which copy of the records this is, and whether it may be used alone. If the records are about to move to
    /// another store, announces this process, so that the others do not go there before it has joined them.
    ///
    /// - Returns: the place of the store, and the record that stands for this process; both `nil` if there is none.
    private mutating func arrive(
        at store: OpenedStore,
        _ driver: DriverStore,
        _ timepiece: Timepiece
    ) async throws(StartError) -> (place: StorePlace?, arrival: ReplicaID?) {
        do throws(StoreError) {
            guard let migration = driver.migration else { return (try await store.wholePlace(), nil) }
            guard migration.phase == .before else { return (nil, nil) }
            let arrival = try await KillSwitch.announceArrival(
                store.records,
                self.incarnation,
                name: self.name,
                lease: self.settings.replica.lease,
                at: timepiece.now.wall
            )
            self.cleanup.push { await KillSwitch.withdrawArrival(arrival, store.records) }
            // They may have gone there just before.
            guard try await migration.goOver() else { return (nil, arrival) }
            await migration.leaveBehind(.replica(arrival.rawValue))
            return (nil, nil)
        } catch {
            throw StartError(error, store: driver.name)
        }
    }

    /// Refuses a store that lacks kills this host knows, and a store that is not the one this host knows.
    private func checkKillLog(of store: OpenedStore, _ host: DirectoryHostState) async throws(StartError) {
        guard self.settings.store.isDurable else { return }
        do throws(StoreError) {
            if !self.acceptsOlderStore {
                try await KillSwitch.expectWhole(store.records, copy: host, logger: self.logger)
            }
            try await KillSwitch.expectNoOther(
                store.records,
                copy: host.killLog,
                acceptsOlderStore: self.acceptsOlderStore,
                logger: self.logger
            )
        } catch {
            throw StartError(error, store: "of this gateway")
        }
    }

    /// Records a takeover before a port is shared with the older gateway.
    ///
    /// - Returns: `nil` for an ordinary start.
    private mutating func announceTakeover(in audit: AuditTrail) async throws(StartError) -> AuditTicket? {
        guard self.claim == .successor else { return nil }
        do throws(AuditError) {
            let ticket = try await audit.begin(.takeover, by: .gateway("serve --takeover"))
            self.cleanup.push { await audit.end(ticket, "failed") }
            return ticket
        } catch {
            throw StartError(.unavailable, error.message)
        }
    }
}

// MARK: - The parts that serve callers

extension GatewayAssembly {
    /// The parts that serve callers, connected to each other.
    struct Core {
        let providers: CurrentProviders
        let proxy: ProxyServer
        let engine: RefreshEngine
        let kills: KillSwitch
        let webhook: Webhook
        let audit: AuditTrail
        let room: DescriptorUsage
        let budget: DescriptorBudget
        let storeWatch: StoreWatch
        let timepiece: Timepiece
    }

    private func wire(
        _ opened: (store: OpenedStore, place: StorePlace?, migration: MigratingTokenStore?),
        _ storeWatch: StoreWatch,
        _ timepiece: Timepiece,
        _ host: DirectoryHostState,
        _ providers: CurrentProviders,
        _ audit: AuditTrail
    ) async throws(StartError) -> Core {
        let (store, settings) = (opened.store, self.settings)
        let metrics = self.metrics
        let room = DescriptorUsage(
            limit: DescriptorLimit.current,
            used: DescriptorLimit.used,
            eventLoops: EventLoopCount.standard,
            listeners: settings.listeners.count
        )
        let budget = room.budget(wanted: settings.limits.connections)
        let credentials = EngineCredentials()
        let proxy = await ProxyServer(
            try ProxyConfiguration(settings, connections: budget.connections, eventLoops: EventLoopCount.standard),
            credentials: credentials,
            accessLog: settings.log.access ? self.log : nil,
            logger: self.logger
        )
        let fence = ProcessFence()
        let kills = KillSwitch(
            store.records,
            incarnation: self.incarnation,
            name: self.name,
            lease: settings.replica.lease,
            host: host,
            place: opened.place,
            move: opened.migration,
            timepiece: timepiece,
            logger: self.logger,
            fence: fence,
            endpoint: { providers.current.endpoint(of: $0) }
        )
        let webhook = Webhook(
            settings.webhook.map(WebhookTarget.init),
            replica: self.name,
            on: MultiThreadedEventLoopGroup.singleton,
            now: { timepiece.now },
            logger: self.logger
        )
        let engine = RefreshEngine(
            plans: providers.current.plans(settings.accounts, counting: metrics.refreshes),
            vault: store.accounts,
            kills: kills,
            incarnation: self.incarnation,
            host: host,
            limits: RefreshLimits(waiters: settings.limits.waiters),
            timepiece: timepiece,
            logger: self.logger,
            endpoint: { providers.current.endpoint(of: $0) },
            onEvent: { event in
                metrics.events.add(event.kind.rawValue)
                webhook.post(event)
            },
            onCredential: { proxy.apply($0) }
        )
        credentials.connect(to: engine, kills)
        fence.connect(to: engine, proxy)
        return Core(
            providers: providers,
            proxy: proxy,
            engine: engine,
            kills: kills,
            webhook: webhook,
            audit: audit,
            room: room,
            budget: budget,
            storeWatch: storeWatch,
            timepiece: timepiece
        )
    }

    /// Starts the kill switch. If an operator accepts an older store, that is recorded first.
    ///
    /// The record is appended to the end that the restored log has now: later numbers were given out before.
    private func startKillSwitch(
        _ kills: KillSwitch,
        _ audit: AuditTrail,
        arrival: ReplicaID?
    ) async throws(StartError) {
        let isDurable = self.settings.store.isDurable
        let acceptance =
            self.acceptsOlderStore && isDurable ? try await Self.announceOlderStore(to: kills, in: audit) : nil
        do throws(StoreError) {
            // The memory store is older at each start; no operator has to accept that.
            try await kills.start(acceptsOlderStore: self.acceptsOlderStore || !isDurable, arrival: arrival)
        } catch {
            if let acceptance { await audit.end(acceptance, error.code.rawValue) }
            throw StartError(error, store: "of this gateway")
        }
        if let acceptance { await audit.end(acceptance, "done") }
    }

    /// - Returns: `nil` if the store lacks nothing.
    private static func announceOlderStore(
        to kills: KillSwitch,
        in audit: AuditTrail
    ) async throws(StartError) -> AuditTicket? {
        let missing: (count: Int, last: Epoch)?
        do throws(StoreError) { missing = try await kills.missingInStore() } catch {
            throw StartError(error, store: "of this gateway")
        }
        guard let missing else { return nil }
        let entries = missing.count == 1 ? "1 entry" : "\(missing.count) entries"
        do throws(AuditError) {
            return try await audit.begin(
                .acceptOlderStore,
                detail: "the store lacks \(entries) of the kill log, the last of epoch \(missing.last)",
                by: .gateway("serve --accept-older-store")
            )
        } catch {
            throw StartError(.unavailable, error.message)
        }
    }
}
