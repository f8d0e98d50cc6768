internal import AdminAPI
internal import Approvals
internal import Audit
internal import KillSwitch
internal import Logging
internal import ProviderClient
internal import Proxy
internal import Settings
internal import SignIn
internal import Telemetry
internal import TokenModel
internal import TokenRefresh
internal import TokenStorage

/// Opens the store of a gateway and builds all that works on it, in two steps: ``begin(_:keys:)`` finds out whether the store
/// can be used, and ``finish(_:takingOver:overridesLock:)`` joins the replicas.
struct GatewayOpening: Sendable {
    let front: GatewayFront
    let driver: DriverStore
    let store: OpenedStore
    let storeWatch: StoreWatch
    let timepiece: Timepiece
    let place: StorePlace?
    /// The record that stands for this process until it has joined.
    let arrival: ReplicaID?
    let host: DirectoryHostState
    let incarnation: IncarnationID
    let incarnations: IncarnationKeeper
    let audit: AuditTrail
    let keeper: EndpointKeeper
    let providers: CurrentProviders
    private let cleanup: CleanupStack

    /// Opens the store and takes over what ended incarnations left behind.
    ///
    /// - Throws: whatever keeps the store from being used. Then nothing stays open.
    static func begin(
        _ front: GatewayFront,
        keys: any KeyRingSource
    ) async throws(StartError) -> GatewayOpening {
        var cleanup = CleanupStack()
        do throws(StartError) {
            return try await GatewayOpening(front, keys, &cleanup)
        } catch {
            await cleanup.unwind()
            throw error
        }
    }

    private init(
        _ front: GatewayFront,
        _ keys: any KeyRingSource,
        _ cleanup: inout CleanupStack
    ) async throws(StartError) {
        let settings = front.settings
        let keeper = EndpointKeeper()
        self.front = front
        self.keeper = keeper
        self.incarnation = .random()
        (self.driver, self.store, self.storeWatch, self.timepiece, self.place, self.arrival) =
            try await Self.openStore(front, keys, self.incarnation, &cleanup)
        let host = DirectoryHostState(
            settings.stateDirectory,
            of: self.store,
            isDurable: settings.store.isDurable
        )
        self.host = host
        try await Self.checkKillLog(of: self.store, host, front)
        self.audit = AuditTrail(
            self.store.records,
            incarnation: self.incarnation,
            replica: front.name,
            timepiece: self.timepiece,
            logger: front.logger
        )
        self.incarnations = IncarnationKeeper(host, logger: front.logger)
        cleanup.push { await host.close() }
        await self.incarnations.begin(self.incarnation, settings, self.store)
        cleanup.push { await keeper.shutDown() }
        self.providers = CurrentProviders(
            try ProviderRegistry(settings, keeper: keeper, logger: front.logger)
        )
        self.cleanup = cleanup
    }

    /// Releases what ``begin(_:keys:)`` has acquired, where ``finish(_:takingOver:overridesLock:)`` is not called or has failed.
    func abandon() async {
        var cleanup = self.cleanup
        await cleanup.unwind()
    }

    /// Reads the kill log, joins the replicas and takes the first lease.
    ///
    /// - Parameters:
    ///   - part: what ``makePart()`` has returned.
    ///   - orders: the kills that came while the gateway was locked. They hold when this returns.
    ///   - overridesLock: whether a lock of all replicas, which stands in the log, is overridden.
    /// - Throws: with the cause ``StoreError/Code/locked`` for such a lock.
    func finish(
        _ part: OpenPart,
        takingOver orders: LockedOrders,
        overridesLock: Bool = false
    ) async throws(StartError) -> OpenPart {
        do throws(StartError) {
            do throws(StoreError) { try await part.kills.takeOver(orders) } catch {
                throw StartError(error, store: "of this gateway")
            }
            try await self.startKillSwitch(part.kills, overridesLock: overridesLock)
            // By the kills that are known by now.
            do throws(StoreError) { try await part.engine.indexAccounts() } catch {
                throw StartError(error, store: "of this gateway")
            }
            await part.approvals.start()
        } catch {
            part.release()
            // A record of this replica may land all the same. Then its end must stay provable.
            await self.host.close(leavesNothing: false)
            throw error
        }
        return part
    }

    /// The lock of all replicas that stands in the log.
    func standingLock() async throws(StoreError) -> KillEntry? { try await KillSwitch.standingLock(self.store.records) }

    /// Builds what works on the store. It serves nobody before it has a lease.
    func makePart() -> OpenPart {
        let (front, providers, proxy) = (self.front, self.providers, self.front.proxy)
        let (metrics, webhook) = (front.metrics, front.webhook)
        let settings = front.settings
        let fence = ProcessFence()
        let kills = KillSwitch(
            self.store.records,
            incarnation: self.incarnation,
            name: front.name,
            lease: settings.replica.lease,
            host: self.host,
            place: self.place,
            move: self.driver.migration,
            timepiece: self.timepiece,
            logger: front.logger,
            fence: fence,
            target: { providers.current.revocation(of: $0) }
        )
        let engine = RefreshEngine(
            plans: providers.current.plans(settings.accounts, counting: metrics.refreshes),
            families: providers.current.families(settings.families, counting: metrics.refreshes),
            vault: self.store.accounts,
            kills: kills,
            incarnation: self.incarnation,
            host: self.host,
            limits: RefreshLimits(waiters: settings.limits.waiters),
            timepiece: self.timepiece,
            logger: front.logger,
            endpoint: { providers.current.endpoint(of: $0) },
            onEvent: { event in
                metrics.events.add(event.kind.rawValue)
                webhook.post(event)
            },
            onCredential: { proxy.apply($0) }
        )
        let redirectURI = settings.login?.redirectURI.text
        let signIns = SignInService(
            self.store.records,
            engine: engine,
            audit: self.audit,
            timepiece: self.timepiece,
            logger: front.logger,
            configuration: { providers.current.signIns(gatewayRedirectURI: redirectURI) }
        )
        let approvals = ApprovalService(
            self.store.records,
            policy: settings.requireApproval.map { ApprovalPolicy($0) },
            kills: { kills.epochs },
            provider: { front.provider(of: $0) },
            timepiece: self.timepiece,
            logger: front.logger,
            onChange: { proxy.apply(.approved($0, until: $1)) },
            onWaiting: { account in
                guard let provider = front.provider(of: account) else { return }
                let kind = RefreshEvent.Kind.approvalRequired
                let event = RefreshEvent(
                    kind,
                    provider: provider,
                    account: account,
                    reason: kind.rawValue,
                    at: Timepiece.system.now.wall
                )
                engine.tell([event])
            }
        )
        fence.connect(to: engine, proxy, approvals)
        return OpenPart(
            OpenPart.Members(
                incarnation: self.incarnation,
                driver: self.driver,
                probe: StoreProbe(self.store.store),
                storeWatch: self.storeWatch,
                incarnations: self.incarnations,
                audit: self.audit,
                keeper: self.keeper,
                providers: providers,
                kills: kills,
                fence: fence,
                engine: engine,
                signIns: signIns,
                approvals: approvals,
                gateway: OpenGateway(
                    engine: engine,
                    kills: kills,
                    signIns: signIns,
                    audit: self.audit,
                    caches: ProxyCaches(proxy: proxy),
                    approvals: ApprovalDesk(approvals, front: front)
                )
            ),
            logger: front.logger
        )
    }
}
