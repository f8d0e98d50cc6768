internal import Glibc
package import NIOCore

/// The user whose process has connected over a Unix socket, or listens on it, according to the kernel (unix(7),
/// SO_PEERCRED). It is the user at that moment, even if another process holds the connection later.
package struct PeerIdentity: Equatable, Sendable {
    package let user: UInt32
    /// The process's own group; the kernel does not tell its supplementary groups.
    package let group: UInt32

    package init(user: UInt32, group: UInt32) {
        self.user = user
        self.group = group
    }
}

extension Channel {
    /// The identity of the process at the other end of a Unix socket; `nil` if the kernel does not tell. Asked once per
    /// connection.
    package func peerIdentity() -> EventLoopFuture<PeerIdentity?> {
        guard let socket = self as? any SocketOptionProvider else { return self.eventLoop.makeSucceededFuture(nil) }
        let answer: EventLoopFuture<Credentials> = socket.unsafeGetSocketOption(
            level: .socket,
            name: .init(rawValue: SO_PEERCRED)
        )
        return
            answer
            .map { PeerIdentity(user: $0.user, group: $0.group) }
            .flatMapErrorThrowing { _ in nil }
    }
}

/// `struct ucred` (unix(7)).
private struct Credentials: Sendable {
    var process: Int32 = 0
    var user: UInt32 = 0
    var group: UInt32 = 0
}

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
