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
        try await self.init(from: [previous, previous], to: [current, current])
    }

    /// - Parameters: the handles of each replica.
    init(from previous: [any TokenStore], to current: [any TokenStore]) async throws {
        (self.previous, self.current) = (previous[0], current[0])
        _ = try await OpenedStore.open(previous[0], keys: self.keys)
        var replicas: [MigratingTokenStore] = []
        for (source, target) in zip(previous, current) {
            let migration = try await StoreMigration(to: target, from: source, keys: self.keys)
            // Long, so that a busy machine is no outage.
            replicas.append(MigratingTokenStore(migration, patience: .seconds(60)))
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

    /// Checks a clause of the contract, with the replicas as two processes.
    ///
    /// - Parameter calls: the number of calls after which the replicas go over, while others are made; `nil`: never.
    func check(_ clause: TokenStoreContract.Clause, goingOverAfter calls: Int?) async throws {
        let departure = Departure(self, after: calls ?? .max)
        if calls == 0 { try await self.goOver() }
        try await withThrowingTaskGroup { tasks in
            for replica in self.replicas { tasks.addTask { await replica.run { _ in } } }
            try await clause.check(
                TokenStoreContract.Subject(
                    store: PartOfStore(whole: self.replicas[0], called: { departure.count() }),
                    other: PartOfStore(whole: self.replicas[1], called: { departure.count() })
                )
            )
            try await departure.ended()
            tasks.cancelAll()
        }
    }

    /// Moves all records, and returns when none is left.
    func drain() async {
        await withDiscardingTaskGroup { tasks in
            for replica in self.replicas { tasks.addTask { await replica.moveAllRecords() } }
        }
    }
}

extension MigratingTokenStore {
    /// Moves all records, and returns when none is left.
    func moveAllRecords() async {
        await withTaskGroup { tasks in
            tasks.addTask { await self.run { _ in } }
            while self.progress.state != .done { await Task.yield() }
            tasks.cancelAll()
        }
    }
}

/// Has replicas go over to the other store after a number of calls.
private final class Departure: Sendable {
    private let stores: MigratingStores
    private let calls: Int
    private let state = Mutex((count: 0, task: Task<Void, any Error>?.none))

    init(_ stores: MigratingStores, after calls: Int) {
        (self.stores, self.calls) = (stores, calls)
    }

    func count() {
        self.state.withLock { state in
            state.count += 1
            if state.count == self.calls { state.task = Task { try await self.stores.goOver() } }
        }
    }

    func ended() async throws { try await self.state.withLock(\.task)?.value }
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
