import KillSwitch
import OAuth
import ProviderClient
import Simulation
import Synchronization
import TestKit
import Testing
import TokenModel
import TokenStorage

/// One store, shared by several replicas, in simulated time.
struct ReplicaGroup: Sendable {
    let clock = Simulation.running
    let records: SealedRecords
    let vault: AccountVault
    let provider = RevokingEndpoint()
    let log = RecordingLog()
    let store = FaultyTokenStore()

    init() {
        self.records = SealedRecords(store: self.store, keyRing: KeyRing(current: .random()), storeID: .random())
        self.vault = AccountVault(self.records)
    }

    /// Creates a replica without starting it.
    ///
    /// - Parameter records: the replica's own sealed records, if it uses other keys than the others.
    func replica(
        _ name: String,
        records: SealedRecords? = nil,
        lease: Duration = .seconds(10),
        witness: (any IncarnationWitness)? = nil,
        copy: KillLogFile? = nil,
        place: StorePlace? = nil,
        move: MigratingTokenStore? = nil
    ) -> Replica {
        let provider = self.provider
        let fence = RecordingFence()
        let kills = KillSwitch(
            records ?? self.records,
            incarnation: .random(),
            name: name,
            lease: lease,
            host: PartialHostState(witness: witness, copy: copy),
            place: place,
            move: move,
            timepiece: self.clock.timepiece,
            logger: self.log.logger,
            fence: fence,
            target: { binding in
                guard binding.provider == provider.id, binding.clientID == provider.binding.clientID,
                    provider.isConfigured
                else { return nil }
                return RevocationTarget(endpoint: provider, rate: provider.rate)
            }
        )
        return Replica(kills: kills, fence: fence)
    }

    /// Runs replicas while `body` runs.
    ///
    /// - Parameters:
    ///   - acceptsOlderStore: passed to the start of each replica.
    ///   - overridesLock: likewise.
    func run(
        _ replicas: [Replica],
        acceptsOlderStore: Bool = false,
        overridesLock: Bool = false,
        _ body: () async throws -> Void
    ) async throws {
        for replica in replicas {
            try await replica.kills.start(acceptsOlderStore: acceptsOlderStore, overridesLock: overridesLock)
        }
        try await withThrowingDiscardingTaskGroup { tasks in
            for replica in replicas { tasks.addTask { await replica.kills.run() } }
            defer { for replica in replicas { replica.kills.stop() } }
            try await body()
        }
    }

    /// Stores a record with tokens for an account.
    func put(
        _ account: String,
        observedEpoch: UInt64 = 0,
        provider: String = "acme",
        client: String = "my-app",
        claim: AccountRecord.Claim? = nil,
        formerProviders: [ProviderID] = []
    ) async throws {
        let record = AccountRecord(
            grant: .random(),
            generation: Generation(1),
            tokens: TokenSet(
                accessToken: Secret("at-\(account)"),
                refreshToken: Secret("rt-\(account)"),
                receivedAt: self.clock.wall,
                lifetime: .seconds(3_600)
            ),
            observedEpoch: Epoch(observedEpoch),
            binding: AccountRecord.Binding(
                provider: ProviderID(provider),
                issuer: .tokenEndpoint("https://login.example/token"),
                clientID: client
            ),
            claim: claim,
            formerProviders: formerProviders
        )
        _ = try await self.vault.write(record, for: AccountID(account), expecting: nil)
    }
}

/// Reports every incarnation as dead.
struct AllDeadWitness: IncarnationWitness {
    func isDead(_ incarnation: IncarnationID) async -> Bool { true }
}

struct Replica: Sendable {
    let kills: KillSwitch
    let fence: RecordingFence

    @discardableResult
    func kill(_ scope: KillScope, wait: Duration = .seconds(1)) async throws -> KillReport {
        try await self.kills.kill(scope, reason: "drill", streams: .abort, wait: wait)
    }
}

/// Records the calls that a replica makes to its fence.
final class RecordingFence: KillFence {
    enum Call { case fence, lock, replaced }

