internal import ServiceLifecycle
internal import SystemSupport

/// The admin API on a Unix socket. The process's own user and root need no token there, because the kernel identifies
/// them.
///
/// It serves the same as ``AdminServer`` except the dashboard, which browsers can't open over a Unix socket.
package final class AdminSocket: Service, Sendable {
    /// The path of the socket itself. The socket of the latest process can also be reached by the link beside it.
    package var path: String { self.socket.path }

    private let socket: LinkedSocket
    private let listener: OperatorListener

    private init(_ socket: LinkedSocket, _ listener: OperatorListener) {
        self.socket = socket
        self.listener = listener
    }

    /// Listens beside `link`, and points the link to this socket. New connections wait for ``run()``.
    ///
    /// - Parameter server: its controller handles the socket's requests, too.
    /// - Throws: the reason that it can't listen. If the fault is the socket's file, the error has its path and what
    ///   would help.
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

    /// Serves as ``AdminServer/run()`` does.
    package func run() async throws {
        try await self.listener.run(stop: { self.stop() })
    }

    /// Removes the socket's file, then stops as ``AdminServer/stop()`` does.
    package func stop() {
        self.socket.remove()
        self.listener.stop()
    }
}

/// The limits of the admin API.
package struct AdminLimits: Sendable {
    /// The maximum size of a request's body, in bytes; default 1 MiB.
    package var body: Int
    /// How long a body may take to arrive, and in a bulk import the next bytes of it; default 10 s.
    package var bodyTime: Duration
    /// How long the response to a wrong token is delayed, so that tokens can't be guessed quickly; default 500 ms.
    package var refusalDelay: Duration
    /// How many such responses may be delayed at once; default 64. Further requests are told that there are too many.
    package var refusalsWaiting: Int
    /// How long the response to those further requests is delayed; default 2 s. It is longer than ``refusalDelay``, so
    /// that an attacker gains little from more connections.
    package var crowdDelay: Duration
    /// The maximum number of connections; default 512. For a further connection, one without a token is closed.
    package var connections: Int
    /// How long the first request head of a connection may take to arrive; default 3 s.
    package var firstHeadTime: Duration
    /// How long a connection may be open without a request; default 30 s.
    package var idleTime: Duration
    /// How long requests in progress may continue after a stop; default 30 s.
    package var stopGrace: Duration
    /// The limits on the sessions of the dashboard.
    package var sessions: SessionLimits

    package init(
        body: Int = 1 << 20,
        bodyTime: Duration = .seconds(10),
        refusalDelay: Duration = .milliseconds(500),
        refusalsWaiting: Int = 64,
        crowdDelay: Duration = .seconds(2),
        connections: Int = 512,
        firstHeadTime: Duration = .seconds(3),
        idleTime: Duration = .seconds(30),
        stopGrace: Duration = .seconds(30),
        sessions: SessionLimits = SessionLimits()
    ) {
        self.body = body
        self.bodyTime = bodyTime
        self.refusalDelay = refusalDelay
        self.refusalsWaiting = refusalsWaiting
        self.crowdDelay = crowdDelay
        self.connections = connections
        self.firstHeadTime = firstHeadTime
        self.idleTime = idleTime
        self.stopGrace = stopGrace
        self.sessions = sessions
    }

    /// How many requests with a wrong token wait in all. A further one gets its response at once, because it would
    /// otherwise occupy a place for as long as it waits.
    var refusalsHeld: Int { max(self.connections / 2, 1) }
}
