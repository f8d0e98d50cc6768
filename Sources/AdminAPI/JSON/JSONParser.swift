internal import TokenModel

/// Reads JSON text (RFC 8259): strictly, to its end, and no deeper than ``deepest``.
struct JSONParser {
    /// How many objects and arrays may stand in each other.
    static let deepest = 16

    private let bytes: [UInt8]
    private var position = 0

    private init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    static func parse(_ bytes: [UInt8]) throws(JSONFault) -> JSONValue {
        guard String(validating: bytes, as: UTF8.self) != nil else { throw .malformed(offset: 0) }
        var parser = JSONParser(bytes)
        parser.skipSpace()
        let value = try parser.value(depth: 0)
        parser.skipSpace()
        guard parser.position == bytes.count else { throw parser.malformed() }
        return value
    }

    private mutating func value(depth: Int) throws(JSONFault) -> JSONValue {
        switch self.peek {
        case UInt8(ascii: "{"): return .object(try self.members(depth: depth + 1))
        case UInt8(ascii: "["): return .array(try self.elements(depth: depth + 1))
        case UInt8(ascii: "\""): return .string(Secret(try self.string()))
        case UInt8(ascii: "t"):
            try self.expect("true")
            return .boolean(true)
        case UInt8(ascii: "f"):
            try self.expect("false")
            return .boolean(false)
        case UInt8(ascii: "n"):
            try self.expect("null")
            return .null
        default: return .number(try self.number())
        }
    }

    private mutating func members(depth: Int) throws(JSONFault) -> [JSONMember] {
        guard depth <= Self.deepest else { throw .tooDeep }
        var members: [JSONMember] = []
        var names: Set<String> = []
        try self.expect("{")
        self.skipSpace()
        if self.take(UInt8(ascii: "}")) { return members }
        repeat {
            self.skipSpace()
            let name = String(decoding: try self.string(), as: UTF8.self)
            guard names.insert(name).inserted else { throw .repeatedName }
            self.skipSpace()
            try self.expect(":")
            self.skipSpace()
            members.append(JSONMember(name: name, value: try self.value(depth: depth)))
            self.skipSpace()
        } while self.take(UInt8(ascii: ","))
        try self.expect("}")
        return members
    }

    private mutating func elements(depth: Int) throws(JSONFault) -> [JSONValue] {
        guard depth <= Self.deepest else { throw .tooDeep }
        var elements: [JSONValue] = []
        try self.expect("[")
        self.skipSpace()
        if self.take(UInt8(ascii: "]")) { return elements }
        repeat {
            self.skipSpace()
            elements.append(try self.value(depth: depth))
            self.skipSpace()
        } while self.take(UInt8(ascii: ","))
        try self.expect("]")
        return elements
    }

    /// A number as it is written (§6).
    private mutating func number() throws(JSONFault) -> String {
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
}

extension JSONParser {
    /// The UTF-8 bytes of a string (§7), with its escapes resolved.
    private mutating func string() throws(JSONFault) -> [UInt8] {
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

    private var peek: UInt8? { self.position < self.bytes.count ? self.bytes[self.position] : nil }

    private mutating func next() -> UInt8? {
        guard let byte = self.peek else { return nil }
        self.position += 1
        return byte
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard self.peek == byte else { return false }
        self.position += 1
        return true
    }

    private mutating func expect(_ word: StaticString) throws(JSONFault) {
        for byte in word.description.utf8 {
            guard self.take(byte) else { throw self.malformed() }
        }
    }

    private mutating func skipSpace() {
        while let byte = self.peek, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { self.position += 1 }
    }

    private func malformed() -> JSONFault { .malformed(offset: self.position) }
}
