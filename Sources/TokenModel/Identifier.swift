/// A name or random id with a type of its own, so that it can't be confused with another kind of name.
package protocol Identifier: RawRepresentable, Hashable, Sendable, Comparable, CustomStringConvertible
where RawValue == String {
    init(rawValue: String)
}

extension Identifier {
    package init(_ rawValue: String) { self.init(rawValue: rawValue) }
    package var description: String { self.rawValue }
    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// An identifier that is drawn at random and never reused: 128 bits as 32 hexadecimal digits.
package protocol RandomIdentifier: Identifier {}

extension RandomIdentifier {
    /// Draws a new id.
    package static func random() -> Self {
        var source = Randomness()
        let digits = (0..<2).map { _ in
            let half = String(source.next() as UInt64, radix: 16)
            return String(repeating: "0", count: 16 - half.count) + half
        }
        return Self(rawValue: digits.joined())
    }
}

/// One authorization at a provider, identified by its name in the configuration.
package struct AccountID: Identifier {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }
}

/// An authorization server together with Martlet's client registration there, identified by its name in the
/// configuration.
package struct ProviderID: Identifier {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }
}

/// One authorization in a record. It is drawn anew at each import, login or first mint.
package struct GrantID: RandomIdentifier {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }
}

/// One start of one replica's process.
package struct IncarnationID: RandomIdentifier {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }
}

/// One attempt to get the exclusive right to spend a refresh token.
package struct ClaimID: RandomIdentifier {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }
}

/// One kill, or another entry of the kill log.
package struct KillID: RandomIdentifier {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }
}

/// One membership of a replica among those that share a store. It is drawn anew each time the replica joins.
package struct ReplicaID: RandomIdentifier {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }
}

/// One token that is to be revoked at its provider.
package struct RevocationID: RandomIdentifier {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }
}

/// A number that only grows.
package protocol Ordinal: RawRepresentable, Hashable, Sendable, Comparable, CustomStringConvertible
where RawValue == UInt64 {
    init(rawValue: UInt64)
}

extension Ordinal {
    package init(_ rawValue: UInt64) { self.init(rawValue: rawValue) }
    package var description: String { String(self.rawValue) }
    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

    /// The following number. The largest number returns itself, so that a hostile stored value can't trap.
    package var next: Self {
        Self(rawValue: self.rawValue == .max ? .max : self.rawValue + 1)
    }
}

/// The number of a stored record. It grows with each write, and compare-and-set compares it. The first write is 1.
package struct Version: Ordinal {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
    package static let first = Version(1)
}

/// The number of a grant's token set. It grows by one with each committed set; 0 means that there is no access token
/// yet. A 401 names the generation that the upstream refused.
package struct Generation: Ordinal {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
    package static let none = Generation(0)
}

/// The number of an entry in the kill log; 0 is the state before the first kill. A record stores the epoch that its
/// writer had read.
package struct Epoch: Ordinal {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
    package static let start = Epoch(0)
}
