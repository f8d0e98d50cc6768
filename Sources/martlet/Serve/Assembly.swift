internal import AdminAPI
internal import Alerts
internal import Audit
internal import KillSwitch
internal import Listening
internal import LocalFiles
internal import Logging
internal import NIOCore
internal import NIOPosix
internal import ProviderClient
internal import Proxy
internal import Settings
internal import Telemetry
internal import TokenModel
internal import TokenRefresh
internal import TokenStorage
internal import TokenStorageSQLite

/// The one place that connects the modules: it turns the settings into a gateway that is bound to its addresses and
/// ready to run.
///
/// Everything that can prevent a start (a wrong key, a port in use) fails here, before anything runs.
enum Assembly {
    static func assemble(
        _ settings: GatewaySettings,
        ports claim: PortClaim,
        acceptsOlderStore: Bool,
        log: LogWriter,
        logger: Logger
    ) async throws(CommandFailure) -> (RunningGateway, ProviderRegistry) {
        let startedAt = Timepiece.system.now.wall
        let incarnation = IncarnationID.random()
        try StateDirectory.make(settings.stateDirectory)
        StateDirectory.warnIfExposed(settings.stateDirectory, logger: logger)
        let metrics = ProgramMetrics(settings)
        let store = try await Self.openStore(settings, metrics, logger: logger)
        let host = DirectoryHostState(
            settings.stateDirectory,
            of: store.opened,
            isDurable: settings.store.isDurable
        )
        if settings.store.isDurable {
            do throws(StoreError) {
                let records = store.opened.records
                if !acceptsOlderStore { try await KillSwitch.expectWhole(records, copy: host, logger: logger) }
                try await KillSwitch.expectNoOther(
                    records,
                    copy: host.killLog,
                    acceptsOlderStore: acceptsOlderStore,
                    logger: logger
                )
            } catch {
                await store.close()
                throw CommandFailure(error, store: "of this gateway")
            }
        }
        let name = settings.replica.name ?? HostName.text
        let audit = AuditTrail(store.opened.records, incarnation: incarnation, replica: name, logger: logger)
        let takeover = claim == .successor ? try await Self.announceTakeover(in: audit) : nil
        let keeper = EndpointKeeper()
        let incarnations = IncarnationKeeper(host, logger: logger)
        await incarnations.begin(incarnation, settings, store.opened)
        do throws(CommandFailure) {
            let providers = try ProviderRegistry(settings, keeper: keeper, logger: logger)
            let gateway = try await Self.assemble(
                settings,
                store,
                providers,
                keeper,
                metrics,
                audit: audit,
                ports: claim,
                host: host,
                incarnations: incarnations,
                acceptsOlderStore: acceptsOlderStore,
                incarnation: incarnation,
                startedAt: startedAt,
                log: log,
                logger: logger
            )
            if let takeover { await audit.end(takeover, "done") }
            return (gateway, providers)
        } catch {
            if let takeover { await audit.end(takeover, "failed") }
            await keeper.shutDown()
            await host.close()
            throw error
        }
    }

