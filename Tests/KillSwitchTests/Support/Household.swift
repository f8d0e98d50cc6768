import KillSwitch
import OAuth
import ProviderClient
import Synchronization
import TestKit
import Testing
import TokenModel
import TokenStorage

/// One store and one clock, and the replicas that share them.
struct Household: Sendable {
    let clock = ManualClock()
    let records: SealedRecords
    let vault: AccountVault
    let provider = RevokingEndpoint()
    let log = HeardLog()
    let store = FaultyTokenStore()

    init() {
        self.records = SealedRecords(store: self.store, keyRing: KeyRing(current: .random()), storeID: .random())
        self.vault = AccountVault(self.records)
    }

    /// A replica that is not started yet.
    ///
    /// - Parameter records: as it opens and seals them, if otherwise than the others.
    func replica(
        _ name: String,
        records: SealedRecords? = nil,
        lease: Duration = .seconds(10),
        witness: (any IncarnationWitness)? = nil,
        copy: KeptLog? = nil
    ) -> Replica {
        let clock = self.clock
        let provider = self.provider
        let fence = HeardFence()
        let kills = KillSwitch(
            records ?? self.records,
            incarnation: .random(),
            name: name,
            lease: lease,
            host: PartialHostState(witness: witness, copy: copy),
            timepiece: Timepiece(ages: clock, wall: { clock.wall }),
            logger: self.log.logger,
            fence: fence,
            endpoint: { $0.provider == provider.id && provider.isConfigured ? provider : nil }
        )
        return Replica(kills: kills, fence: fence)
    }

    /// Runs replicas for as long as `body` does; time passes by itself, as fast as they sleep.
    ///
    /// - Parameter acceptsOlderStore: as they are started.
    func run(
        _ replicas: [Replica],
        acceptsOlderStore: Bool = false,
        _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        for replica in replicas { try await replica.kills.start(acceptsOlderStore: acceptsOlderStore) }
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
                try await self.clock.advance(bySleepersWithin: .seconds(120), until: "the test to end") {
                    end.hasCome
                }
                // Whoever still sleeps is woken by the end of its task.
            }
            try await tasks.waitForAll()
        }
    }

    /// The same, but time passes only by what `body` does.
    func runByHand(_ replicas: [Replica], _ body: () async throws -> Void) async throws {
        for replica in replicas { try await replica.kills.start() }
        try await withThrowingDiscardingTaskGroup { tasks in
            for replica in replicas { tasks.addTask { await replica.kills.run() } }
            defer { for replica in replicas { replica.kills.stop() } }
            try await body()
        }
    }

    /// Lets time pass, from one sleeper to the next that is to wake within a second, until what stands at `key` has been
    /// read again.
    func passTime(untilRead key: RecordKey) async throws {
        let (clock, store, before) = (self.clock, self.store, self.store.count(of: .read, at: key))
        try await clock.advance(bySleepersWithin: .seconds(1), until: "\(key) to be read") {
            store.count(of: .read, at: key) > before
        }
    }

    /// Puts tokens of an account there.
    func put(
        _ account: String,
        observedEpoch: UInt64 = 0,
        provider: String = "acme",
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
                clientID: "my-app"
            ),
            claim: claim,
            formerProviders: formerProviders
        )
        _ = try await self.vault.write(record, for: AccountID(account), expecting: nil)
    }
}

private final class End: Sendable {
    private let flag = Mutex(false)
    var hasCome: Bool { self.flag.withLock { $0 } }
    func come() { self.flag.withLock { $0 = true } }
}

/// Takes every other incarnation for dead.
struct Gravedigger: IncarnationWitness {
    func isDead(_ incarnation: IncarnationID) async -> Bool { true }
}

struct Replica: Sendable {
    let kills: KillSwitch
    let fence: HeardFence
}

/// What a replica was told to fence.
final class HeardFence: KillFence {
    private struct State {
        var fenced: [Epoch] = []
        var all: [KillEpochs] = []
        var replaced: [AccountID] = []
        var until: [BootInstant] = []
        var isStuck = false
        var stuck: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// All that it has gone by, in order.
    var all: [KillEpochs] { self.state.withLock { $0.all } }
    var fenced: [Epoch] { self.state.withLock { $0.fenced } }
    /// What it goes by.
    var epochs: KillEpochs { self.state.withLock { $0.all.last ?? KillEpochs() } }
    var replaced: [AccountID] { self.state.withLock { $0.replaced } }
    /// Until when tokens may be put into requests.
    var until: BootInstant { self.untils.last ?? .distantPast }
    /// All that it was told of that, in order.
    var untils: [BootInstant] { self.state.withLock { $0.until } }
    /// Somebody waits for a fence that is stuck.
    var isWaitedFor: Bool { self.state.withLock { !$0.stuck.isEmpty } }

    /// Fencing does not end until ``release()``.
    func stick() { self.state.withLock { $0.isStuck = true } }

    func release() {
        let stuck = self.state.withLock { state in
            defer { state.stuck = [] }
            state.isStuck = false
            return state.stuck
        }
        for one in stuck { one.resume() }
    }

    func fence(_ epochs: KillEpochs) async -> Int {
        await withCheckedContinuation { continuation in
            let isStuck = self.state.withLock { state in
                if state.isStuck { state.stuck.append(continuation) }
                return state.isStuck
            }
            if !isStuck { continuation.resume() }
        }
        self.state.withLock { state in
            state.fenced.append(epochs.last)
            state.all.append(epochs)
        }
        return 0
    }

    func replaced(_ account: AccountID) async { self.state.withLock { $0.replaced.append(account) } }
    func setLeaseDeadline(_ instant: BootInstant) { self.state.withLock { $0.until.append(instant) } }
}

/// A provider that revokes, or does what a test tells it to.
final class RevokingEndpoint: TokenEndpoint {
    private struct State {
        var verdict = RevocationVerdict.revoked
        var isConfigured = true
        var isHeld = false
        var held: [CheckedContinuation<Void, Never>] = []
        var revoked: [String] = []
    }

    let id = ProviderID("acme")
    let binding = EndpointBinding(issuer: .tokenEndpoint("https://login.example/token"), clientID: "my-app")
    let timeout = Duration.seconds(8)
    private let state = Mutex(State())

    /// Tokens as they arrived.
    var asked: [String] { self.state.withLock { $0.revoked } }

    func answer(_ verdict: RevocationVerdict) { self.state.withLock { $0.verdict = verdict } }

    /// It answers nobody until ``release()``.
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

    /// The configuration has it no more.
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
