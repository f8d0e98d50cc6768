/// The request target (RFC 9112 §3.2), checked so that no upstream can read another path from it than the routes here
/// do.
package struct RequestTarget: Equatable, Sendable {
    /// The path as it came, beginning with `/`; empty for `*` and for an absolute form without a path.
    package let path: ByteRange
    /// From `?` on, or empty.
    package let query: ByteRange
    /// The authority of an absolute form; `nil` for any other form.
    package let authority: ByteRange?
    /// `OPTIONS *`.
    package let isAsterisk: Bool
    /// Whether the path holds a percent sign, so that segments must be decoded to be compared.
    package let isEncoded: Bool

    init(_ range: ByteRange, method: HTTPMethod, in bytes: Span<UInt8>) throws(WireError) {
        if range.count == 1, bytes[range.lower] == 0x2A {
            guard method == .options else { throw .bad("the target * goes with OPTIONS only") }
            self.path = .empty
            self.query = .empty
            self.authority = nil
            self.isAsterisk = true
            self.isEncoded = false
            return
        }

        var pathStart = range.lower
        var authority: ByteRange?
        if bytes[pathStart] != .slash {
            let found = try Self.authority(of: range, in: bytes)
            authority = found
            pathStart = found.upper
        }
        var pathEnd = pathStart
        var isEncoded = false
        var isSuspect = false
        while pathEnd < range.upper, bytes[pathEnd] != .question {
            switch bytes[pathEnd] {
            case .percent:
                isEncoded = true
                isSuspect = true
            case .backslash: isSuspect = true
            // A dot segment begins with its dot, `..;x` too.
            case .dot where bytes[pathEnd - 1] == .slash: isSuspect = true
            default: break
            }
            pathEnd += 1
        }
        let path = ByteRange(pathStart, pathEnd)
        if path.count > 1, bytes[pathStart + 1] == .slash { throw .bad("the path begins with an empty segment") }
        if isSuspect { try PathCheck.check(path, in: bytes) }
        self.path = path
        self.query = ByteRange(pathEnd, range.upper)
        self.authority = authority
        self.isAsterisk = false
        self.isEncoded = isEncoded
    }

    /// The authority of the absolute form `http://authority/…`.
    private static func authority(of range: ByteRange, in bytes: Span<UInt8>) throws(WireError) -> ByteRange {
        let schemes: [StaticString] = ["http://", "https://"]
        for scheme in schemes where range.count > scheme.utf8CodeUnitCount {
            let start = range.lower + scheme.utf8CodeUnitCount
            guard bytes.matches(ByteRange(range.lower, start), scheme) else { continue }
            var end = start
            while end < range.upper, bytes[end] != .slash, bytes[end] != .question { end += 1 }
            return ByteRange(start, end)
        }
        throw .bad("the target is neither a path nor an http URL")
    }
}

/// Refuses paths that two readers may take for different ones: RFC 3986 §6 leaves room for that, and attackers use it.
enum PathCheck {
    /// Checks each segment raw and decoded once. `%2F` and `%5C` don't separate segments, but they must not hide a dot
    /// segment: an upstream may decode before it splits.
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

    /// The text between two separators, reduced to what matters: whether it is `.` or `..` before any `;`.
    private struct Piece {
        private var dots = 0
        private var others = 0
        private var inParameters = false
        /// The previous byte if it was decoded, to recognize overlong UTF-8.
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
