internal import Listening
internal import ServiceLifecycle

/// The admin API on a Unix socket, where the process's own user and root need no token: who they are the kernel says.
///
/// It serves what ``AdminServer`` does but for the dashboard, which browsers could not open there.
package final class AdminSocket: Service, Sendable {
    /// Of the socket itself; the latest process's has another name, too.
    package var path: String { self.socket.path }

    private let socket: LinkedSocket
    private let listener: OperatorListener

    private init(_ socket: LinkedSocket, _ listener: OperatorListener) {
        self.socket = socket
        self.listener = listener
    }

    /// Listens beside `link`, and has the link name this socket from now on. Connections wait there for ``run()``.
    ///
    /// - Parameter server: answers its requests, too.
    /// - Throws: what keeps it from listening; where it is the socket's file, with its path and what would help.
    package static func listen(
        beside link: String,
        with server: AdminServer,
        limits: AdminLimits
    ) async throws -> AdminSocket {
        let (socket, descriptor) = try LinkedSocket.bind(beside: link)
        let listener: OperatorListener
        do {
            listener = try await OperatorListener.open(.socket(descriptor), to: server.controller, limits: limits)
        } catch {
            socket.remove()
            throw error
        }
        let admin = AdminSocket(socket, listener)
        do {
            try socket.announce()
        } catch {
            admin.stop()
            try? await admin.run()
            throw error
        }
        return admin
    }

    /// As ``AdminServer/run()``.
    package func run() async throws {
        try await self.listener.run(stop: { self.stop() })
    }

    /// As ``AdminServer/stop()``; the socket's file goes first.
    package func stop() {
        self.socket.remove()
        self.listener.stop()
    }
}
