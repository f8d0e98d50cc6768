/// Walks through JSON text (RFC 8259) byte by byte; strict, bounded in depth, and never beyond the end.
///
/// It holds only the position: the bytes are lent to each call, because they may be secret.
struct JSONScanner {
    /// Deeper than any honest answer, and shallow enough for recursion.
    static let deepest = 16

    private(set) var position: Int

    init(at position: Int) { self.position = position }

    mutating func skipSpace(_ bytes: Span<UInt8>) {
        while self.position < bytes.count {
            switch bytes[self.position] {
            case 0x20, 0x09, 0x0A, 0x0D: self.position += 1
            default: return
            }
        }
    }

    func peek(_ bytes: Span<UInt8>) -> UInt8? {
        self.position < bytes.count ? bytes[self.position] : nil
    }

    /// Steps over `byte` when it comes next.
    mutating func take(_ byte: UInt8, _ bytes: Span<UInt8>) -> Bool {
        guard self.peek(bytes) == byte else { return false }
        self.position += 1
        return true
    }

    mutating func expect(_ byte: UInt8, _ bytes: Span<UInt8>) throws(AnswerFault) {
        guard self.take(byte, bytes) else { throw self.fault(bytes) }
    }

    mutating func expect(_ word: StaticString, _ bytes: Span<UInt8>) throws(AnswerFault) {
        for byte in word.description.utf8 { try self.expect(byte, bytes) }
    }

    /// What is wrong here: too little of it, or something that is not JSON.
    func fault(_ bytes: Span<UInt8>) -> AnswerFault {
        self.position >= bytes.count ? .incomplete : .malformed
    }

    /// Steps over one value of any kind. `depth` is how many objects and arrays stand around it.
    mutating func skipValue(_ bytes: Span<UInt8>, depth: Int) throws(AnswerFault) {
        switch self.peek(bytes) {
        case UInt8(ascii: "\""): _ = try self.string(bytes)
        case UInt8(ascii: "{"): try self.skipObject(bytes, depth: depth + 1)
        case UInt8(ascii: "["): try self.skipArray(bytes, depth: depth + 1)
        case UInt8(ascii: "t"): try self.expect("true", bytes)
        case UInt8(ascii: "f"): try self.expect("false", bytes)
        case UInt8(ascii: "n"): try self.expect("null", bytes)
        default: _ = try self.number(bytes)
        }
    }

    private mutating func skipObject(_ bytes: Span<UInt8>, depth: Int) throws(AnswerFault) {
        guard depth <= Self.deepest else { throw .tooDeep }
        try self.expect(UInt8(ascii: "{"), bytes)
        self.skipSpace(bytes)
        if self.take(UInt8(ascii: "}"), bytes) { return }
        repeat {
            self.skipSpace(bytes)
            _ = try self.string(bytes)
            self.skipSpace(bytes)
            try self.expect(UInt8(ascii: ":"), bytes)
            self.skipSpace(bytes)
            try self.skipValue(bytes, depth: depth)
            self.skipSpace(bytes)
        } while self.take(UInt8(ascii: ","), bytes)
        try self.expect(UInt8(ascii: "}"), bytes)
    }

    private mutating func skipArray(_ bytes: Span<UInt8>, depth: Int) throws(AnswerFault) {
        guard depth <= Self.deepest else { throw .tooDeep }
        try self.expect(UInt8(ascii: "["), bytes)
        self.skipSpace(bytes)
        if self.take(UInt8(ascii: "]"), bytes) { return }
        repeat {
            self.skipSpace(bytes)
            try self.skipValue(bytes, depth: depth)
            self.skipSpace(bytes)
        } while self.take(UInt8(ascii: ","), bytes)
        try self.expect(UInt8(ascii: "]"), bytes)
    }

    /// Reads a number (§6). One beyond what a `Double` holds comes back infinite.
    mutating func number(_ bytes: Span<UInt8>) throws(AnswerFault) -> Double {
        let start = self.position
        _ = self.take(UInt8(ascii: "-"), bytes)
        if !self.take(UInt8(ascii: "0"), bytes) { try self.digits(bytes) }
        if self.take(UInt8(ascii: "."), bytes) { try self.digits(bytes) }
        if self.take(UInt8(ascii: "e"), bytes) || self.take(UInt8(ascii: "E"), bytes) {
            if !self.take(UInt8(ascii: "+"), bytes) { _ = self.take(UInt8(ascii: "-"), bytes) }
            try self.digits(bytes)
        }
        var text = ""
        for index in start..<self.position { text.unicodeScalars.append(Unicode.Scalar(bytes[index])) }
        guard let number = Double(text) else { throw .malformed }
        return number
    }

    private mutating func digits(_ bytes: Span<UInt8>) throws(AnswerFault) {
        let start = self.position
        while let byte = self.peek(bytes), (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { self.position += 1 }
        guard self.position > start else { throw self.fault(bytes) }
    }
}
