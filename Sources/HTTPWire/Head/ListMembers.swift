/// The non-empty members of a comma-separated list (RFC 9110 §5.6.1), trimmed, one after the other.
struct ListMembers {
    private var start: Int
    private let end: Int

    init(of range: ByteRange) {
        self.start = range.lower
        self.end = range.upper
    }

    /// The next member, or `nil` behind the last.
    mutating func next(in bytes: Span<UInt8>) -> ByteRange? {
        while self.start < self.end {
            var position = self.start
            while position < self.end, bytes[position] != .comma { position += 1 }
            let member = bytes.trimmed(ByteRange(self.start, position))
            self.start = position + 1
            if !member.isEmpty { return member }
        }
        return nil
    }
}
