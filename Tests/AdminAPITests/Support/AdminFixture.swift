internal import AdminAPI
internal import Audit
internal import KillSwitch
internal import Logging
internal import OAuth
internal import ProviderClient
internal import Synchronization
internal import TestKit
internal import Testing
internal import TokenModel
internal import TokenRefresh
internal import TokenStorage

/// An admin API on a real engine, with a store in memory and a scripted provider.
///
/// Every secret that a test uses contains ``canary``. No response and no log line may contain it.
struct AdminFixture: Sendable {
    static let canary = "canary"
    static let adminToken = "admin-canary-0123456789"

    let server: AdminServer
    let gateway: CurrentGateway
    let engine: RefreshEngine
    let kills: KillSwitch
    let audit: AuditTrail
    let provider: ScriptedTokenEndpoint
    let store: FaultyTokenStore
    let records: SealedRecords
    let vault: AccountVault
    let monitor: ScriptedMonitor
    let caches: ScriptedCaches
    let lock: ScriptedLock
    let approvals: ScriptedApprovals
    let caller: AdminCaller
    let logs: RecordingLog

    /// Runs `body` with an admin API that has the accounts `alice` and `bob` and the family `customer-*` of the provider
    /// `acme`.
    ///
    /// - Parameters:
    ///   - minting: the account whose tokens are minted.
    ///   - mostMembers: how many accounts the family may have.
    ///     - longestWait: how long the engine waits for a refresh.
    ///     - refreshing: the time source of the refresh engine.
    static func run(
        tokens: AdminTokens? = AdminTokens([Secret(adminToken)]),
        limits: AdminLimits = AdminLimits(refusalDelay: .milliseconds(1), firstHeadTime: .seconds(60)),
        clock: any Clock<Duration> = ContinuousClock(),
        minting: String? = nil,
        mostMembers: Int = 1_000,
        longestWait: Duration = .seconds(15),
        timepiece: Timepiece = .system,
        refreshing: Timepiece = .system,
        _ body: @Sendable (AdminFixture) async throws -> Void
    ) async throws {
        let fixture = try await Self.start(
            try #require(tokens),
            limits,
            clock,
            minting: minting,
            mostMembers: mostMembers,
            longestWait: longestWait,
            timepiece: timepiece,
            refreshing: refreshing
        )
        try await withThrowingTaskGroup(of: Void.self) { services in
            services.addTask { await fixture.engine.run() }
            services.addTask { await fixture.kills.run() }
            services.addTask { await fixture.audit.run() }
            services.addTask { await fixture.gateway.open?.recordKeptKills() }
            services.addTask { try await fixture.server.run() }
            // All services stop even if `body` throws. Otherwise a failed test would wait for them forever.
            let outcome = await Result { try await body(fixture) }
            fixture.provider.release()
            fixture.server.stop()
            fixture.engine.stop()
            fixture.kills.stop()
            fixture.audit.stop()
            try await fixture.caller.close()
            try await services.waitForAll()
            try outcome.get()
        }
        #expect(!fixture.caller.received.contains(Self.canary))
        #expect(!fixture.logs.text.contains(Self.canary))
    }

    /// Takes away what operators act on, as a lock does.
    func close(_ status: LockStatus = LockStatus(.locked)) {
        self.lock.set(status)
        self.gateway.replace(with: nil)
    }

    /// Runs `body` with the URL of an admin API, and returns that URL after the server has stopped.
    static func address(_ body: @Sendable (String) async throws -> Void) async throws -> String {
        let base = Mutex("")
        try await Self.run { admin in
            base.withLock { $0 = admin.caller.base }
            try await body(admin.caller.base)
        }
        return base.withLock { $0 }
    }

