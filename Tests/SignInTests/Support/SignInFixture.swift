import Audit
import KillSwitch
import ProviderClient
import SignIn
import Simulation
import Synchronization
import TestKit
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

let alice = AccountID("alice")
let bob = AccountID("bob")
let acme = ProviderID("acme")

/// One store, one scripted provider and one configuration, shared by the replicas of a test, in simulated time.
struct SignInFixture: Sendable {
    let clock = Simulation.running
    let store = FaultyTokenStore()
    let records: SealedRecords
    let vault: AccountVault
    let provider = ScriptedProvider()
    let configuration: ConfigurationBox
    let log = RecordingLog()

    init() {
        self.records = SealedRecords(store: self.store, keyRing: KeyRing(current: .random()), storeID: .random())
        self.vault = AccountVault(self.records)
        self.configuration = ConfigurationBox(
            SignInConfiguration(
                gatewayRedirectURI: "https://martlet.example/login/callback",
                providers: [acme: SignInConfiguration.Provider(server: self.provider, scopes: ["offline_access"])]
            )
        )
    }

    /// Runs one gateway until `body` has ended.
    ///
    /// - Parameter scopes: those of the accounts `alice` and `bob`.
    static func run(
        scopes: [String] = ["read"],
        _ body: (SignInFixture, Replica) async throws -> Void
    ) async throws {
        let fixture = SignInFixture()
        try await fixture.run(["a"], scopes: scopes) { replicas in try await body(fixture, replicas[0]) }
    }

    /// Runs replicas until `body` has ended.
    func run(
        _ names: [String],
        scopes: [String] = ["read"],
        _ body: ([Replica]) async throws -> Void
    ) async throws {
        let replicas = names.map { self.replica($0, scopes) }
        for replica in replicas { try await replica.kills.start() }
        try await withThrowingDiscardingTaskGroup { tasks in
            for replica in replicas {
                tasks.addTask { await replica.kills.run() }
                tasks.addTask { await replica.engine.run() }
                tasks.addTask { await replica.audit.run() }
                tasks.addTask { await replica.service.run() }
            }
            // A replica that stops must not wait for a store that is away.
            defer { for replica in replicas { replica.stop() } }
            // Each looks for the devices of an earlier process. No test begins before that is done.
            await self.clock.settle()
            try await body(replicas)
        }
        // No test needs a secret in a log.
        for secret in ["rt-", "at-", "id-token", "code-1", "device-code"] {
            #expect(!self.log.text.contains(secret), "the log has \(secret)")
        }
    }

    private func replica(_ name: String, _ scopes: [String]) -> Replica {
        // A connection of its own, so that the store can be taken away from one replica only.
        let store = self.store.connect()
        let records = SealedRecords(store: store, keys: self.records.keys, storeID: self.records.storeID)
        let (provider, configuration, timepiece) = (self.provider, self.configuration, self.clock.timepiece)
        let incarnation = IncarnationID.random()
        let fence = EngineFence()
        let kills = KillSwitch(
            records,
            incarnation: incarnation,
            name: name,
            lease: .seconds(10),
            timepiece: timepiece,
            logger: self.log.logger,
            fence: fence,
            target: { _ in RevocationTarget(endpoint: provider) }
        )
        let engine = RefreshEngine(
            plans: Self.plans([alice, bob], at: provider, scopes),
            vault: AccountVault(records),
            kills: kills,
            incarnation: incarnation,
            timepiece: timepiece,
            logger: self.log.logger,
            random: { 1 },
            endpoint: { _ in provider },
            onCredential: { _ in }
        )
        fence.connect(to: engine)
        let audit = AuditTrail(
            records,
            incarnation: incarnation,
            replica: name,
            timepiece: timepiece,
            logger: self.log.logger
        )
        let service = SignInService(
            records,
            engine: engine,
            audit: audit,
            timepiece: timepiece,
            logger: self.log.logger,
            configuration: { configuration.value }
        )
        return Replica(
            service: service,
            engine: engine,
            kills: kills,
            audit: audit,
            store: store,
            log: self.log
        )
    }

