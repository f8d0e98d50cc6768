package import TokenModel

/// A store in the memory of this process, for tests and for accounts that mint their tokens.
package actor MemoryTokenStore: TokenStore {
    private var records: [RecordKey: StoredRecord] = [:]
    private let broadcaster = ChangeBroadcaster()

    package init() {}

    package nonisolated var guarantees: StoreGuarantees { StoreGuarantees(reach: .process) }

    package func read(_ key: RecordKey) async throws(StoreError) -> StoredRecord? {
        self.records[key]
    }

    package func write(
        _ value: SealedBytes,
        at key: RecordKey,
        as version: Version,
        expecting: Version?
    ) async throws(StoreError) {
        try StoreError.checkWrite(value, at: key, as: version, expecting: expecting)
        let current = self.records[key]
        guard current?.version == expecting else { throw .conflict(current) }
        self.records[key] = StoredRecord(version: version, value: value)
        self.broadcaster.announce(RecordChange(key: key, version: version))
    }

    package func remove(_ key: RecordKey, expecting: Version) async throws(StoreError) {
        let current = self.records[key]
        guard current?.version == expecting else { throw .conflict(current) }
        self.records[key] = nil
        self.broadcaster.announce(RecordChange(key: key, version: nil))
    }

    package func records(
        under prefix: RecordKey.Prefix,
        after: RecordKey?,
        limit: Int
    ) async throws(StoreError) -> [KeyedRecord] {
        try StoreError.checkLimit(limit)
        return KeyedRecord.page(of: self.records.keys, under: prefix, after: after, limit: limit) { self.records[$0] }
    }

    package nonisolated func changes() -> AsyncStream<RecordChange> {
        self.broadcaster.listen()
    }
}
