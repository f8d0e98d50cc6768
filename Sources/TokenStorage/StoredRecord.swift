package import TokenModel

/// A version, and the sealed bytes that were written as this version.
package struct StoredRecord: Equatable, Sendable {
    package let version: Version
    package let value: SealedBytes

    package init(version: Version, value: SealedBytes) {
        self.version = version
        self.value = value
    }
}

/// A stored record together with its key.
package struct KeyedRecord: Equatable, Sendable {
    package let key: RecordKey
    package let stored: StoredRecord

    package init(key: RecordKey, stored: StoredRecord) {
        self.key = key
        self.stored = stored
    }

    /// A page as ``TokenStore/records(under:after:limit:)`` must return it. For stores that have all keys in memory.
    package static func page(
        of keys: some Sequence<RecordKey>,
        under prefix: RecordKey.Prefix,
        after: RecordKey?,
        limit: Int,
        record: (RecordKey) -> StoredRecord?
    ) -> [KeyedRecord] {
        let behind = keys.filter { key in prefix.contains(key) && after.map { $0 < key } ?? true }
        return Self.page(ofSorted: behind.sorted(), limit: limit, record: record)
    }

    /// The beginning of the listed records, as much as fits on a page.
    package static func page(
        ofSorted keys: some Sequence<RecordKey>,
        limit: Int,
        record: (RecordKey) -> StoredRecord?
    ) -> [KeyedRecord] {
        var (page, bytes): ([KeyedRecord], Int) = ([], 0)
        for key in keys {
            guard page.count < limit else { break }
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
    /// The version that was written; `nil` if the record was removed or the version is unknown.
    ///
    /// A receiver may ignore the hint only if this is exactly the version that it knows. A lower version means that the
    /// store has fallen back to an earlier state.
    package let version: Version?

    package init(key: RecordKey, version: Version?) {
        self.key = key
        self.version = version
    }

    /// Any record may have changed unnoticed: the connection to the store was lost, and is back to the same server.
    package static let everything = RecordChange(key: RecordKey(rawValue: ""), version: nil)
    /// Any record may have changed or fallen back: reads come from another server than before, or from one that was
    /// started anew.
    package static let anotherServer = RecordChange(key: RecordKey(rawValue: ""), version: Version(0))
}

/// Ciphertext, with what a key ring needs to decrypt it. Only a ``KeyRing`` makes and opens it.
package struct SealedBytes: Hashable, Sendable {
    package let bytes: [UInt8]
    package init(bytes: [UInt8]) { self.bytes = bytes }
}

extension SealedBytes: CustomStringConvertible {
    package var description: String { "\(self.bytes.count) sealed bytes" }
}

/// What a store promises beyond the contract of ``TokenStore``. Code above the store checks these values and never
/// which driver it has.
package struct StoreGuarantees: Equatable, Sendable {
    /// Which processes see the same records.
    package enum Reach: String, Sendable {
        /// Only this process, and the records end with it.
        case process
        /// The processes of one host. A read is never stale. A durable store that one process uses is of this kind too.
        case host
        /// Processes on several hosts. A read may come from a node that has fallen behind the others.
        case network
    }

    /// What a failover to another node may lose.
    package enum Failover: String, Sendable {
        /// No acknowledged write. This also holds for a store without failover.
        case losesNothing = "nothing"
        /// A suffix of the writes, in one order over all keys: if a write is lost, all writes after it are lost too.
        case losesSuffix = "suffix"
    }

    /// The most bytes that the values on a page have together: 1 MiB. The first record of a page always fits.
    package static let largestPage = 1 << 20

    /// How many records a listing asks for at once. Records of accounts have less than 1 KiB, so the bytes of a page are what
    /// limits it.
    package static let listing = 2_000

    /// The number of records that fit on a page whatever their size: 16. If fewer records are returned than were asked
    /// for, up to this limit, there are no more.
    package static let uncutPage = Self.largestPage / SealedBytes.maximumCount

    package let reach: Reach
    package let failover: Failover

    package init(reach: Reach, failover: Failover = .losesNothing) {
        self.reach = reach
        self.failover = failover
    }
}

extension StoreGuarantees {
    /// The version for a write that replaces version `expecting` (`nil`: there is no record yet).
    ///
    /// Only a store that ends with its process counts versions up by one. Otherwise the version grows by a random
    /// number: a failover may lose the last writes, and on one host an earlier copy of the file may be put back. If
    /// versions were counted, the same number could then be written twice with different content, and a reader of the
    /// lost record would take the other one for it.
    package func version(behind expecting: Version?) -> Version {
        let counts = self.reach == .process && self.failover == .losesNothing
        guard let expecting else { return counts ? .first : Version(.drawn(in: Self.gaps)) }
        guard !counts else { return expecting.next }
        let (sum, overflows) = expecting.rawValue.addingReportingOverflow(.drawn(in: Self.gaps))
        return Version(overflows ? .max : sum)
    }

    /// Large enough that two writers do not draw the same number, small enough that versions do not run out.
    private static let gaps: ClosedRange<UInt64> = 1...1 << 24
}

/// What the server of a store says about itself.
package struct StoreCondition: Equatable, Sendable {
    /// The server's wall clock, with which all replicas compare theirs.
    package let time: WallTime
    /// Whether each acknowledged write is on a second server too.
    package let isReplicated: Bool
    /// Whether a failover then loses none: it goes to a server that has them all.
    package let losesNothing: Bool
    /// How many such servers are connected; `nil` if that can't be seen.
    package let connectedReplicas: Int?

    package init(time: WallTime, isReplicated: Bool, losesNothing: Bool, connectedReplicas: Int?) {
        self.time = time
        self.isReplicated = isReplicated
        self.losesNothing = losesNothing
        self.connectedReplicas = connectedReplicas
    }
}
