import HTTPWire

/// The non-empty members of a comma-separated list (RFC 9110 §5.6.1), trimmed, one after the other. A comma within a
/// quoted string does not separate.
struct QuotedList {
    private var start: Int
    private let end: Int
    private let hasEscapes: Bool
    /// A quote was found that none closes. It is a character like others then, and so is each that follows: otherwise it
    /// would hide the members behind it.
    private var hasOpenQuote = false

    /// - Parameter hasEscapes: whether a backslash in quotes escapes (RFC 9110 §5.6.4). In an entity tag it does not.
    init(of range: ByteRange, hasEscapes: Bool = true) {
        self.start = range.lower
        self.end = range.upper
        self.hasEscapes = hasEscapes
    }

    /// The next member, or `nil` after the last.
    mutating func next(in bytes: Span<UInt8>) -> ByteRange? {
        while self.start < self.end {
            var position = self.start
            while position < self.end, bytes[position] != UInt8(ascii: ",") {
                if bytes[position] == UInt8(ascii: "\""), !self.hasOpenQuote {
                    let close = self.closingQuote(behind: position, in: bytes)
                    self.hasOpenQuote = close == nil
                    position = close ?? position
                }
                position += 1
            }
            let member = bytes.trimmed(ByteRange(self.start, position))
            self.start = position + 1
            if !member.isEmpty { return member }
        }
        return nil
    }

    private func closingQuote(behind open: Int, in bytes: Span<UInt8>) -> Int? {
        var position = open + 1
        while position < self.end {
            if bytes[position] == UInt8(ascii: "\"") { return position }
            position += self.hasEscapes && bytes[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        return nil
    }
}

/// One directive of `Cache-Control` (RFC 9111 §5.2): a name, and a value if there is a `=`.
struct Directive {
    /// Compared without regard to case.
    let name: ByteRange
    /// Without its quotes. Empty where white space around the `=` breaks the syntax: such a value is no number.
    let value: ByteRange?

    /// - Parameter member: of the list, not empty.
    init(_ member: ByteRange, in bytes: Span<UInt8>) {
        var equals = member.lower
        while equals < member.upper, bytes[equals] != UInt8(ascii: "=") { equals += 1 }
        self.name = bytes.trimmed(ByteRange(member.lower, equals))
        guard equals < member.upper else {
            self.value = nil
            return
        }
        let value = ByteRange(equals + 1, member.upper)
        if self.name.upper != equals || bytes.trimmed(value) != value {
            self.value = .empty
        } else if value.count >= 2, bytes[value.lower] == UInt8(ascii: "\""),
            bytes[value.upper - 1] == UInt8(ascii: "\"")
        {
            // Senders must not quote seconds, but recipients ought to take them (RFC 9111 §5.2).
            self.value = ByteRange(value.lower + 1, value.upper - 1)
        } else {
            self.value = value
        }
    }

    /// The value as seconds; `nil` if it is none, or if there is no value.
    func seconds(in bytes: Span<UInt8>) -> Int? { self.value.flatMap { DeltaSeconds.read($0, in: bytes) } }
}

/// A number of seconds (RFC 9111 §1.2.2).
enum DeltaSeconds {
    /// What a larger number counts as. It fits an age in nanoseconds.
    static let most = 1 << 31

    /// Digits only, at least one; `nil` for anything else.
    static func read(_ range: ByteRange, in bytes: Span<UInt8>) -> Int? {
        guard !range.isEmpty else { return nil }
        var seconds = 0
        for position in range.lower..<range.upper {
            guard bytes[position].isDigit else { return nil }
            seconds = min(seconds * 10 + Int(bytes[position] & 0x0F), Self.most)
        }
        return seconds
    }
}
