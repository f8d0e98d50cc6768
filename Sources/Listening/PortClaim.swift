internal import Glibc
package import NIOCore
internal import NIOPosix

/// On what terms a process listens on a TCP port.
///
/// A port changes hands without a gap only if all who listen on it have said before that they would share it
/// (`SO_REUSEPORT`, socket(7)), and are the same user's. But then a second process that was started by mistake would
/// silently get half of the connections: so whoever does not mean to take over looks first whether the port is free.
package enum PortClaim: Sendable {
    /// Nobody else may listen there, now or later.
    case exclusive
    /// Nobody else listens there now; a successor may later.
    case first
    /// Somebody may listen there, who is about to stop.
    case successor

    /// What the listening sockets are to be opened with.
    package var reusePort: SocketOptionValue { self == .exclusive ? 0 : 1 }

    /// Makes sure, for ``first``, that nobody listens there: binds once without sharing, and lets go again.
    ///
    /// - Throws: what the system says where somebody does.
    package func look(at host: String, _ port: Int, on group: any EventLoopGroup) async throws {
        // A port that the system is to choose is nobody else's.
        guard self == .first, port != 0 else { return }
        let probe = try await ServerBootstrap(group: group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // Whoever connects in this moment waits for the listeners.
            .serverChannelOption(.autoRead, value: false)
            .bind(host: host, port: port).get()
        try await probe.close()
    }
}

extension NIOBSDSocket.Option {
    /// Several sockets listen on one port, and the kernel spreads connections over them.
    package static let reusePort = NIOBSDSocket.Option(rawValue: SO_REUSEPORT)
}
