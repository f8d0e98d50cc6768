import Synchronization
import TestKit
import Testing
import TokenModel
import TokenStorage

/// Two stores and the handles of two replicas that move the records of one to the other.
struct MigratingStores {
    let previous: any TokenStore
    let current: any TokenStore
    let keys = GivenKeyRing(KeyRing(current: .random()), name: "the tests")
    let replicas: [MigratingTokenStore]

    init(from previous: any TokenStore, to current: any TokenStore) async throws {
        (self.previous, self.current) = (previous, current)
        _ = try await OpenedStore.open(previous, keys: self.keys)
        var replicas: [MigratingTokenStore] = []
        for _ in 0..<2 {
            replicas.append(MigratingTokenStore(try await StoreMigration(to: current, from: previous, keys: self.keys)))
        }
        self.replicas = replicas
    }

    /// Moves the replicas, as the kill switch does.
    func goOver() async throws {
        try await within("all replicas have left") {
            while !self.replicas.allSatisfy({ $0.leave() }) { await Task.yield() }
        }
        try await self.replicas[0].commit()
        for replica in self.replicas { #expect(try await replica.goOver()) }
    }

    /// Moves all records, and returns when none is left.
    func drain() async {
        await withTaskGroup { tasks in
            for replica in self.replicas {
                tasks.addTask { await replica.run { _ in } }
            }
            while self.replicas.contains(where: { $0.progress.state != .done }) { await Task.yield() }
            tasks.cancelAll()
        }
    }
}

/// The records under one part of the keys of another store, as if they were all there are. Calls `called` before each
/// call.
struct PartOfStore: TokenStore {
    let whole: any TokenStore
    var part = "part/"
    var called: @Sendable () async -> Void = {}

    var guarantees: StoreGuarantees { self.whole.guarantees }

    private func inner(_ key: RecordKey) -> RecordKey { RecordKey(rawValue: self.part + key.rawValue) }

    private func outer(_ key: RecordKey) -> RecordKey {
        RecordKey(rawValue: String(key.rawValue.dropFirst(self.part.count)))
    }

    func read(_ key: RecordKey) async throws(StoreError) -> StoredRecord? {
        await self.called()
        return try await self.whole.read(self.inner(key))
    }

    func write(
        _ value: SealedBytes,
        at key: RecordKey,
        as version: Version,
        expecting: Version?
    ) async throws(StoreError) {
        await self.called()
        try await self.whole.write(value, at: self.inner(key), as: version, expecting: expecting)
    }

    func remove(_ key: RecordKey, expecting: Version) async throws(StoreError) {
        await self.called()
        try await self.whole.remove(self.inner(key), expecting: expecting)
    }

    func records(
        under prefix: RecordKey.Prefix,
        after: RecordKey?,
        limit: Int
    ) async throws(StoreError) -> [KeyedRecord] {
        await self.called()
        let page = try await self.whole.records(
            under: RecordKey.Prefix(rawValue: self.part + prefix.rawValue),
            after: after.map(self.inner),
            limit: limit
        )
        return page.map { KeyedRecord(key: self.outer($0.key), stored: $0.stored) }
    }

    func changes() -> AsyncStream<RecordChange> {
        let (stream, continuation) = AsyncStream.makeStream(of: RecordChange.self)
        let changes = self.whole.changes()
        let task = Task {
            for await change in changes {
                let isOwn = change.key.rawValue.hasPrefix(self.part)
                if isOwn { continuation.yield(RecordChange(key: self.outer(change.key), version: change.version)) }
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }
}
