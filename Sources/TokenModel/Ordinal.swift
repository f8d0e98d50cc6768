/// A number that only grows.
package protocol Ordinal: RawRepresentable, Hashable, Sendable, Comparable, CustomStringConvertible
where RawValue == UInt64 {
    init(rawValue: UInt64)
}

extension Ordinal {
    package init(_ rawValue: UInt64) { self.init(rawValue: rawValue) }
    package var description: String { String(self.rawValue) }
    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

    /// The one after this; the last number there is stays itself, so that a hostile stored value can't trap.
    package var next: Self {
        Self(rawValue: self.rawValue == .max ? .max : self.rawValue + 1)
    }
}

/// Number of a stored record; grows with each write, and compare-and-set compares it. The first write is 1.
package struct Version: Ordinal {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
    package static let first = Version(1)
}

/// Number of a grant's token set, one more with each committed one. 0: no access token yet. A 401 compares it.
package struct Generation: Ordinal {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
    package static let none = Generation(0)
}

/// Number of an entry in the kill log. 0: before the first kill. A record's stamp is the epoch its writer had read.
package struct Epoch: Ordinal {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
    package static let start = Epoch(0)
}
