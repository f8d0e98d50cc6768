import NIOCore

#if canImport(Glibc)
    import Glibc
#endif

extension Channel {
    /// Whose process is at the other end of a Unix socket; `nil` where the kernel does not tell. Asked once per connection.
    func peerIdentity() -> EventLoopFuture<PeerIdentity?> {
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
