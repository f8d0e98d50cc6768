import Synchronization
import TokenModel
import TokenStorage

/// A memory store whose disk can be full.
final class UnwritableTokenStore: TokenStore {
    private let store = MemoryTokenStore()
    private let full = Mutex(false)

    var isFull: Bool {
        get { self.full.withLock { $0 } }
        set { self.full.withLock { $0 = newValue } }
    }

    func read(_ key: RecordKey) async throws(StoreError) -> StoredRecord? { try await self.store.read(key) }

    func write(
        _ value: SealedBytes,
        at key: RecordKey,
        as version: Version,
        expecting: Version?
    ) async throws(StoreError) {
        if self.isFull { throw StoreError(.unwritable, "the disk is full") }
        try await self.store.write(value, at: key, as: version, expecting: expecting)
    }

    func remove(_ key: RecordKey, expecting: Version) async throws(StoreError) {
        try await self.store.remove(key, expecting: expecting)
    }

    var guarantees: StoreGuarantees { StoreGuarantees(reach: .process) }

    func records(
        under prefix: RecordKey.Prefix,
        after: RecordKey?,
        limit: Int
    ) async throws(StoreError) -> [KeyedRecord] {
        try await self.store.records(under: prefix, after: after, limit: limit)
    }

    func changes() -> AsyncStream<RecordChange> { self.store.changes() }
}
