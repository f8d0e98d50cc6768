/// The request target (RFC 9112 §3.2), checked so that no upstream can read another path from it than the routes here.
package struct RequestTarget: Equatable, Sendable {
    /// The path as it came, beginning with `/`; empty for `*` and for an absolute form without a path.
    package let path: ByteRange
    /// From `?` on, or empty.
    package let query: ByteRange
    /// Of the absolute form.
    package let authority: ByteRange?
    /// `OPTIONS *`.
    package let isAsterisk: Bool
    /// Whether a percent sign stands in the path, so that comparing segments means decoding them.
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
