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
    let store = WilfulTokenStore()

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
        witness: (any BootWitness)? = nil,
        copy: KeptLog? = nil
    ) -> Replica {
        let clock = self.clock
        let provider = self.provider
        let fence = HeardFence()
        let kills = KillSwitch(
            records ?? self.records,
            boot: .random(),
            name: name,
            lease: lease,
            witness: witness,
            copy: copy,
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

    /// Puts tokens of an account there.
    func put(
        _ account: String,
        stamp: UInt64 = 0,
        provider: String = "acme",
        claim: AccountRecord.Claim? = nil
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
            stamp: Epoch(stamp),
            binding: AccountRecord.Binding(
                provider: ProviderID(provider),
                tokenEndpointOrigin: "https://login.example",
                clientID: "my-app"
            ),
            claim: claim
        )
        _ = try await self.vault.write(record, for: AccountID(account), expecting: nil)
    }
}

private final class End: Sendable {
    private let flag = Mutex(false)
    var hasCome: Bool { self.flag.withLock { $0 } }
    func come() { self.flag.withLock { $0 = true } }
}

/// Takes every other boot for dead.
struct Gravedigger: BootWitness {
    func isDead(_ boot: BootID) async -> Bool { true }
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
        var until = BootInstant.distantPast
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
    var until: BootInstant { self.state.withLock { $0.until } }

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
    func inject(until instant: BootInstant) { self.state.withLock { $0.until = instant } }
}

/// A provider that revokes, or does what a test tells it to.
final class RevokingEndpoint: TokenEndpoint {
    private struct State {
        var verdict = RevocationVerdict.revoked
        var isConfigured = true
        var revoked: [String] = []
    }

    let id = ProviderID("acme")
    let binding = EndpointBinding(tokenEndpointOrigin: "https://login.example", clientID: "my-app")
    let timeout = Duration.seconds(8)
    private let state = Mutex(State())

    /// Tokens as they arrived.
    var asked: [String] { self.state.withLock { $0.revoked } }

    func answer(_ verdict: RevocationVerdict) { self.state.withLock { $0.verdict = verdict } }

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
        return self.state.withLock { state in
            state.revoked.append(text)
            return state.verdict
        }
    }
}

/// A memory store that a test can take away, or make read-only.
final class WilfulTokenStore: TokenStore {
    enum Mood: Sendable { case good, away, readOnly }

    private let store = MemoryTokenStore()
    private struct State {
        var mood = Mood.good
        var hangs = false
        var waiting: [CheckedContinuation<Void, Never>] = []
        var mute: RecordKey?
        var spoiled: RecordKey?
        var losesAnswer = false
        var losesAnswerAt: RecordKey?
        var losesWriteAt: RecordKey?
        var beforeWrite: (key: RecordKey, body: @Sendable () async -> Void)?
        var afterWrite: (key: RecordKey, body: @Sendable () async -> Void)?
    }

    private let state = Mutex(State())

    func become(_ mood: Mood) { self.state.withLock { $0.mood = mood } }

    /// Reads don't end until ``answer()``.
    func hang() { self.state.withLock { $0.hangs = true } }

    func answer() {
        let waiting = self.state.withLock { state in
            defer { state.waiting = [] }
            state.hangs = false
            return state.waiting
        }
        for one in waiting { one.resume() }
    }

    /// Erases what stands there, as a store that was put back from a backup.
    func lose(_ key: RecordKey) async throws {
        guard let stored = try await self.store.read(key) else { return }
        try await self.store.remove(key, expecting: stored.version)
    }

    /// Calls `body` once, before something is written there next.
    func beforeWrite(at key: RecordKey, _ body: @escaping @Sendable () async -> Void) {
        self.state.withLock { $0.beforeWrite = (key, body) }
    }

    /// Calls `body` once, when the next write there stands, and before its writer hears of that.
    func afterWrite(at key: RecordKey, _ body: @escaping @Sendable () async -> Void) {
        self.state.withLock { $0.afterWrite = (key, body) }
    }

    /// From now on nobody writes there.
    func refuseWrites(at key: RecordKey) { self.state.withLock { $0.mute = key } }

    /// Flips a bit of what is read there.
    func spoil(_ key: RecordKey) { self.state.withLock { $0.spoiled = key } }

    /// The next write stands, and looks as if it might not.
    func loseNextAnswer() { self.state.withLock { $0.losesAnswer = true } }

    /// The same, of the next write there.
    func loseNextAnswer(at key: RecordKey) { self.state.withLock { $0.losesAnswerAt = key } }

    /// The next write there is acknowledged, and lost.
    func loseNextWrite(at key: RecordKey) { self.state.withLock { $0.losesWriteAt = key } }

    func read(_ key: RecordKey) async throws(StoreError) -> StoredRecord? {
        await withCheckedContinuation { continuation in
            let hangs = self.state.withLock { state in
                if state.hangs { state.waiting.append(continuation) }
                return state.hangs
            }
            if !hangs { continuation.resume() }
        }
        try self.check(writes: false)
        let isSpoiled = self.state.withLock { $0.spoiled == key }
        guard let stored = try await self.store.read(key), isSpoiled else { return try await self.store.read(key) }
        var bytes = stored.value.bytes
        bytes[bytes.count / 2] ^= 1
        return StoredRecord(version: stored.version, value: SealedBytes(bytes: bytes))
    }

    func write(
        _ value: SealedBytes,
        at key: RecordKey,
        as version: Version,
        expecting: Version?
    ) async throws(StoreError) {
        try self.check(writes: true)
        if self.state.withLock({ $0.mute == key }) { throw StoreError(.unwritable, "nobody writes here") }
        let before = self.state.withLock { state in
            state.beforeWrite?.key == key ? state.beforeWrite.take()?.body : nil
        }
        await before?()
        let isLostWrite = self.state.withLock { state in
            defer { if state.losesWriteAt == key { state.losesWriteAt = nil } }
            return state.losesWriteAt == key
        }
        guard !isLostWrite else { return }
        try await self.store.write(value, at: key, as: version, expecting: expecting)
        let after = self.state.withLock { state in
            state.afterWrite?.key == key ? state.afterWrite.take()?.body : nil
        }
        await after?()
        let isLost = self.state.withLock { state in
            let isLostHere = state.losesAnswerAt == key
            if isLostHere { state.losesAnswerAt = nil }
            defer { state.losesAnswer = false }
            return state.losesAnswer || isLostHere
        }
        if isLost { throw StoreError(.unreachable, "the answer was lost") }
    }

    func remove(_ key: RecordKey, expecting: Version) async throws(StoreError) {
        try self.check(writes: true)
        try await self.store.remove(key, expecting: expecting)
    }

    func keys(under prefix: RecordKey.Prefix, after: RecordKey?, limit: Int) async throws(StoreError) -> [RecordKey] {
        try self.check(writes: false)
        return try await self.store.keys(under: prefix, after: after, limit: limit)
    }

    func changes() -> AsyncStream<RecordKey> { self.store.changes() }

    private func check(writes: Bool) throws(StoreError) {
        switch self.state.withLock({ $0.mood }) {
        case .good: return
        case .readOnly where !writes: return
        case .readOnly: throw StoreError(.unwritable, "the store is read-only")
        case .away: throw StoreError(.unreachable, "the store was taken away")
        }
    }
}
