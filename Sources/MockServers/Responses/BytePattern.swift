internal import NIOCore

/// The bytes that `/api/bytes` serves: byte *i* is *i* mod 251. A prime period does not line up with any power of two, so
/// that a lost or doubled buffer shows.
package enum BytePattern {
    /// The byte at `index`.
    package static func byte(at index: Int) -> UInt8 { UInt8(index % Self.period) }

    /// Whole periods, close to 64 KiB: what is sent at once.
    static let block = ByteBuffer(bytes: (0..<(Self.period * 261)).map(Self.byte(at:)))

    private static let period = 251
}
