import KillSwitch
import OAuth
import ProviderClient
import Synchronization
import TestKit
import Testing
import TokenModel
import TokenStorage

/// One store and one clock, shared by several replicas.
struct ReplicaGroup: Sendable {
    let clock = ManualClock()
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
        let clock = self.clock
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
            timepiece: Timepiece(ages: clock, wall: { clock.wall }),
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

    /// Starts a replica while time passes: it may have to wait until it can go over to another store.
    func start(
        _ replica: Replica,
        acceptsOlderStore: Bool = false,
        overridesLock: Bool = false
    ) async throws {
        let end = End()
        try await withThrowingTaskGroup { tasks in
            tasks.addTask {
                defer { end.come() }
                try await replica.kills.start(acceptsOlderStore: acceptsOlderStore, overridesLock: overridesLock)
            }
            tasks.addTask {
                try await self.clock.advance(bySleepersWithin: .seconds(1), until: "the start") { end.hasCome }
            }
            try await tasks.waitForAll()
        }
    }

    /// Runs replicas while `body` runs. Time passes automatically, as fast as the replicas go to sleep.
    ///
    /// - Parameters:
    ///   - acceptsOlderStore: passed to the start of each replica.
    ///   - overridesLock: likewise.
    func run(
        _ replicas: [Replica],
        acceptsOlderStore: Bool = false,
        overridesLock: Bool = false,
        _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        for replica in replicas {
            try await self.start(replica, acceptsOlderStore: acceptsOlderStore, overridesLock: overridesLock)
        }
        let end = End()
        try await withThrowingTaskGroup { tasks in
            for replica in replicas { tasks.addTask { await replica.kills.run() } }
            tasks.addTask {
                defer {
                    for replica in replicas { replica.kills.stop() }
                    end.come()
                }
                try await body()
            }
            tasks.addTask {
                // Minutes of it take some seconds, and many more on a busy machine.
                try await self.clock.advance(
                    bySleepersWithin: .seconds(120),
                    until: "the test to end",
                    limit: .seconds(240)
                ) { end.hasCome }
                // The end of its task wakes each remaining sleeper.
            }
            try await tasks.waitForAll()
        }
    }

    /// Runs replicas while `body` runs. Time passes only when `body` advances the clock.
    func runByHand(_ replicas: [Replica], _ body: () async throws -> Void) async throws {
        for replica in replicas { try await replica.kills.start() }
        try await withThrowingDiscardingTaskGroup { tasks in
            for replica in replicas { tasks.addTask { await replica.kills.run() } }
            defer { for replica in replicas { replica.kills.stop() } }
            try await body()
        }
    }

    /// Advances the clock from sleeper to sleeper whose deadline is within a second, until the record at `key` has
    /// been read again.
    func passTime(untilRead key: RecordKey) async throws {
        let (clock, store, before) = (self.clock, self.store, self.store.count(of: .read, at: key))
        try await clock.advance(bySleepersWithin: .seconds(1), until: "\(key) to be read") {
            store.count(of: .read, at: key) > before
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

extension Duration {
    /// How long a kill may wait where time passes automatically: on a busy machine many seconds of it pass while the
    /// replicas have no turn.
    static let ample = Duration.seconds(3_600)
}

private final class End: Sendable {
    private let flag = Mutex(false)
    var hasCome: Bool { self.flag.withLock { $0 } }
    func come() { self.flag.withLock { $0 = true } }
}

/// Reports every incarnation as dead.
struct AllDeadWitness: IncarnationWitness {
    func isDead(_ incarnation: IncarnationID) async -> Bool { true }
}

struct Replica: Sendable {
    let kills: KillSwitch
    let fence: RecordingFence
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
