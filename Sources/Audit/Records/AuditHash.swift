internal import Crypto

/// The SHA-256 of a record, as 64 hexadecimal digits.
package struct AuditHash: Hashable, Sendable, CustomStringConvertible {
    package let digits: String

    /// Of what stands before the first record, and in place of one that does not open.
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
