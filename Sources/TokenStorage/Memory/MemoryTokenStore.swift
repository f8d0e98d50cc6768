package import TokenModel

/// A store in the memory of this process, for tests and for accounts that mint their tokens.
package actor MemoryTokenStore: TokenStore {
    private var records: [RecordKey: StoredRecord] = [:]
    /// All keys in order, so that a page needs no sorting.
    private var keys: [RecordKey] = []
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
        if current == nil { self.keys.insert(key, at: self.position(of: key)) }
        self.records[key] = StoredRecord(version: version, value: value)
        self.broadcaster.announce(RecordChange(key: key, version: version))
    }

    package func remove(_ key: RecordKey, expecting: Version) async throws(StoreError) {
        let current = self.records[key]
        guard current?.version == expecting else { throw .conflict(current) }
        self.records[key] = nil
        self.keys.remove(at: self.position(of: key))
        self.broadcaster.announce(RecordChange(key: key, version: nil))
    }

    package func records(
        under prefix: RecordKey.Prefix,
        after: RecordKey?,
        limit: Int
    ) async throws(StoreError) -> [KeyedRecord] {
        try StoreError.checkLimit(limit)
        let first = RecordKey(rawValue: prefix.rawValue)
        let begin = self.position(of: max(first, after ?? first))
        let keys = self.keys[begin...].lazy.filter { $0 != after }.prefix { prefix.contains($0) }
        return KeyedRecord.page(ofSorted: keys, limit: limit) { self.records[$0] }
    }

    /// The position of the first key that is not before `key`.
    private func position(of key: RecordKey) -> Int {
        var (low, high) = (0, self.keys.count)
        while low < high {
            let middle = (low + high) / 2
            if self.keys[middle] < key { low = middle + 1 } else { high = middle }
        }
        return low
    }

    package nonisolated func changes() -> AsyncStream<RecordChange> {
        self.broadcaster.listen()
    }
}
