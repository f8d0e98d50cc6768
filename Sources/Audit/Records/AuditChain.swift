/// Recomputes the chain of records, from the first on, as they are handed to it.
package struct AuditChain: Equatable, Sendable {
    /// Where the chain breaks.
    package enum Fault: Equatable, Sendable {
        /// There is none of this number, though there are later ones.
        case missing(UInt64)
        /// It does not open.
        case unreadable(UInt64)
        /// It was not made behind the record that stands before it: one of the two was changed.
        case unchained(UInt64)

        package var number: UInt64 {
            switch self {
            case .missing(let number), .unreadable(let number), .unchained(let number): number
            }
        }
    }

    /// How many there were.
    package private(set) var count: UInt64 = 0
    /// The last one's number and hash: whoever keeps them elsewhere can tell whether the end was cut off.
    package private(set) var last: (number: UInt64, hash: AuditHash) = (0, .none)
    package private(set) var firstFault: Fault?

    package init() {}

    /// Takes the item behind the last.
    package mutating func take(_ item: AuditItem) {
        if item.number != self.last.number &+ 1 {
            self.fail(item.number > self.last.number ? .missing(self.last.number &+ 1) : .unchained(item.number))
        } else {
            switch item {
            case .unreadable(let number): self.fail(.unreadable(number))
            case .record(let record):
                if record.previous != self.last.hash { self.fail(.unchained(record.number)) }
            }
        }
        self.count += 1
        self.last = (item.number, item.hash)
    }

    private mutating func fail(_ fault: Fault) {
        if self.firstFault == nil { self.firstFault = fault }
    }

    package static func == (left: AuditChain, right: AuditChain) -> Bool {
        left.count == right.count && left.last == right.last && left.firstFault == right.firstFault
    }
}
