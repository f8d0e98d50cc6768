internal import TokenModel

/// Builds an `application/x-www-form-urlencoded` body (RFC 6749 Appendix B) in one buffer.
struct FormEncoding: ~Copyable {
    private var bytes: [UInt8] = []

    init() {
        // Enough for a long token and the other fields, so that the buffer never grows and leaves a copy of a token
        // behind.
        self.bytes.reserveCapacity(8 * 1024)
    }

    mutating func add(_ name: String, _ value: String) {
        self.addName(name)
        for byte in value.utf8 { Self.append(byte, to: &self.bytes) }
    }

    mutating func add(_ name: String, _ value: Secret) {
        self.addName(name)
        value.withUnredacted { value in
            for index in value.indices { Self.append(value[index], to: &self.bytes) }
        }
    }

    consuming func finish() -> Secret { Secret(self.bytes) }

    private mutating func addName(_ name: String) {
        if !self.bytes.isEmpty { self.bytes.append(UInt8(ascii: "&")) }
        for byte in name.utf8 { Self.append(byte, to: &self.bytes) }
        self.bytes.append(UInt8(ascii: "="))
    }

    /// Adds the encoded form of one byte: itself, `+` for a space, or `%` and two digits.
    static func append(_ byte: UInt8, to bytes: inout [UInt8]) {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "*"):
            bytes.append(byte)
        case UInt8(ascii: " "):
            bytes.append(UInt8(ascii: "+"))
        default:
            bytes.append(UInt8(ascii: "%"))
            bytes.append(Self.digit(byte >> 4))
            bytes.append(Self.digit(byte & 0x0F))
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + (value - 10)
    }
}