    private static func assemble(
        _ settings: GatewaySettings,
        _ store: Store,
        _ providers: ProviderRegistry,
        _ keeper: EndpointKeeper,
        _ metrics: ProgramMetrics,
        audit: AuditTrail,
        ports claim: PortClaim,
        host: DirectoryHostState,
        incarnations: IncarnationKeeper,
        acceptsOlderStore: Bool,
        incarnation: IncarnationID,
        startedAt: WallTime,
        log: LogWriter,
        logger: Logger
    ) async throws(CommandFailure) -> RunningGateway {
        let credentials = EngineCredentials()
        let room = DescriptorRoom(
            limit: DescriptorLimit.current,
            used: DescriptorLimit.used,
            eventLoops: EventLoopCount.standard,
            listeners: settings.listeners.count
        )
        let budget = room.budget(wanted: settings.limits.connections)
        let proxy = await ProxyServer(
            try ProxyConfiguration(settings, connections: budget.connections, eventLoops: EventLoopCount.standard),
            credentials: credentials,
            accessLog: settings.log.access ? log : nil,
            logger: logger
        )
        let fence = ProcessFence()
        let current = CurrentProviders(providers)
        let kills = KillSwitch(
            store.opened.records,
            incarnation: incarnation,
            name: settings.replica.name ?? HostName.text,
            lease: settings.replica.lease,
            host: host,
            logger: logger,
            fence: fence,
            endpoint: { current.current.endpoint(of: $0) }
        )
        let webhook = Webhook(
            settings.webhook.map(WebhookTarget.init),
            replica: settings.replica.name ?? HostName.text,
            on: MultiThreadedEventLoopGroup.singleton,
            now: { Timepiece.system.now },
            logger: logger
        )
        let engine = RefreshEngine(
            plans: providers.plans(settings.accounts, counting: metrics.refreshes),
            vault: store.opened.accounts,
            kills: kills,
            incarnation: incarnation,
            host: host,
            limits: RefreshLimits(waiters: settings.limits.waiters),
            logger: logger,
            endpoint: { current.current.endpoint(of: $0) },
            onEvent: { event in
                metrics.events.add(event.kind.rawValue)
                webhook.post(event)
            },
            onCredential: { proxy.apply($0) }
        )
        credentials.connect(to: engine, kills)
        fence.connect(to: engine, proxy)
        let callers = try await Self.bind(proxy, claim)
        let status = ReloadStatus()
        let monitor = ProgramMonitor(
            incarnation: incarnation,
            startedAt: startedAt,
            name: settings.replica.name ?? HostName.text,
            driver: settings.store.driver,
            store: StoreProbe(store.opened.store),
            listeners: callers,
            proxy: proxy,
            engine: engine,
            webhook: webhook,
            kills: kills,
            counts: metrics,
            status: status
        )
        let limits = AdminLimits(connections: budget.operators, stopGrace: .seconds(5))
        let admin: AdminServer
        let encryption: CallerTLS?
        do throws(CommandFailure) {
            encryption = try CallerTLS(settings.admin)
            admin = try await Self.listen(
                settings.admin,
                stateDirectory: settings.stateDirectory,
                claim,
                encryption,
                engine: engine,
                kills: kills,
                audit: audit,
                monitor: monitor,
                limits: limits,
                logger: logger
            )
        } catch {
            _ = await proxy.shutDown(grace: .zero)
            throw error
        }
        let metricsServer: AdminServer?
        do throws(CommandFailure) {
            metricsServer = try await Self.listen(
                settings.metrics,
                claim,
                engine: engine,
                kills: kills,
                monitor: monitor,
                limits: limits,
                logger: logger
            )
        } catch {
            // A listener must be shut down in order.
            admin.stop()
            try? await admin.run()
            _ = await proxy.shutDown(grace: .zero)
            throw error
        }
        do throws(CommandFailure) {
            // After everything that can fail, so that no replica record is left behind by a failed start. Before any
            // request is served, so that kills apply from the first request on.
            try await Self.start(
                kills,
                acceptsOlderStore: acceptsOlderStore,
                isDurable: settings.store.isDurable,
                audit: audit
            )
        } catch {
            admin.stop()
            try? await admin.run()
            metricsServer?.stop()
            try? await metricsServer?.run()
            _ = await proxy.shutDown(grace: .zero)
            throw error
        }
        // Last, because from now on the link leads commands to this process.
        let socket = await Self.openSocket(settings.admin, of: admin, logger: logger)
        budget.report(
            wanted: settings.limits.connections,
            isNamed: settings.limits.namesConnections,
            to: logger
        )
        return RunningGateway(
            callers: zip(callers, settings.listeners).map { address, listener in
                address.hasPrefix("unix:") ? address : "\(listener.tls == nil ? "http" : "https")://\(address)"
            },
            proxy: proxy,
            engine: engine,
            kills: kills,
            audit: audit,
            providers: current,
            webhook: webhook,
            admin: admin,
            adminEncryption: encryption,
            adminSocket: socket,
            metrics: metricsServer,
            keeper: keeper,
            counts: metrics,
            incarnations: incarnations,
            room: room,
            status: status,
            closeStore: store.close,
            grace: settings.shutdownGrace,
            logger: logger
        )
    }

