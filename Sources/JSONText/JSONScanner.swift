/// Walks through JSON text (RFC 8259) byte by byte; strict, bounded in depth, and never beyond the end.
///
/// It holds only the position: the bytes are lent to each call, because they may be secret.
package struct JSONScanner: Sendable {
    /// Deeper than any honest answer, and shallow enough for recursion.
    package static let deepest = 16

    package private(set) var position: Int

    /// Begins at an offset, behind a byte order mark for instance.
    package init(at position: Int) { self.position = position }

    /// Steps over white space.
    package mutating func skipSpace(_ bytes: Span<UInt8>) {
        while self.position < bytes.count {
            switch bytes[self.position] {
            case 0x20, 0x09, 0x0A, 0x0D: self.position += 1
            default: return
            }
        }
    }

    /// The byte that comes next.
    package func peek(_ bytes: Span<UInt8>) -> UInt8? {
        self.position < bytes.count ? bytes[self.position] : nil
    }

    /// Steps over `byte` when it comes next.
    package mutating func take(_ byte: UInt8, _ bytes: Span<UInt8>) -> Bool {
        guard self.peek(bytes) == byte else { return false }
        self.position += 1
        return true
    }

    /// Steps over `byte`, which must come next.
    package mutating func expect(_ byte: UInt8, _ bytes: Span<UInt8>) throws(JSONScanFault) {
        guard self.take(byte, bytes) else { throw self.fault(bytes) }
    }

    /// Steps over `word`, which must come next.
    package mutating func expect(_ word: StaticString, _ bytes: Span<UInt8>) throws(JSONScanFault) {
        for byte in word.description.utf8 { try self.expect(byte, bytes) }
    }

    /// What is wrong here: too little of it, or something that is not JSON.
    package func fault(_ bytes: Span<UInt8>) -> JSONScanFault {
        self.position >= bytes.count ? .incomplete : .malformed
    }

    /// Steps over one value of any kind. `depth` is how many objects and arrays stand around it.
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

    /// Reads a number (§6). One beyond what a `Double` holds comes back infinite.
    package mutating func number(_ bytes: Span<UInt8>) throws(JSONScanFault) -> Double {
        guard let number = Double(try self.numberText(bytes)) else { throw .malformed }
        return number
    }

    /// Reads a number (§6) as it is written.
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

    /// A byte that was taken and is at fault: the position is to name it.
    mutating func stepBack() { self.position -= 1 }

    private mutating func digits(_ bytes: Span<UInt8>) throws(JSONScanFault) {
        let start = self.position
        while let byte = self.peek(bytes), (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { self.position += 1 }
        guard self.position > start else { throw self.fault(bytes) }
    }
}

/// Why bytes are not the JSON text that is taken here.
package enum JSONScanFault: Error, Equatable, Sendable {
    case malformed
    /// It ends in the middle.
    case incomplete
    /// Objects and arrays stand in each other more than ``JSONScanner/deepest`` times.
    case tooDeep
}
