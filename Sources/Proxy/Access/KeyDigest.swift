internal import Crypto

/// The SHA-256 of a caller's key: what the configuration knows of it.
package struct KeyDigest: Hashable, Sendable {
    private let first: UInt64
    private let second: UInt64
    private let third: UInt64
    private let fourth: UInt64

    /// The length of a digest, in bytes.
    package static let count = SHA256.Digest.byteCount

    /// A digest as the configuration has it; `nil` for another number of bytes.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.count else { return nil }
        unsafe self.init(bytes.span.bytes)
    }

    /// The digest of a key.
    package init(of key: Span<UInt8>) {
        var hash = SHA256()
        unsafe key.withUnsafeBytes { unsafe hash.update(bufferPointer: $0) }
        self = unsafe hash.finalize().withUnsafeBytes { unsafe Self($0.bytes) }
    }

    private init(_ bytes: RawSpan) {
        self.first = unsafe bytes.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt64.self)
        self.second = unsafe bytes.unsafeLoadUnaligned(fromByteOffset: 8, as: UInt64.self)
        self.third = unsafe bytes.unsafeLoadUnaligned(fromByteOffset: 16, as: UInt64.self)
        self.fourth = unsafe bytes.unsafeLoadUnaligned(fromByteOffset: 24, as: UInt64.self)
    }
}
