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

/// What a store promises beyond its contract. What stands on a store asks this and never which driver it is.
package struct StoreGuarantees: Equatable, Sendable {
    /// From where the same records are seen.
    package enum Reach: String, Sendable {
        /// From this process alone.
        case process
        /// From the processes of one host; a read is never stale.
        case host
        /// From several hosts; a read may come from a node that others have left behind.
        case network
    }

    /// What may be gone after another node took over.
    package enum Failover: String, Sendable {
        /// No write that was acknowledged. So it is too where nothing takes over.
        case losesNothing = "nothing"
        /// The last writes, in one order over all keys: never one without those behind it.
        case losesSuffix = "suffix"
    }

    /// How many bytes of values a page of records holds at most, but for its first.
    package static let largestPage = 1 << 20

    /// So many records fit into a page however long each is: where fewer come than were asked for, there are no more.
    package static let uncutPage = Self.largestPage / SealedBytes.maximumCount

    package let reach: Reach
    package let failover: Failover

    package init(reach: Reach, failover: Failover = .losesNothing) {
        self.reach = reach
        self.failover = failover
    }
}

extension StoreGuarantees {
    /// The version that a write behind `expecting` names (`nil`: there is no record yet).
    ///
    /// Drawn, and not counted: a failover may lose the last writes, and on one host an earlier copy of the file may be put
    /// back. The same number would then be written twice, with other content, and who has read the lost one would take the
    /// other for it. Only what ends with its process counts.
    package func version(behind expecting: Version?) -> Version {
        let counts = self.reach == .process && self.failover == .losesNothing
        guard let expecting else { return counts ? .first : Version(.random(in: Self.gaps)) }
        guard !counts else { return expecting.next }
        let (sum, overflows) = expecting.rawValue.addingReportingOverflow(.random(in: Self.gaps))
        return Version(overflows ? .max : sum)
    }

    /// So large that two writers do not draw the same, so small that versions do not run out.
    private static let gaps: ClosedRange<UInt64> = 1...1 << 24
}
