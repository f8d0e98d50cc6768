import Synchronization
import TokenModel
import TokenStorage

/// A memory store that a test can take away, or make read-only.
final class WilfulTokenStore: TokenStore {
    enum Mood: Sendable { case good, away, readOnly }

    private let store = MemoryTokenStore()
    private struct State {
        var mood = Mood.good
        var hanging: RecordKey.Prefix?
        var reads: [RecordKey: Int] = [:]
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
    func hang(_ prefix: RecordKey.Prefix = .all) { self.state.withLock { $0.hanging = prefix } }

    /// Somebody waits for a read that hangs.
    var isWaitedFor: Bool { self.state.withLock { !$0.waiting.isEmpty } }

    /// How often something was read there.
    func reads(of key: RecordKey) -> Int { self.state.withLock { $0.reads[key] ?? 0 } }

    func answer() {
        let waiting = self.state.withLock { state in
            defer { state.waiting = [] }
            state.hanging = nil
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
        self.state.withLock { $0.reads[key, default: 0] += 1 }
        await self.hangIfTold { $0.contains(key) }
        try self.check(writes: false)
        return try await self.store.read(key).map { self.spoiled($0, at: key) }
    }

    private func hangIfTold(_ isConcerned: (RecordKey.Prefix) -> Bool) async {
        await withCheckedContinuation { continuation in
            let hangs = self.state.withLock { state in
                let hangs = state.hanging.map(isConcerned) ?? false
                if hangs { state.waiting.append(continuation) }
                return hangs
            }
            if !hangs { continuation.resume() }
        }
    }

    private func spoiled(_ stored: StoredRecord, at key: RecordKey) -> StoredRecord {
        guard self.state.withLock({ $0.spoiled == key }) else { return stored }
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

    var guarantees: StoreGuarantees { StoreGuarantees(reach: .process) }

    func records(
        under prefix: RecordKey.Prefix,
        after: RecordKey?,
        limit: Int
    ) async throws(StoreError) -> [KeyedRecord] {
        await self.hangIfTold { $0 == .all || $0 == prefix }
        try self.check(writes: false)
        return try await self.store.records(under: prefix, after: after, limit: limit).map { record in
            KeyedRecord(key: record.key, stored: self.spoiled(record.stored, at: record.key))
        }
    }

    func changes() -> AsyncStream<RecordChange> { self.store.changes() }

    private func check(writes: Bool) throws(StoreError) {
        switch self.state.withLock({ $0.mood }) {
        case .good: return
        case .readOnly where !writes: return
        case .readOnly: throw StoreError(.unwritable, "the store is read-only")
        case .away: throw StoreError(.unreachable, "the store was taken away")
        }
    }
}
