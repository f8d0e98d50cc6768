#if canImport(Glibc)
    import Glibc
#endif

/// The position of something in the bytes of a head: half-open, counted from the head's first byte.
package struct ByteRange: Equatable, Sendable {
    private let start: UInt32
    private let end: UInt32

    /// From `lower` up to before `upper`.
    package init(_ lower: Int, _ upper: Int) {
        // A head is bounded far below 4 GiB by its limits.
        self.start = UInt32(truncatingIfNeeded: lower)
        self.end = UInt32(truncatingIfNeeded: upper)
    }

    /// The empty range.
    package static let empty = ByteRange(0, 0)

    /// Offset of the first byte.
    package var lower: Int { Int(self.start) }
    /// Offset behind the last byte.
    package var upper: Int { Int(self.end) }
    /// Length in bytes.
    package var count: Int { Int(self.end) - Int(self.start) }
    /// Whether no byte is in it.
    package var isEmpty: Bool { self.start == self.end }
}

// The character classes of RFC 9110 §5.6.2 and RFC 3986 as bit sets: no table in memory, no branch per class.

extension UInt8 {
    static var carriageReturn: UInt8 { 0x0D }
    static var lineFeed: UInt8 { 0x0A }
    static var tab: UInt8 { 0x09 }
    static var space: UInt8 { 0x20 }
    static var colon: UInt8 { 0x3A }
    static var semicolon: UInt8 { 0x3B }
    static var comma: UInt8 { 0x2C }
    static var slash: UInt8 { 0x2F }
    static var backslash: UInt8 { 0x5C }
    static var percent: UInt8 { 0x25 }
    static var dot: UInt8 { 0x2E }
    static var question: UInt8 { 0x3F }
    static var quote: UInt8 { 0x22 }
    static var equals: UInt8 { 0x3D }
    static var underscore: UInt8 { 0x5F }

    /// `tchar`: ``!#$%&'*+-.^_`|~``, digits and letters.
    package var isToken: Bool {
        // Bits 0x21 0x23–0x27 0x2A 0x2B 0x2D 0x2E 0x30–0x39; then 0x41–0x5A 0x5E–0x7A 0x7C 0x7E.
        let set: UInt64 = self < 64 ? 0x03FF_6CFA_0000_0000 : 0x57FF_FFFF_C7FF_FFFE
        return self < 128 && (set >> UInt64(self & 63)) & 1 == 1
    }

    /// What a field value may hold: visible ASCII, space, tab and 0x80–0xFF.
    package var isFieldValue: Bool { self >= 0x20 && self != 0x7F || self == .tab }

    /// Visible ASCII.
    package var isVisible: Bool { self > 0x20 && self < 0x7F }

    /// `0` to `9`.
    package var isDigit: Bool { self &- 0x30 < 10 }

    /// Whether it may stand in a registered name or an IPv4 address. The sub-delimiters of RFC 3986 are left out on
    /// purpose.
    var isHostName: Bool {
        self.isDigit || self.lowercased &- 0x61 < 26 || self == 0x2D || self == .dot || self == .underscore
            || self == 0x7E
    }

    /// An ASCII letter in lower case; any other byte as it is.
    package var lowercased: UInt8 { self &- 0x41 < 26 ? self | 0x20 : self }

    /// The value of a hexadecimal digit.
    package var hexValue: UInt8? {
        if self.isDigit { return self &- 0x30 }
        let letter = self.lowercased
        return letter &- 0x61 < 6 ? letter &- 0x57 : nil
    }
}

extension Span<UInt8> {
    /// Whether the bytes of `range` are `text`, ignoring case. `text` must be in lower case.
    package func matches(_ range: ByteRange, _ text: StaticString) -> Bool {
        guard range.count == text.utf8CodeUnitCount else { return false }
        return text.withUTF8Buffer { text in
            for index in 0..<text.count {
                guard unsafe self[range.lower + index].lowercased == text[index] else { return false }
            }
            return true
        }
    }

