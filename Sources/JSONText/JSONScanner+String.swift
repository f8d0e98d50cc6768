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
            guard let digit = Self.hexadecimal(byte) else { throw .malformed }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }

    private static func hexadecimal(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
