internal import TextCoding
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
        for byte in value.utf8 { PercentCoding.appendToForm(byte, into: &self.bytes) }
    }

    mutating func add(_ name: String, _ value: Secret) {
        self.addName(name)
        value.withUnredacted { value in
            for index in value.indices { PercentCoding.appendToForm(value[index], into: &self.bytes) }
        }
    }

    consuming func finish() -> Secret { Secret(self.bytes) }

    private mutating func addName(_ name: String) {
        if !self.bytes.isEmpty { self.bytes.append(UInt8(ascii: "&")) }
        for byte in name.utf8 { PercentCoding.appendToForm(byte, into: &self.bytes) }
        self.bytes.append(UInt8(ascii: "="))
    }
}
