import HTTPWire

/// An `ETag` (RFC 9110 §8.8.3), or a member of `If-None-Match`.
struct EntityTag: Equatable, Sendable {
    let isWeak: Bool
    /// Where it stands in the field, with its quotes and without `W/`. A tag without quotes breaks the syntax, but some
    /// servers send it and compare it: it counts if it is one word.
    let opaque: ByteRange

    init?(_ range: ByteRange, in bytes: Span<UInt8>) {
        // `W` is case-sensitive.
        self.isWeak =
            range.count > 2 && bytes[range.lower] == UInt8(ascii: "W") && bytes[range.lower + 1] == UInt8(ascii: "/")
        let opaque = ByteRange(self.isWeak ? range.lower + 2 : range.lower, range.upper)
        guard !opaque.isEmpty else { return nil }
        let isQuoted = bytes[opaque.lower] == UInt8(ascii: "\"")
        if isQuoted, opaque.count < 2 || bytes[opaque.upper - 1] != UInt8(ascii: "\"") { return nil }
        let inner = isQuoted ? ByteRange(opaque.lower + 1, opaque.upper - 1) : opaque
        for position in inner.lower..<inner.upper {
            switch bytes[position] {
            case UInt8(ascii: "\""), 0...0x20, 0x7F: return nil
            case UInt8(ascii: ",") where !isQuoted, UInt8(ascii: "*") where !isQuoted: return nil
            default: break
            }
        }
        self.opaque = opaque
    }
}

/// An entity tag with its own memory.
struct StoredTag: Equatable, Sendable {
    let isWeak: Bool
    let opaque: [UInt8]

    init(_ tag: EntityTag, in bytes: Span<UInt8>) {
        self.isWeak = tag.isWeak
        self.opaque = bytes.copy(tag.opaque)
    }

    /// As it stands in a field.
    var text: [UInt8] { (self.isWeak ? Array("W/".utf8) : []) + self.opaque }

    /// The weak comparison (RFC 9110 §8.8.3.2): the strength does not matter.
    func isWeaklyEqual(_ other: EntityTag, in bytes: Span<UInt8>) -> Bool { bytes.holds(self.opaque, at: other.opaque) }

    /// The strong comparison: both are strong.
    func isStronglyEqual(_ other: EntityTag, in bytes: Span<UInt8>) -> Bool {
        !self.isWeak && !other.isWeak && self.isWeaklyEqual(other, in: bytes)
    }
}
