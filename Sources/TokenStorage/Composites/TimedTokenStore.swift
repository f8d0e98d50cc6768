package import TokenModel

/// A wrapper around a store that reports the duration of each call, whether the call succeeds or fails.
package struct TimedTokenStore: TokenStore {
    /// The calls that are timed.
    package enum Operation: String, CaseIterable, Sendable { case read, write, remove, records }

    private let store: any TokenStore
    private let ended: @Sendable (Operation, Duration) -> Void

    /// - Parameter ended: called after each call. It must return quickly.
    package init(_ store: any TokenStore, ended: @escaping @Sendable (Operation, Duration) -> Void) {
        self.store = store
        self.ended = ended
    }

    package var guarantees: StoreGuarantees { self.store.guarantees }

    package func read(_ key: RecordKey) async throws(StoreError) -> StoredRecord? {
        let begin = BootInstant.now
        defer { self.ended(.read, begin.duration(to: .now)) }
        return try await self.store.read(key)
    }

    package func write(
        _ value: SealedBytes,
        at key: RecordKey,
        as version: Version,
        expecting: Version?
    ) async throws(StoreError) {
        let begin = BootInstant.now
        defer { self.ended(.write, begin.duration(to: .now)) }
        try await self.store.write(value, at: key, as: version, expecting: expecting)
    }

    package func remove(_ key: RecordKey, expecting: Version) async throws(StoreError) {
        let begin = BootInstant.now
        defer { self.ended(.remove, begin.duration(to: .now)) }
        try await self.store.remove(key, expecting: expecting)
    }

    package func records(
        under prefix: RecordKey.Prefix,
        after: RecordKey?,
        limit: Int
    ) async throws(StoreError) -> [KeyedRecord] {
        let begin = BootInstant.now
        defer { self.ended(.records, begin.duration(to: .now)) }
        return try await self.store.records(under: prefix, after: after, limit: limit)
    }

    package func changes() -> AsyncStream<RecordChange> { self.store.changes() }
}
