/// Reads JSON text (RFC 8259) byte by byte. It is strict, limits the nesting depth, and never reads past the end.
///
/// The scanner stores only the position. Each call borrows the bytes, because they may be secret.
package struct JSONScanner: Sendable {
    /// The maximum nesting depth. No genuine response is nested deeper, and the limit keeps the recursion safe.
    package static let deepest = 16

    package private(set) var position: Int

    /// Starts at an offset, such as the one after a byte order mark.
    package init(at position: Int) { self.position = position }

    /// Skips white space.
    package mutating func skipSpace(_ bytes: Span<UInt8>) {
        while self.position < bytes.count {
            switch bytes[self.position] {
            case 0x20, 0x09, 0x0A, 0x0D: self.position += 1
            default: return
            }
        }
    }

    /// The next byte; `nil` at the end.
    package func peek(_ bytes: Span<UInt8>) -> UInt8? {
        self.position < bytes.count ? bytes[self.position] : nil
    }

    /// Consumes the next byte if it is `byte`.
    package mutating func take(_ byte: UInt8, _ bytes: Span<UInt8>) -> Bool {
        guard self.peek(bytes) == byte else { return false }
        self.position += 1
        return true
    }

    /// Consumes the next byte, which must be `byte`.
    package mutating func expect(_ byte: UInt8, _ bytes: Span<UInt8>) throws(JSONScanFault) {
        guard self.take(byte, bytes) else { throw self.fault(bytes) }
    }

    /// Consumes the next bytes, which must be `word`.
    package mutating func expect(_ word: StaticString, _ bytes: Span<UInt8>) throws(JSONScanFault) {
        for byte in word.description.utf8 { try self.expect(byte, bytes) }
    }

    /// The fault at the current position: the text ends here, or this byte is not valid JSON.
    package func fault(_ bytes: Span<UInt8>) -> JSONScanFault {
        self.position >= bytes.count ? .incomplete : .malformed
    }

    /// Skips one value of any kind. `depth` is the number of objects and arrays around it.
    package mutating func skipValue(_ bytes: Span<UInt8>, depth: Int) throws(JSONScanFault) {
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

    private mutating func skipObject(_ bytes: Span<UInt8>, depth: Int) throws(JSONScanFault) {
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

    private mutating func skipArray(_ bytes: Span<UInt8>, depth: Int) throws(JSONScanFault) {
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

    /// Reads a number (§6). A number outside the range of `Double` is returned as infinity.
    package mutating func number(_ bytes: Span<UInt8>) throws(JSONScanFault) -> Double {
        guard let number = Double(try self.numberText(bytes)) else { throw .malformed }
        return number
    }

    /// Reads a number (§6) and returns its text.
    package mutating func numberText(_ bytes: Span<UInt8>) throws(JSONScanFault) -> String {
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
        return text
    }

    /// Moves back to the byte that was just consumed, so that the position names the faulty byte.
    mutating func stepBack() { self.position -= 1 }

    private mutating func digits(_ bytes: Span<UInt8>) throws(JSONScanFault) {
        let start = self.position
        while let byte = self.peek(bytes), (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { self.position += 1 }
        guard self.position > start else { throw self.fault(bytes) }
    }
}

/// Why bytes are not accepted as JSON text.
package enum JSONScanFault: Error, Equatable, Sendable {
    case malformed
    /// The text ends before the value is complete.
    case incomplete
    /// Objects and arrays are nested deeper than ``JSONScanner/deepest``.
    case tooDeep
}