    /// What is configured for accounts that sign in.
    static func plans(
        _ accounts: [AccountID],
        at provider: ScriptedProvider,
        _ scopes: [String] = ["read"]
    ) -> [AccountConfiguration] {
        accounts.map { AccountConfiguration(account: $0, provider: acme, endpoint: provider, scopes: scopes) }
    }

    func record(of account: AccountID = alice) async throws -> AccountRecord? {
        try await self.vault.read(account)?.record
    }

    /// The refresh token that is stored and alive for the account.
    func refreshToken(of account: AccountID = alice) async throws -> String? {
        try await self.record(of: account)?.tokens?.refreshToken?.text
    }

    /// The plaintext of the only sign-in in the store.
    func plaintext() async throws -> Secret {
        let key = try #require(try await self.signInKeys().first)
        return try #require(try await self.records.read(key)?.plaintext)
    }

    func signInKeys() async throws -> [RecordKey] {
        try await self.store.records(under: .signIns, after: nil, limit: 9).map(\.key)
    }
}

/// One process of a gateway.
struct Replica: Sendable {
    let service: SignInService
    let engine: RefreshEngine
    let kills: KillSwitch
    let audit: AuditTrail
    /// The replica's own connection to the store.
    let store: FaultyTokenStore
    fileprivate let log: RecordingLog

    func stop() {
        self.store.recover()
        self.service.stop()
        self.engine.stop()
        self.kills.stop()
        self.audit.stop()
    }

    /// Begins a sign-in whose answer is pasted.
    func begin(
        _ account: AccountID = alice,
        _ way: SignInWay = .paste,
        redirectURI: String? = nil,
        replacesSubject: Bool = false
    ) async throws -> Begun {
        let report = try await self.service.begin(
            account,
            way,
            redirectURI: redirectURI,
            replacesSubject: replacesSubject,
            by: .admin("anne", at: "10.0.0.1")
        )
        return Begun(report: report, request: report.url.map { Query(ofAddress: $0) } ?? Query(ofAddress: ""))
    }

    /// Gives the answer of a sign-in in the way of an operator who pastes it.
    @discardableResult
    func answer(_ begun: Begun, _ answer: Answer = Answer()) async throws -> SignInReport {
        try await self.service.answer(begun.report.id, with: Secret(answer.address(for: begun.request)))
    }

    func report(on begun: Begun) async throws -> SignInReport { try await self.service.report(on: begun.report.id) }

    /// Signs somebody in, whose tokens the provider has.
    @discardableResult
    func signIn(_ account: AccountID = alice, replacesSubject: Bool = false) async throws -> SignInReport {
        try await self.answer(try await self.begin(account, replacesSubject: replacesSubject))
    }

    /// Kills `scope`, without waiting for the other replicas.
    func kill(_ scope: KillScope) async throws {
        _ = try await self.kills.kill(scope, reason: "drill", streams: .abort, wait: .zero)
    }

    /// All audit records, as `login alice by anne` and `login alice: done`.
    func audited() async throws -> [String] {
        try await self.audit.log.items(after: 0, limit: 100).compactMap { item in
            guard case .record(let record) = item else { return nil }
            let what = "\(record.action) \(record.scope?.account ?? "-")"
            return record.outcome.map { "\(what): \($0)" } ?? "\(what) by \(record.name ?? "-")"
        }
    }
}

/// A sign-in that has just begun, and what the browser is to take to the provider.
struct Begun: Sendable {
    let report: SignInReport
    let request: Query
}

/// The configuration that the replicas have, which a test may change.
final class ConfigurationBox: Sendable {
    private let current: Mutex<SignInConfiguration>

    init(_ configuration: SignInConfiguration) { self.current = Mutex(configuration) }

    var value: SignInConfiguration { self.current.withLock { $0 } }

    func set(gateway: String? = nil, _ providers: [ProviderID: SignInConfiguration.Provider]) {
        self.current.withLock { $0 = SignInConfiguration(gatewayRedirectURI: gateway, providers: providers) }
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
