package import NIOCore

/// Where a connection comes from, as far as that tells one peer from another: an IPv4 address, or the first 64 bits of
/// an IPv6 address, since a peer that has one such address has all addresses with the same beginning (RFC 6177 §2).
package enum PeerNetwork: Hashable, Sendable {
    case v4(UInt32)
    case v6(UInt64)

    /// - Returns: `nil` for an address of another kind, such as a Unix socket's.
    package init?(_ address: SocketAddress) {
        switch address {
        case .v4:
            self = .v4(UInt32(bigEndian: Self.load(at: 4, of: address)))
        case .v6:
            let first = UInt64(bigEndian: Self.load(at: 8, of: address))
            let second = UInt64(bigEndian: Self.load(at: 16, of: address))
            // IPv4 peer of a socket that takes both kinds (RFC 4291 §2.5.5.2).
            let isMapped = first == 0 && second >> 32 == 0xFFFF
            self = isMapped ? .v4(UInt32(truncatingIfNeeded: second)) : .v6(first)
        case .unixDomainSocket:
            return nil
        }
    }

    /// Reads from the system's form of an address, as ip(7) and ipv6(7) lay it out.
    private static func load<Value: FixedWidthInteger & BitwiseCopyable>(at offset: Int, of address: SocketAddress)
        -> Value
    {
        unsafe address.withSockAddr { pointer, size in
            let bytes = unsafe UnsafeRawBufferPointer(start: pointer, count: size)
            return unsafe bytes.loadUnaligned(fromByteOffset: offset, as: Value.self)
        }
    }
}