    private static func start(
        _ tokens: AdminTokens,
        _ limits: AdminLimits,
        _ clock: any Clock<Duration>,
        minting: String?,
        mostMembers: Int,
        longestWait: Duration,
        timepiece: Timepiece,
        refreshing: Timepiece
    ) async throws -> AdminFixture {
        let provider = ScriptedTokenEndpoint()
        let store = FaultyTokenStore()
        let records = SealedRecords(store: store, keyRing: KeyRing(current: .random()), storeID: .random())
        let vault = AccountVault(records)
        let logs = RecordingLog()
        let plans = ["alice", "bob"].map { name in
            AccountConfiguration(
                account: AccountID(name),
                provider: ProviderID("acme"),
                grant: name == minting ? .clientCredentials : .refreshToken,
                endpoint: provider,
                scopes: ["read"]
            )
        }
        let family = AccountFamilyConfiguration(
            try #require(AccountFamily(pattern: "customer-*")),
            member: AccountConfiguration(account: AccountID(""), provider: ProviderID("acme"), endpoint: provider),
            max: mostMembers
        )
        let fence = EngineFence()
        let kills = KillSwitch(
            records,
            incarnation: .random(),
            name: "a",
            lease: .seconds(10),
            logger: logs.logger,
            fence: fence,
            target: { _ in RevocationTarget(endpoint: provider) }
        )
        let engine = RefreshEngine(
            plans: plans,
            families: [family],
            vault: vault,
            kills: kills,
            incarnation: .random(),
            limits: RefreshLimits(longestWait: longestWait),
            timepiece: refreshing,
            logger: logs.logger
        ) { _ in }
        fence.connect(to: engine)
        try await kills.start()
        let audit = AuditTrail(records, incarnation: .random(), replica: "a", logger: logs.logger)
        let monitor = ScriptedMonitor()
        let caches = ScriptedCaches()
        let (lock, approvals) = (ScriptedLock(), ScriptedApprovals())
        let gateway = CurrentGateway(
            name: kills.name,
            OpenGateway(engine: engine, kills: kills, audit: audit, caches: caches, approvals: approvals)
        )
        let server = try await AdminServer.listen(
            on: AdminAddress(host: "127.0.0.1", port: 0),
            gateway: gateway,
            lock: lock,
            monitor: monitor,
            tokens: tokens,
            limits: limits,
            clock: clock,
            timepiece: timepiece,
            logger: logs.logger
        )
        return AdminFixture(
            server: server,
            gateway: gateway,
            engine: engine,
            kills: kills,
            audit: audit,
            provider: provider,
            store: store,
            records: records,
            vault: vault,
            monitor: monitor,
            caches: caches,
            lock: lock,
            approvals: approvals,
            caller: AdminCaller(base: "http://\(server.address)", token: Self.adminToken),
            logs: logs
        )
    }
}

/// Applies kills to the engine only, since these tests have no data path.
final class EngineFence: KillFence {
    private let engine = Mutex<RefreshEngine?>(nil)

    func connect(to engine: RefreshEngine) { self.engine.withLock { $0 = engine } }

    func fence(_ epochs: KillEpochs) async -> Int {
        self.engine.withLock { $0 }?.apply(epochs)
        return 0
    }

    func locked(_ entry: KillEntry) async {}
    func replaced(_ account: AccountID) async {}
    func setLeaseDeadline(_ instant: BootInstant) {}
}

/// Returns the values that a test sets.
final class ScriptedMonitor: GatewayMonitor {
    private let current = Mutex(
        GatewayVitals(
            version: "1.2.3",
            replica: GatewayVitals.Replica(
                name: "a",
                incarnation: IncarnationID("b00t"),
                startedAt: WallTime(millisecondsSince1970: 1_763_683_200_123)
            ),
            store: GatewayVitals.Store(driver: "memory", isOpen: true),
            listeners: [GatewayVitals.Listener(address: "127.0.0.1:8080", isBound: true)]
        )
    )

    func change(_ change: (inout GatewayVitals) -> Void) {
        self.current.withLock { change(&$0) }
    }

    private let past = Mutex(GatewayHistory(interval: .seconds(15), samples: []))

    func change(history: GatewayHistory) {
        self.past.withLock { $0 = history }
    }

    func vitals() async -> GatewayVitals { self.current.withLock { $0 } }

    func history() async -> GatewayHistory { self.past.withLock { $0 } }

    func metrics() async -> MetricsText { MetricsText(contentType: "text/plain; version=0.0.4", text: "a 1\n") }
}

/// Has the caches of the routes `acme` and `raw`, and records how they are purged.
final class ScriptedCaches: GatewayCaches {
    struct Purge: Equatable {
        let route: String?
        let account: AccountID?
        let path: String?
    }

    private let recorded = Mutex<[Purge]>([])

    var purges: [Purge] { self.recorded.withLock { $0 } }

    func vitals() async -> [RouteCacheVitals] {
        [("acme", 1), ("raw", 10)].map { route, factor in
            RouteCacheVitals(
                route: route,
                entries: factor * 2,
                bytes: factor * 3,
                maxSize: factor * 4,
                hits: UInt64(factor) * 5,
                misses: UInt64(factor) * 6,
                revalidations: UInt64(factor) * 7,
                evictions: UInt64(factor) * 8
            )
        }
    }

    func purge(route: String?, account: AccountID?, path: String?) async -> PurgedResponses {
        self.recorded.withLock { $0.append(Purge(route: route, account: account, path: path)) }
        return PurgedResponses(entries: 3, bytes: 4_096)
    }
}
