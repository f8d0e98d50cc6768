/// Walks through JSON text byte by byte, and never beyond its end.
struct JSONScanner {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    func expectEnd() throws(JSONFault) {
        guard self.position == self.bytes.count else { throw self.malformed() }
    }

    /// A number as it is written (§6).
    mutating func number() throws(JSONFault) -> String {
        let start = self.position
        _ = self.take(UInt8(ascii: "-"))
        if !self.take(UInt8(ascii: "0")) { try self.digits() }
        if self.take(UInt8(ascii: ".")) { try self.digits() }
        if self.take(UInt8(ascii: "e")) || self.take(UInt8(ascii: "E")) {
            if !self.take(UInt8(ascii: "+")) { _ = self.take(UInt8(ascii: "-")) }
            try self.digits()
        }
        return String(decoding: self.bytes[start..<self.position], as: UTF8.self)
    }

    private mutating func digits() throws(JSONFault) {
        let start = self.position
        while let byte = self.peek, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { self.position += 1 }
        guard self.position > start else { throw self.malformed() }
    }

    /// The UTF-8 bytes of a string (§7), with its escapes resolved.
    mutating func string() throws(JSONFault) -> [UInt8] {
        try self.expect("\"")
        var decoded: [UInt8] = []
        while let byte = self.next() {
            switch byte {
            case UInt8(ascii: "\""): return decoded
            case UInt8(ascii: "\\"): try self.escape(into: &decoded)
            case 0x00..<0x20: throw .malformed(offset: self.position - 1)
            default: decoded.append(byte)
            }
        }
        throw self.malformed()
    }

    private mutating func escape(into decoded: inout [UInt8]) throws(JSONFault) {
        switch self.next() {
        case UInt8(ascii: "\""): decoded.append(UInt8(ascii: "\""))
        case UInt8(ascii: "\\"): decoded.append(UInt8(ascii: "\\"))
        case UInt8(ascii: "/"): decoded.append(UInt8(ascii: "/"))
        case UInt8(ascii: "b"): decoded.append(0x08)
        case UInt8(ascii: "f"): decoded.append(0x0C)
        case UInt8(ascii: "n"): decoded.append(0x0A)
        case UInt8(ascii: "r"): decoded.append(0x0D)
        case UInt8(ascii: "t"): decoded.append(0x09)
        case UInt8(ascii: "u"): decoded.append(contentsOf: String(try self.scalar()).utf8)
        default: throw self.malformed()
        }
    }

    /// The scalar of one `\uXXXX`, or of two that are a surrogate pair; half a pair is malformed.
    private mutating func scalar() throws(JSONFault) -> Unicode.Scalar {
        let first = try self.codeUnit()
        if let scalar = Unicode.Scalar(first) { return scalar }
        try self.expect("\\u")
        let second = try self.codeUnit()
        guard UTF16.isLeadSurrogate(first), UTF16.isTrailSurrogate(second),
            let scalar = Unicode.Scalar(0x1_0000 + ((UInt32(first) - 0xD800) << 10 | (UInt32(second) - 0xDC00)))
        else { throw self.malformed() }
        return scalar
    }

    private mutating func codeUnit() throws(JSONFault) -> UInt16 {
        guard self.bytes.count - self.position >= 4 else { throw self.malformed() }
        let digits = self.bytes[self.position..<(self.position + 4)]
        guard digits.allSatisfy({ Unicode.Scalar($0).properties.isASCIIHexDigit }),
            let unit = UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw self.malformed() }
        self.position += 4
        return unit
    }

    var peek: UInt8? { self.position < self.bytes.count ? self.bytes[self.position] : nil }

    private mutating func next() -> UInt8? {
        guard let byte = self.peek else { return nil }
        self.position += 1
        return byte
    }

    /// Steps over `byte` when it comes next.
    mutating func take(_ byte: UInt8) -> Bool {
        guard self.peek == byte else { return false }
        self.position += 1
        return true
    }

    /// Steps over what must come next.
    mutating func expect(_ word: StaticString) throws(JSONFault) {
        for byte in word.description.utf8 {
            guard self.take(byte) else { throw self.malformed() }
        }
    }

    mutating func skipSpace() {
        while let byte = self.peek, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { self.position += 1 }
    }

    private func malformed() -> JSONFault { .malformed(offset: self.position) }
}
