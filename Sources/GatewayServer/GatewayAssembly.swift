internal import AdminAPI
internal import Audit
internal import KillSwitch
package import Logging
internal import NIOPosix
internal import ProviderClient
internal import Proxy
package import Settings
internal import SignIn
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
    let acceptsOlderStore: Bool
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
        let loginEncryption = try CallerTLS(self.settings.login)
        let login = try await self.listenForBrowsers(core, loginEncryption)
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
            signIns: core.signIns,
            gateway: core.gateway,
            audit: audit,
            providers: core.providers,
            webhook: core.webhook,
            admin: admin,
            adminEncryption: encryption,
            adminSocket: socket,
            login: login,
            loginEncryption: loginEncryption,
            metrics: metricsServer,
            keeper: self.keeper,
            counts: self.metrics,
            recorder: monitor.recorder,
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

// MARK: - The parts that serve callers

extension GatewayAssembly {
    /// The parts that serve callers, connected to each other.
    struct Core {
        let providers: CurrentProviders
        let proxy: ProxyServer
        let engine: RefreshEngine
        let kills: KillSwitch
        let signIns: SignInService
        let gateway: CurrentGateway
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
        let redirectURI = settings.login?.redirectURI.text
        let signIns = SignInService(
            store.records,
            engine: engine,
            audit: audit,
            timepiece: timepiece,
            logger: self.logger,
            configuration: { providers.current.signIns(gatewayRedirectURI: redirectURI) }
        )
        credentials.connect(to: engine, kills)
        fence.connect(to: engine, proxy)
        return Core(
            providers: providers,
            proxy: proxy,
            engine: engine,
            kills: kills,
            signIns: signIns,
            gateway: CurrentGateway(
                name: self.name,
                OpenGateway(
                    engine: engine,
                    kills: kills,
                    signIns: signIns,
                    audit: audit,
                    caches: ProxyCaches(proxy: proxy)
                )
            ),
            webhook: webhook,
            audit: audit,
            room: room,
            budget: budget,
            storeWatch: storeWatch,
            timepiece: timepiece
        )
    }
}

/// The releases of what a start has acquired so far.
struct CleanupStack {
    private var releases: [@Sendable () async -> Void] = []

    /// Adds a release, which runs before all earlier ones.
    mutating func push(_ release: @escaping @Sendable () async -> Void) { self.releases.append(release) }

    /// Runs all releases, the last one first.
    mutating func unwind() async {
        while let release = self.releases.popLast() { await release() }
    }
}
