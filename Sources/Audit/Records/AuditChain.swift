internal import Crypto

/// Verifies the chain of records. Hand it the records from the first on.
package struct AuditChain: Equatable, Sendable {
    /// A break in the chain.
    package enum Fault: Equatable, Sendable {
        /// There is no record with this number, although there are later ones.
        case missing(UInt64)
        /// The record does not open.
        case unreadable(UInt64)
        /// The record does not hold the hash of the record before it: one of the two was changed.
        case unchained(UInt64)

        package var number: UInt64 {
            switch self {
            case .missing(let number), .unreadable(let number), .unchained(let number): number
            }
        }
    }

    /// How many items it was handed.
    package private(set) var count: UInt64 = 0
    /// The last item's number and hash. A copy kept elsewhere shows whether the end of the log was cut off.
    package private(set) var last: (number: UInt64, hash: AuditHash) = (0, .none)
    package private(set) var firstFault: Fault?

    package init() {}

    /// Takes the next item.
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

/// What is at a number of the log.
package enum AuditItem: Equatable, Sendable {
    case record(AuditRecord)
    /// A record that does not open, or whose content does not match its number. It stays in the log.
    case unreadable(UInt64)

    package var number: UInt64 {
        switch self {
        case .record(let record): record.number
        case .unreadable(let number): number
        }
    }

    /// The hash of this item that the next record holds.
    package var hash: AuditHash {
        switch self {
        case .record(let record): record.hash
        case .unreadable: .none
        }
    }
}

/// The SHA-256 of a record, as 64 hexadecimal digits.
package struct AuditHash: Hashable, Sendable, CustomStringConvertible {
    package let digits: String

    /// The hash before the first record, and of a record that does not open.
    package static let none = AuditHash(digits: String(repeating: "0", count: 64))

    private init(digits: String) { self.digits = digits }

    /// - Returns: `nil` for anything but 64 hexadecimal digits in lower case.
    package init?(_ text: String) {
        let isDigits = text.utf8.allSatisfy { byte in
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
        }
        guard text.utf8.count == 64, isDigits else { return nil }
        self.digits = text
    }

    init(of bytes: [UInt8]) {
        let digits = Array("0123456789abcdef".utf8)
        let text = SHA256.hash(data: bytes).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        self.digits = String(decoding: text, as: UTF8.self)
    }

    package var description: String { self.digits }
}

extension AuditHash: Codable {
    package init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let hash = AuditHash(text) else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "no SHA-256")
            )
        }
        self = hash
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self.digits)
    }
}
