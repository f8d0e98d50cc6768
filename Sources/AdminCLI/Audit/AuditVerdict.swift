package import Audit

/// Whether the hash chain of an audit log is intact, as `martlet audit --verify` reports it.
package struct AuditVerdict: Encodable, Equatable, Sendable {
    package let records: UInt64
    /// The number of the last record.
    package let number: UInt64
    package let hash: String
    /// The number of the first record that breaks the chain; `nil` if the chain is intact.
    package let broken: UInt64?
    /// What is wrong with that record.
    package let fault: String?

    /// - Parameter known: the last record's number according to the source of the log. A gateway remembers what it has
    ///   written or read, even if the record has been removed since.
    package init(_ chain: AuditChain, reaching known: UInt64 = 0, expecting expected: ExpectedRecord? = nil) {
        self.records = chain.count
        self.number = chain.last.number
        self.hash = chain.last.hash.digits
        let missed = expected.flatMap { $0.isMet ? nil : $0 }
        let end = chain.last.number
        switch chain.firstFault {
        case nil where known > end && missed?.wasSeen != true:
            self.broken = end + 1
            self.fault = "record \(end + 1) is missing, though the log has had \(known): its end was cut off"
        case nil:
            self.broken = missed?.number
            self.fault = missed.map { record in
                record.wasSeen
                    ? "record \(record.number) is not the one that --expect names"
                    : "there is no record \(record.number), which --expect names: the end of the log is missing"
            }
        case .missing(let number)?: (self.broken, self.fault) = (number, "there is no record \(number)")
        case .unreadable(let number)?: (self.broken, self.fault) = (number, "record \(number) does not open")
        case .unchained(let number)?:
            self.broken = number
            self.fault = "record \(number) does not follow from the one before it: one of the two was changed"
        }
    }

    private enum Key: String, CodingKey { case records, number, hash, broken, fault }

    package func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(self.records, forKey: .records)
        try members.encode(self.number, forKey: .number)
        try members.encode(self.hash, forKey: .hash)
        try members.encode(self.broken, forKey: .broken)
        try members.encode(self.fault, forKey: .fault)
    }
}

/// A record's number and hash, kept from an earlier run of `--verify`.
package struct ExpectedRecord: Equatable, Sendable {
    package let number: UInt64
    private let hash: AuditHash
    package private(set) var wasSeen = false
    package private(set) var isMet = false

    /// - Parameter text: `NUMBER:HASH`.
    package init?(_ text: String) {
        let sides = text.split(separator: ":", maxSplits: 1)
        guard sides.count == 2, let number = UInt64(sides[0]), number > 0, let hash = AuditHash(String(sides[1])) else {
            return nil
        }
        self.number = number
        self.hash = hash
    }

    package mutating func saw(_ item: AuditItem) {
        guard item.number == self.number else { return }
        self.wasSeen = true
        self.isMet = item.hash == self.hash
    }
}
