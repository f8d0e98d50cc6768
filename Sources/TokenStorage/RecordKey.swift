internal import Glibc

/// The key of a record: a few segments joined by `/`, such as `accounts/alice`.
package struct RecordKey: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    /// The record of one account.
    package static func account(_ account: String) -> RecordKey { RecordKey(rawValue: "accounts/\(account)") }

    /// The record that names the store. It opens only with the right sealing key.
    package static let canary = RecordKey(rawValue: "canary")

    /// The id of this very copy of the records. It is drawn once for each copy, and is never copied.
    package static let place = RecordKey(rawValue: "place")

    /// The mark of a store that is a mirror of another one, or was one (``MirrorMark``).
    package static let mirror = RecordKey(rawValue: "mirror")

    /// Whether records of that kind are removed when they are not needed any more, so that one of them says nothing of what
    /// was written later.
    var mayBeRemoved: Bool {
        [Prefix.revocations, .killSnapshots, .kills, .audit, Prefix(rawValue: "revoked/")].contains {
            $0.contains(self)
        }
    }

    /// Whether the record is about one copy of the records and not about their content, so that it is never copied to
    /// another store: who runs on the copy, its id, and whether it is a mirror.
    package var staysInItsStore: Bool { self == .place || self == .mirror || Prefix.replicas.contains(self) }

    /// An entry of the kill log.
    package static func kill(_ number: UInt64) -> RecordKey { .numbered(.kills, number) }

    /// The outcome of a completed kill.
    package static func killEnd(_ number: UInt64) -> RecordKey { .numbered(.killEnds, number) }

    /// What the tokens that a kill took away have come to, in numbers. It is never removed.
    package static func killTally(_ number: UInt64) -> RecordKey {
        .numbered(Prefix(rawValue: "kill-tallies/"), number)
    }

    /// An entry of the audit log.
    package static func audit(_ number: UInt64) -> RecordKey { .numbered(.audit, number) }

    /// A page of the kill log snapshot `id`.
    package static func killSnapshotPage(_ number: Int, of id: String) -> RecordKey {
        .numbered(Prefix(rawValue: "\(Prefix.killSnapshots.rawValue)\(id)/"), UInt64(number))
    }

    /// The membership and lease of a running replica.
    package static func replica(_ id: String) -> RecordKey { RecordKey(rawValue: Prefix.replicas.rawValue + id) }

    /// The last sign-in of an account, by a name of the account that reveals nothing about it. It is never removed: versions
    /// at this key only grow.
    package static func signIn(_ name: String) -> RecordKey { RecordKey(rawValue: Prefix.signIns.rawValue + name) }

    /// The last approval of an account. It is never removed.
    package static func approval(_ account: String) -> RecordKey {
        RecordKey(rawValue: Prefix.approvals.rawValue + account)
    }

    /// A token that has yet to be revoked at its provider.
    package static func revocation(_ id: String) -> RecordKey { RecordKey(rawValue: Prefix.revocations.rawValue + id) }

    /// The outcome of revoking a token that the kill with number `number` killed.
    package static func revoked(_ id: String, by number: UInt64) -> RecordKey {
        RecordKey(rawValue: Prefix.revoked(by: number).rawValue + id)
    }

    /// An entry of a ``NumberedLog``. The number has twenty digits, so that keys sort as numbers do.
    package static func numbered(_ prefix: Prefix, _ number: UInt64) -> RecordKey {
        RecordKey(rawValue: prefix.rawValue + Self.digits(of: number))
    }

    fileprivate static func digits(of number: UInt64) -> String {
        let digits = String(number)
        return String(repeating: "0", count: 20 - digits.count) + digits
    }

    package var description: String { self.rawValue }

    /// Compares UTF-8 bytes, as every driver does: names that only look alike are different keys.
    package static func == (left: RecordKey, right: RecordKey) -> Bool {
        left.rawValue.utf8.count == right.rawValue.utf8.count && Self.difference(left, right) == 0
    }

    package func hash(into hasher: inout Hasher) {
        var text = self.rawValue
        text.withUTF8 { bytes in unsafe hasher.combine(bytes: UnsafeRawBufferPointer(bytes)) }
        hasher.combine(0xFF as UInt8)
    }

    /// Compares UTF-8 bytes, as every driver sorts.
    package static func < (left: RecordKey, right: RecordKey) -> Bool {
        let difference = Self.difference(left, right)
        return difference < 0 || difference == 0 && left.rawValue.utf8.count < right.rawValue.utf8.count
    }

    /// Below 0 if `left` is less than `right` within their common length, above 0 if it is greater.
    private static func difference(_ left: RecordKey, _ right: RecordKey) -> CInt {
        var (left, right) = (left.rawValue, right.rawValue)
        return left.withUTF8 { left in
            right.withUTF8 { right in
                let count = min(left.count, right.count)
                guard count > 0, let left = left.baseAddress, let right = right.baseAddress else { return 0 }
                return unsafe memcmp(left, right, count)
            }
        }
    }

    /// A set of keys: those whose UTF-8 bytes begin with these.
    package struct Prefix: Hashable, Sendable {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }

        /// Every key.
        package static let all = Prefix(rawValue: "")
        package static let accounts = Prefix(rawValue: "accounts/")
        package static let kills = Prefix(rawValue: "kills/")
        package static let killEnds = Prefix(rawValue: "kill-ends/")
        package static let killSnapshots = Prefix(rawValue: "kill-snapshots/")
        package static let audit = Prefix(rawValue: "audit/")
        package static let replicas = Prefix(rawValue: "replicas/")
        package static let revocations = Prefix(rawValue: "revocations/")
        package static let signIns = Prefix(rawValue: "sign-ins/")
        package static let approvals = Prefix(rawValue: "approvals/")

        /// The outcomes of revoking the tokens of one kill.
        package static func revoked(by number: UInt64) -> Prefix {
            Prefix(rawValue: "revoked/\(RecordKey.digits(of: number))/")
        }

        package func contains(_ key: RecordKey) -> Bool {
            key.rawValue.utf8.starts(with: self.rawValue.utf8)
        }

        /// The keys under this prefix and behind `after`, as a range of UTF-8 bytes for an ordered index: `start` is the
        /// first, and all are before `end`.
        package func bounds(after: RecordKey?) -> (start: [UInt8], end: [UInt8]) {
            var start = Array(self.rawValue.utf8)
            // The prefix with its last byte incremented. UTF-8 has no byte 0xFF, so for an empty prefix this byte is
            // after every key.
            var end = start
            let last = end.popLast() ?? 0xFE
            end.append(last + 1)
            if let after = after.map({ Array($0.rawValue.utf8) }), !after.lexicographicallyPrecedes(start) {
                start = after + [0]
            }
            return (start, end)
        }
    }
}