    /// Whether the bytes of `range` are `bytes`, ignoring case. `bytes` must be in lower case.
    package func matches(_ range: ByteRange, lowercase bytes: [UInt8]) -> Bool {
        guard range.count == bytes.count else { return false }
        for index in bytes.indices where self[range.lower + index].lowercased != bytes[index] {
            return false
        }
        return true
    }

    /// The bytes of `range` in lower case, with `-` for each `_`.
    func hyphenated(_ range: ByteRange) -> [UInt8] {
        (range.lower..<range.upper).map { self[$0] == .underscore ? 0x2D : self[$0].lowercased }
    }

    /// Whether the bytes of `range` are UTF-8 (RFC 3629 §4) without spaces and without control characters of one or two
    /// bytes.
    func isVisibleUTF8(_ range: ByteRange) -> Bool {
        var position = range.lower
        while position < range.upper {
            // The second byte shows overlong forms and surrogates.
            let (count, second): (Int, ClosedRange<UInt8>) =
                switch self[position] {
                case 0x21...0x7E: (1, 0...0)
                case 0xC2: (2, 0xA0...0xBF)
                case 0xC3...0xDF: (2, 0x80...0xBF)
                case 0xE0: (3, 0xA0...0xBF)
                case 0xED: (3, 0x80...0x9F)
                case 0xE1...0xEF: (3, 0x80...0xBF)
                case 0xF0: (4, 0x90...0xBF)
                case 0xF1...0xF3: (4, 0x80...0xBF)
                case 0xF4: (4, 0x80...0x8F)
                default: (0, 0...0)
                }
            guard count > 0, position + count <= range.upper else { return false }
            if count > 1, !second.contains(self[position + 1]) { return false }
            for offset in 2..<Swift.max(count, 2) where self[position + offset] & 0xC0 != 0x80 { return false }
            position += count
        }
        return true
    }

    /// Whether no byte of `range` is above 0x7F.
    func isASCII(_ range: ByteRange) -> Bool {
        for position in range.lower..<range.upper where self[position] >= 0x80 { return false }
        return true
    }

    /// `range` without spaces and tabs at both ends.
    package func trimmed(_ range: ByteRange) -> ByteRange {
        var lower = range.lower
        var upper = range.upper
        while lower < upper, self[lower] == .space || self[lower] == .tab { lower += 1 }
        while lower < upper, self[upper - 1] == .space || self[upper - 1] == .tab { upper -= 1 }
        return ByteRange(lower, upper)
    }
}

// The two searches that every byte of a head goes through, many bytes at a time.

extension Span<UInt8> {
    /// The first LF at or behind `start` and before `end`.
    func firstLineFeed(from start: Int, to end: Int) -> Int? {
        precondition(start >= 0 && end <= self.count)
        guard start < end else { return nil }
        return unsafe self.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress,
                let found = unsafe memchr(base + start, CInt(UInt8.lineFeed), end - start)
            else { return nil }
            return unsafe UnsafeRawPointer(found) - UnsafeRawPointer(base)
        }
    }

    /// Looks at eight bytes at a time from `start` on. Returns where the first eight begin that hold a control
    /// character (a tab is one too) or DEL, or that are not all there.
    func endOfVisibleWords(from start: Int) -> Int {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highBits: UInt64 = 0x8080_8080_8080_8080
        var position = start
        while position + 8 <= self.count {
            let word = unsafe self.bytes.unsafeLoadUnaligned(fromByteOffset: position, as: UInt64.self)
            // A subtraction that borrows sets a byte's high bit. A byte that had it before is not ASCII, and is allowed
            // here.
            let controls = (word &- ones &* 0x20) & ~word
            let flipped = word ^ (ones &* 0x7F)
            let deletes = (flipped &- ones) & ~flipped
            guard (controls | deletes) & highBits == 0 else { break }
            position += 8
        }
        return position
    }
}
