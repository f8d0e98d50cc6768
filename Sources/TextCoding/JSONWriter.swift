internal import FoundationEssentials

/// Writes one flat JSON object (RFC 8259), its members in the order they are added.
package struct JSONObjectWriter {
    private var bytes: [UInt8] = [UInt8(ascii: "{")]

    package init() {}

    package mutating func add(_ name: String, _ value: String) {
        self.addName(name)
        self.addString(value)
    }

    package mutating func add(_ name: String, _ value: Int64) {
        self.addName(name)
        self.bytes += Array(String(value).utf8)
    }

    package consuming func finish() -> [UInt8] { self.bytes + [UInt8(ascii: "}")] }

    private mutating func addName(_ name: String) {
        if self.bytes.count > 1 { self.bytes.append(UInt8(ascii: ",")) }
        self.addString(name)
        self.bytes.append(UInt8(ascii: ":"))
    }

    private mutating func addString(_ text: String) {
        self.bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                self.bytes += [UInt8(ascii: "\\"), byte]
            case 0..<0x20:
                let digits = Array("0123456789abcdef".utf8)
                self.bytes += Array("\\u00".utf8) + [digits[Int(byte >> 4)], digits[Int(byte & 0x0F)]]
            default:
                self.bytes.append(byte)
            }
        }
        self.bytes.append(UInt8(ascii: "\""))
    }
}

/// JSON text of Swift values.
package enum JSONText {
    /// Encodes with sorted keys, so that equal values yield equal bytes.
    package static func encode(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(value))
    }
}
