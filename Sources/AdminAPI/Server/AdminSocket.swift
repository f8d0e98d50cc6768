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

/// What the admin API puts up with.
package struct AdminLimits: Sendable {
    /// Bytes of a request's body.
    package var body: Int
    /// How long a body may take to arrive.
    package var bodyTime: Duration
    /// How long a request with a wrong token waits for its answer, so that tokens can't be tried out quickly.
    package var refusalDelay: Duration
    /// How many may wait so at once; one more is told that there are too many.
    package var refusalsWaiting: Int
    /// How long that takes: longer than the wait of the others, so that more connections hardly try more tokens.
    package var crowdDelay: Duration
    /// Connections at once; for one more, one without a token is closed.
    package var connections: Int
    /// How long the first head of a connection may take to arrive.
    package var firstHeadTime: Duration
    /// How long a connection may stand without a request.
    package var idleTime: Duration
    /// How long requests under way may go on after a stop.
    package var stopGrace: Duration
    /// Who may be signed in to the dashboard.
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

    /// Of them, those without a token may have three quarters if they come from one network, so that others have the rest.
    var places: ConnectionRegistry<ObjectIdentifier>.Places {
        ConnectionRegistry.Places(all: self.connections, perNetwork: max(self.connections * 3 / 4, 1))
    }

    /// How many requests with a wrong token wait in all; one more is answered at once, or it would take somebody's place
    /// for as long as it waits.
    var refusalsHeld: Int { max(self.places.perNetwork * 3 / 4, 1) }
}