    /// A store and the function that closes it.
    private struct Store {
        let opened: OpenedStore
        let close: @Sendable () async -> Void
    }

    private static func openStore(
        _ settings: GatewaySettings,
        _ metrics: ProgramMetrics,
        logger: Logger
    ) async throws(CommandFailure) -> Store {
        switch settings.store {
        case .memory:
            logger.warning("the memory store keeps no token past the end of this process")
            do throws(StoreError) {
                let keys = GivenKeyRing(KeyRing(current: .random()), name: "this process")
                let opened = try await OpenedStore.open(metrics.timing(MemoryTokenStore()), keys: keys)
                return Store(opened: opened, close: {})
            } catch {
                throw CommandFailure(error, store: "in memory")
            }
        case .sqlite(let path, let sealingKeyFile):
            do throws(StoreError) {
                let keys = KeyRingFile(
                    path: sealingKeyFile,
                    isMadeWhenMissing: true,
                    stateDirectory: settings.stateDirectory
                )
                let store = try await SQLiteTokenStore.open(at: path)
                let opened = try await OpenedStore.open(metrics.timing(store), keys: keys)
                return Store(opened: opened, close: { await store.close() })
            } catch {
                throw CommandFailure(error, store: path)
            }
        }
    }

    /// Records the takeover before this process shares a port with the older gateway.
    private static func announceTakeover(in audit: AuditTrail) async throws(CommandFailure) -> AuditTicket {
        do throws(AuditError) {
            return try await audit.begin(.takeover, by: .gateway("serve --takeover"))
        } catch {
            throw CommandFailure(.unavailable, error.message)
        }
    }

    private static func bind(_ proxy: ProxyServer, _ claim: PortClaim) async throws(CommandFailure) -> [String] {
        do throws(ProxyError) {
            return try await proxy.bind(claim).map(\.description)
        } catch {
            throw CommandFailure(error)
        }
    }

    private static func listen(
        _ settings: AdminSettings,
        stateDirectory: String,
        _ claim: PortClaim,
        _ encryption: CallerTLS?,
        engine: RefreshEngine,
        kills: KillSwitch,
        audit: AuditTrail,
        monitor: ProgramMonitor,
        limits: AdminLimits,
        logger: Logger
    ) async throws(CommandFailure) -> AdminServer {
        let tokens: AdminTokens
        do throws(AdminTokenError) {
            tokens = try AdminTokenFile(path: settings.tokenFile, stateDirectory: stateDirectory).open()
        } catch {
            throw CommandFailure(error)
        }
        do throws(AdminServerError) {
            return try await AdminServer.listen(
                on: AdminAddress(host: settings.address.host.text, port: settings.address.port),
                engine: engine,
                kills: kills,
                audit: audit,
                monitor: monitor,
                tokens: tokens,
                claim: claim,
                encrypt: encryption.map { tls in { @Sendable channel in try tls.encrypt(channel) } },
                limits: limits,
                logger: logger
            )
        } catch {
            throw CommandFailure(error)
        }
    }

    private static func listen(
        _ settings: MetricsSettings?,
        _ claim: PortClaim,
        engine: RefreshEngine,
        kills: KillSwitch,
        monitor: ProgramMonitor,
        limits: AdminLimits,
        logger: Logger
    ) async throws(CommandFailure) -> AdminServer? {
        guard let settings else { return nil }
        do throws(AdminServerError) {
            return try await AdminServer.listenForMetrics(
                on: AdminAddress(host: settings.address.host.text, port: settings.address.port),
                engine: engine,
                kills: kills,
                monitor: monitor,
                claim: claim,
                limits: limits,
                logger: logger
            )
        } catch {
            throw CommandFailure(error)
        }
    }
}

extension StoreSettings {
    /// The driver's name in the configuration.
    fileprivate var driver: String {
        switch self {
        case .memory: "memory"
        case .sqlite: "sqlite"
        }
    }

    /// Whether the store keeps its data after the process ends.
    var isDurable: Bool {
        switch self {
        case .memory: false
        case .sqlite: true
        }
    }
}