    private struct State {
        var fenced: [Epoch] = []
        var all: [KillEpochs] = []
        var locks: [KillID] = []
        var replaced: [AccountID] = []
        var until: [BootInstant] = []
        /// The call that is stuck.
        var obstacle: Call?
        var stuck: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// All epochs that the replica has applied, in order.
    var all: [KillEpochs] { self.state.withLock { $0.all } }
    var fenced: [Epoch] { self.state.withLock { $0.fenced } }
    /// The epochs that the replica applies now.
    var epochs: KillEpochs { self.state.withLock { $0.all.last ?? KillEpochs() } }
    /// The locks that the replica has acted on, in order.
    var locks: [KillID] { self.state.withLock { $0.locks } }
    var replaced: [AccountID] { self.state.withLock { $0.replaced } }
    /// Until when tokens may be put into requests.
    var until: BootInstant { self.untils.last ?? .distantPast }
    /// All lease deadlines that were set, in order.
    var untils: [BootInstant] { self.state.withLock { $0.until } }
    /// Whether a caller waits for a fence that is stuck.
    var isWaitedFor: Bool { self.state.withLock { !$0.stuck.isEmpty } }

    /// Blocks fencing, or locking, until ``release()``.
    func stick(at call: Call = .fence) { self.state.withLock { $0.obstacle = call } }

    func release() {
        let stuck = self.state.withLock { state in
            defer { state.stuck = [] }
            state.obstacle = nil
            return state.stuck
        }
        for one in stuck { one.resume() }
    }

    func fence(_ epochs: KillEpochs) async -> Int {
        await self.pass(.fence)
        self.state.withLock { state in
            state.fenced.append(epochs.last)
            state.all.append(epochs)
        }
        return 0
    }

    func locked(_ entry: KillEntry) async {
        await self.pass(.lock)
        self.state.withLock { $0.locks.append(entry.id) }
    }

    /// Returns when that call is not stuck.
    private func pass(_ call: Call) async {
        await withCheckedContinuation { continuation in
            let isStuck = self.state.withLock { state in
                if state.obstacle == call { state.stuck.append(continuation) }
                return state.obstacle == call
            }
            if !isStuck { continuation.resume() }
        }
    }

    func replaced(_ account: AccountID) async {
        await self.pass(.replaced)
        self.state.withLock { $0.replaced.append(account) }
    }

    func setLeaseDeadline(_ instant: BootInstant) { self.state.withLock { $0.until.append(instant) } }
}

/// A provider that revokes tokens, or returns another verdict that a test sets.
final class RevokingEndpoint: TokenEndpoint {
    private struct State {
        var verdict = RevocationVerdict.revoked
        var isConfigured = true
        var rate = RequestRate()
        var isHeld = false
        var held: [CheckedContinuation<Void, Never>] = []
        var revoked: [String] = []
    }

    let id = ProviderID("acme")
    let binding = EndpointBinding(issuer: .tokenEndpoint("https://login.example/token"), clientID: "my-app")
    let timeout = Duration.seconds(8)
    private let state = Mutex(State())

    /// The tokens in the order in which they arrived.
    var asked: [String] { self.state.withLock { $0.revoked } }

    func answer(_ verdict: RevocationVerdict) { self.state.withLock { $0.verdict = verdict } }

    /// How often a replica may ask.
    var rate: RequestRate { self.state.withLock { $0.rate } }

    func limit(to rate: RequestRate) { self.state.withLock { $0.rate = rate } }

    /// Holds all responses until ``release()``.
    func hold() { self.state.withLock { $0.isHeld = true } }

    func release() {
        let held = self.state.withLock { state in
            defer { state.held = [] }
            state.isHeld = false
            return state.held
        }
        for one in held { one.resume() }
    }

    var isConfigured: Bool { self.state.withLock { $0.isConfigured } }

    /// Removes the provider from the configuration.
    func goAway() { self.state.withLock { $0.isConfigured = false } }

    func redeem(
        _ refreshToken: Secret,
        scopes: [String],
        mayStillSend: @escaping @Sendable () -> Bool
    ) async -> TokenVerdict { .notSent(.sendingTooLate) }

    func mint(scopes: [String], mayStillSend: @escaping @Sendable () -> Bool) async -> TokenVerdict {
        .notSent(.sendingTooLate)
    }

    func revoke(_ token: Secret, kind: RevocableToken) async -> RevocationVerdict {
        let text = token.withUnredacted { span in String(decoding: span.indices.map { span[$0] }, as: UTF8.self) }
        self.state.withLock { $0.revoked.append(text) }
        await withCheckedContinuation { continuation in
            let isHeld = self.state.withLock { state in
                if state.isHeld { state.held.append(continuation) }
                return state.isHeld
            }
            if !isHeld { continuation.resume() }
        }
        return self.state.withLock { $0.verdict }
    }
}
