import NIOCore

extension ResponseHead {
    /// How long the upstream keeps the connection without a request, in seconds: `Keep-Alive: timeout=N` (RFC 2068
    /// §19.7.1); the least where it says so more than once, `nil` where it does not.
    package var keepAliveTimeout: Int? {
        var least: Int?
        for field in self.fields where field.known == .keepAlive {
            let bytes = self.bytes.readableBytesUInt8Span
            var members = ListMembers(of: field.value)
            while let member = members.next(in: bytes) {
                guard let seconds = Self.timeout(member, in: bytes) else { continue }
                least = min(least ?? seconds, seconds)
            }
        }
        return least
    }

    private static func timeout(_ member: ByteRange, in bytes: Span<UInt8>) -> Int? {
        var equals = member.lower
        while equals < member.upper, bytes[equals] != .equals { equals += 1 }
        guard equals < member.upper, bytes.matches(bytes.trimmed(ByteRange(member.lower, equals)), "timeout") else {
            return nil
        }
        let digits = bytes.trimmed(ByteRange(equals + 1, member.upper))
        guard !digits.isEmpty else { return nil }
        var seconds = 0
        for position in digits.lower..<digits.upper {
            guard bytes[position].isDigit else { return nil }
            // A day is as good as for ever.
            seconds = min(seconds * 10 + Int(bytes[position] & 0x0F), 86_400)
        }
        return seconds
    }
}
