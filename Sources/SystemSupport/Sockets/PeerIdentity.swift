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
