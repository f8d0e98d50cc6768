package import TokenModel

/// A record as a store holds it: which write it is, and bytes that only a key ring can open.
package struct StoredRecord: Equatable, Sendable {
    package let version: Version
    package let value: SealedBytes

    package init(version: Version, value: SealedBytes) {
        self.version = version
        self.value = value
    }
}

/// A record, and where it stands.
package struct KeyedRecord: Equatable, Sendable {
    package let key: RecordKey
    package let stored: StoredRecord

    package init(key: RecordKey, stored: StoredRecord) {
        self.key = key
        self.stored = stored
    }

    /// A page as ``TokenStore/records(under:after:limit:)`` is to give it, for stores that have all keys in memory.
    package static func page(
        of keys: some Sequence<RecordKey>,
        under prefix: RecordKey.Prefix,
        after: RecordKey?,
        limit: Int,
        record: (RecordKey) -> StoredRecord?
    ) -> [KeyedRecord] {
        let behind = keys.filter { key in prefix.contains(key) && after.map { $0 < key } ?? true }
        var (page, bytes): ([KeyedRecord], Int) = ([], 0)
        for key in behind.sorted() where page.count < limit {
            guard let stored = record(key) else { continue }
            bytes += stored.value.bytes.count
            guard page.isEmpty || bytes <= StoreGuarantees.largestPage else { break }
            page.append(KeyedRecord(key: key, stored: stored))
        }
        return page
    }
}

/// A hint that the record at a key was changed.
package struct RecordChange: Equatable, Sendable {
    package let key: RecordKey
    /// The version that was written; `nil` where the record was removed, or nobody knows. Only who knows just this version
    /// may pass the hint over: a lower one tells of a store that fell back.
    package let version: Version?

    package init(key: RecordKey, version: Version?) {
        self.key = key
        self.version = version
    }
}

/// Ciphertext with what is needed to open it. Made and opened by a key ring only.
package struct SealedBytes: Hashable, Sendable {
    package let bytes: [UInt8]
    package init(bytes: [UInt8]) { self.bytes = bytes }
}

extension SealedBytes: CustomStringConvertible {
    package var description: String { "\(self.bytes.count) sealed bytes" }
}
