/// `HTTP/1.1` or `HTTP/1.0` (RFC 9112 §2.3).
enum HTTPVersion {
    /// The minor version.
    ///
    /// - Throws: ``WireError/Code/versionUnsupported`` for another version of HTTP, ``WireError/Code/badRequest`` for
    ///   what is no HTTP version.
    static func minor(_ range: ByteRange, in bytes: Span<UInt8>) throws(WireError) -> UInt8 {
        guard range.count == 8,
            bytes[range.lower] == 0x48, bytes[range.lower + 1] == 0x54, bytes[range.lower + 2] == 0x54,
            bytes[range.lower + 3] == 0x50, bytes[range.lower + 4] == .slash,
            bytes[range.lower + 5].isDigit, bytes[range.lower + 6] == .dot, bytes[range.lower + 7].isDigit
        else { throw .bad("no HTTP version where it belongs") }
        guard bytes[range.lower + 5] == 0x31, bytes[range.lower + 7] <= 0x31 else {
            throw WireError(.httpVersion)
        }
        return bytes[range.lower + 7] & 1
    }
}
