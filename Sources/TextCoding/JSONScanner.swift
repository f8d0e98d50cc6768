/// Reads JSON text (RFC 8259) byte by byte. It is strict, limits the nesting depth, and never reads past the end.
///
/// The scanner stores only the position. Each call borrows the bytes, because they may be secret.
package struct JSONScanner: Sendable {
    /// The maximum nesting depth. No genuine response is nested deeper, and the limit keeps the recursion safe.
    package static let deepest = 16

    package private(set) var position: Int

    /// The offset of the text in `bytes`: behind a byte order mark, which is ignored (§8.1).
    package static func start(of bytes: Span<UInt8>) -> Int {
        bytes.count >= 3 && bytes[0] == 0xEF && bytes[1] == 0xBB && bytes[2] == 0xBF ? 3 : 0
    }

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
        case UInt8(ascii: "{"):
            try self.object(bytes, depth: depth + 1) { _, scanner throws(JSONScanFault) in
                try scanner.skipValue(bytes, depth: depth + 1)
            }
        case UInt8(ascii: "["):
            try self.array(bytes, depth: depth + 1) { scanner throws(JSONScanFault) in
                try scanner.skipValue(bytes, depth: depth + 1)
            }
        case UInt8(ascii: "t"): try self.expect("true", bytes)
        case UInt8(ascii: "f"): try self.expect("false", bytes)
        case UInt8(ascii: "n"): try self.expect("null", bytes)
        default: _ = try self.number(bytes)
        }
    }

    /// Reads one object. Calls `member` at each value; `member` must consume the value.
    ///
    /// - Parameter depth: the number of objects and arrays around the members, this object included.
    package mutating func object(
        _ bytes: Span<UInt8>,
        depth: Int,
        _ member: (_ name: [UInt8], _ scanner: inout JSONScanner) throws(JSONScanFault) -> Void
    ) throws(JSONScanFault) {
        try self.list(UInt8(ascii: "{"), UInt8(ascii: "}"), bytes, depth: depth) { scanner throws(JSONScanFault) in
            let name = try scanner.string(bytes)
            scanner.skipSpace(bytes)
            try scanner.expect(UInt8(ascii: ":"), bytes)
            scanner.skipSpace(bytes)
            try member(name, &scanner)
        }
    }

    /// Reads one array. Calls `element` at each value; `element` must consume the value.
    ///
    /// - Parameter depth: the number of objects and arrays around the elements, this array included.
    package mutating func array(
        _ bytes: Span<UInt8>,
        depth: Int,
        _ element: (_ scanner: inout JSONScanner) throws(JSONScanFault) -> Void
    ) throws(JSONScanFault) {
        try self.list(UInt8(ascii: "["), UInt8(ascii: "]"), bytes, depth: depth, element)
    }

    private mutating func list(
        _ start: UInt8,
        _ end: UInt8,
        _ bytes: Span<UInt8>,
        depth: Int,
        _ item: (_ scanner: inout JSONScanner) throws(JSONScanFault) -> Void
    ) throws(JSONScanFault) {
        guard depth <= Self.deepest else { throw .tooDeep }
        try self.expect(start, bytes)
        self.skipSpace(bytes)
        if self.take(end, bytes) { return }
        repeat {
            self.skipSpace(bytes)
            try item(&self)
            self.skipSpace(bytes)
        } while self.take(UInt8(ascii: ","), bytes)
        try self.expect(end, bytes)
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
    private mutating func stepBack() { self.position -= 1 }

    private mutating func digits(_ bytes: Span<UInt8>) throws(JSONScanFault) {
        let start = self.position
        while let byte = self.peek(bytes), (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { self.position += 1 }
        guard self.position > start else { throw self.fault(bytes) }
    }
}

extension JSONScanner {
    /// Reads a string (RFC 8259 §7) and returns its UTF-8 bytes with the escapes resolved.
    package mutating func string(_ bytes: Span<UInt8>) throws(JSONScanFault) -> [UInt8] {
        try self.expect(UInt8(ascii: "\""), bytes)
        var decoded: [UInt8] = []
        while let byte = self.next(bytes) {
            switch byte {
            case UInt8(ascii: "\""): return decoded
            case UInt8(ascii: "\\"): try self.escape(bytes, into: &decoded)
            case 0x00..<0x20:
                self.stepBack()
                throw .malformed
            default: decoded.append(byte)
            }
        }
        throw .incomplete
    }

    private mutating func next(_ bytes: Span<UInt8>) -> UInt8? {
        guard let byte = self.peek(bytes) else { return nil }
        return self.take(byte, bytes) ? byte : nil
    }

    private mutating func escape(_ bytes: Span<UInt8>, into decoded: inout [UInt8]) throws(JSONScanFault) {
        switch self.next(bytes) {
        case UInt8(ascii: "\""): decoded.append(UInt8(ascii: "\""))
        case UInt8(ascii: "\\"): decoded.append(UInt8(ascii: "\\"))
        case UInt8(ascii: "/"): decoded.append(UInt8(ascii: "/"))
        case UInt8(ascii: "b"): decoded.append(0x08)
        case UInt8(ascii: "f"): decoded.append(0x0C)
        case UInt8(ascii: "n"): decoded.append(0x0A)
        case UInt8(ascii: "r"): decoded.append(0x0D)
        case UInt8(ascii: "t"): decoded.append(0x09)
        case UInt8(ascii: "u"): decoded.append(contentsOf: String(try self.scalar(bytes)).utf8)
        case nil: throw .incomplete
        default: throw .malformed
        }
    }

    /// Reads the scalar of one `\uXXXX` escape, or of two escapes that form a surrogate pair. Half a pair is
    /// malformed.
    private mutating func scalar(_ bytes: Span<UInt8>) throws(JSONScanFault) -> Unicode.Scalar {
        let first = try self.unit(bytes)
        if let scalar = Unicode.Scalar(first) { return scalar }

        try self.expect(UInt8(ascii: "\\"), bytes)
        try self.expect(UInt8(ascii: "u"), bytes)
        let second = try self.unit(bytes)
        guard UTF16.isLeadSurrogate(first), UTF16.isTrailSurrogate(second),
            let scalar = Unicode.Scalar(0x1_0000 + ((UInt32(first) - 0xD800) << 10 | (UInt32(second) - 0xDC00)))
        else { throw .malformed }
        return scalar
    }

    private mutating func unit(_ bytes: Span<UInt8>) throws(JSONScanFault) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = self.next(bytes) else { throw .incomplete }
            guard let digit = HexDigit.value(byte) else { throw .malformed }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
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
