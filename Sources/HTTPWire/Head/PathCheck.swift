/// Refuses paths that two readers may take for different ones: RFC 3986 §6 leaves room, attackers use it.
enum PathCheck {
    /// Looks at each segment raw and decoded once; `%2F` and `%5C` don't separate segments, but must not hide a dot
    /// segment for an upstream that decodes before it splits.
    static func check(_ path: ByteRange, in bytes: Span<UInt8>) throws(WireError) {
        var piece = Piece()
        var segmentIsEmpty = true
        var segments = 0
        var position = path.lower
        while position < path.upper {
            let byte = bytes[position]
            switch byte {
            case .slash:
                try piece.end()
                if segments == 1, segmentIsEmpty { throw .bad("the path begins with an empty segment") }
                segments += 1
                segmentIsEmpty = true
                position += 1
                continue
            case .backslash:
                throw .bad("a backslash in the path")
            case .percent:
                guard position + 2 < path.upper,
                    let high = bytes[position + 1].hexValue,
                    let low = bytes[position + 2].hexValue
                else { throw .bad("a percent sign without two hexadecimal digits in the path") }
                try piece.take(decoded: high << 4 | low)
                position += 3
            default:
                piece.take(byte)
                position += 1
            }
            segmentIsEmpty = false
        }
        try piece.end()
    }

    /// What stands between two separators, as far as it matters: is it `.` or `..` before any `;`?
    private struct Piece {
        private var dots = 0
        private var others = 0
        private var inParameters = false
        /// The byte before, when it was decoded, to see overlong UTF-8.
        private var lead: UInt8 = 0

        mutating func take(_ byte: UInt8) {
            self.lead = 0
            guard !self.inParameters else { return }
            switch byte {
            case .dot: self.dots += 1
            case .semicolon: self.inParameters = true
            default: self.others += 1
            }
        }

        mutating func take(decoded byte: UInt8) throws(WireError) {
            let lead = self.lead
            switch byte {
            case 0..<0x20, 0x7F: throw .bad("an encoded control character in the path")
            case .slash, .backslash: try self.end()
            case 0xC0, 0xC1: throw .bad("overlong UTF-8 in the path")
            case 0x80..<0xA0 where lead == 0xE0, 0x80..<0x90 where lead == 0xF0,
                0x80..<0x88 where lead == 0xF8, 0x80..<0x84 where lead == 0xFC:
                throw .bad("overlong UTF-8 in the path")
            default: self.take(byte)
            }
            self.lead = byte
        }

        mutating func end() throws(WireError) {
            guard self.others > 0 || self.dots == 0 || self.dots > 2 else { throw .bad("a dot segment in the path") }
            self = Piece()
        }
    }
}
