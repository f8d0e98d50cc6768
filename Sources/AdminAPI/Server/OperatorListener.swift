internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOPosix
internal import ServiceLifecycle
internal import SystemSupport

/// What a listener serves. It gets the requests of all connections, one at a time per connection.
protocol RequestResponder: Sendable {
    /// Logs what happens to connections.
    var logger: Logger { get }
    /// Checks the token in a request's head; `nil` if no tokens are required.
    var door: AdminAuthenticator? { get }
    /// Whether a request target must be a path with a query (RFC 9112 §3.2.1). Any other target then arrives as `*`.
    var requiresOriginForm: Bool { get }

    /// Reads one request and writes its response.
    ///
    /// - Parameter recognized: called when the sender has shown a valid token, so that the connection keeps its place.
    /// - Throws: if the connection must end.
    @concurrent
    func respond(
        to request: Request,
        with writer: consuming ResponseWriter,
        on connection: any Channel,
        recognized: @Sendable () -> Void
    ) async throws
}

/// A listening socket with its own event loop, and the connections that it has accepted.
final class OperatorListener: Sendable {
    /// Where clients connect.
    enum Place {
        /// - Parameter encrypt: adds TLS to a connection; `nil` for plain HTTP.
        case network(AdminAddress, PortClaim, encrypt: (@Sendable (any Channel) throws -> Void)?)
        /// The descriptor of a listening Unix socket.
        case socket(CInt)
    }

    /// An accepted connection, once the rest of its pipeline is built.
    private typealias Connection = EventLoopFuture<HTTP1Channel.Value>

    private let listener: ConnectionListener<Connection>
    private let loops: MultiThreadedEventLoopGroup
    private let connections: OpenConnections
    private let grace: Duration

    private init(
        _ listener: ConnectionListener<Connection>,
        _ loops: MultiThreadedEventLoopGroup,
        _ connections: OpenConnections,
        grace: Duration
    ) {
        self.listener = listener
        self.loops = loops
        self.connections = connections
        self.grace = grace
    }

    /// Opens the listening socket. New connections wait for ``run(stop:)``.
    ///
    /// - Throws: the system's error if the socket can't be opened.
    static func open(
        _ place: Place,
        to responder: some RequestResponder,
        limits: AdminLimits
    ) async throws -> OperatorListener {
        let loops = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        do {
            switch place {
            case .network(let address, let claim, let encrypt):
                let connections = OpenConnections(limits.connections, logger: responder.logger)
                let http = Self.http(to: responder, over: connections, limits: limits)
                let listener = try await ConnectionListener.bind(
                    host: address.host,
                    port: address.port,
                    claim: claim,
                    // If the backlog is full, the client's kernel retries only after a second (`tcp_syn_retries`).
                    backlog: 4_096,
                    on: loops,
                    prepare: { channel in
                        Self.prepare(channel, in: connections, limits) {
                            if let encrypt { try encrypt(channel) }
                            let connection = http.setup(channel: channel, logger: Self.silence)
                            if responder.requiresOriginForm { try OriginFormHandler.add(to: channel) }
                            return connection
                        }
                    },
                    handle: { await Self.handle($0, by: http) }
                )
                return OperatorListener(listener, loops, connections, grace: limits.stopGrace)
            case .socket(let descriptor):
                // Only the gateway's user and root can connect, so places need no protection.
                let connections = OpenConnections(.max, logger: responder.logger)
                let http = Self.http(to: responder, over: connections, limits: limits)
                let listener = try await ConnectionListener.take(
                    socket: descriptor,
                    backlog: 256,
                    on: loops,
                    configure: { listener in
                        try listener.pipeline.syncOperations.addHandler(
                            AvailableConnectionsChannelHandler(
                                delegate: MaximumAvailableConnections(limits.connections, logger: Self.silence)
                            )
                        )
                    },
                    prepare: { channel in
                        Self.prepare(channel, in: connections, limits) {
                            http.setup(channel: channel, logger: Self.silence)
                        }
                    },
                    handle: { await Self.handle($0, by: http) }
                )
                return OperatorListener(listener, loops, connections, grace: limits.stopGrace)
            }
        } catch {
            try? await loops.shutdownGracefully()
            throw error
        }
    }

    /// Adds a ``PlaceHandler`` to an accepted connection.
    ///
    /// - Parameter build: adds the handlers behind it.
    /// - Returns: the connection, which is complete after its first bytes have arrived.
    private static func prepare(
        _ channel: any Channel,
        in connections: OpenConnections,
        _ limits: AdminLimits,
        _ build: @escaping () throws -> EventLoopFuture<HTTP1Channel.Value>
    ) -> EventLoopFuture<Connection> {
        let built = channel.eventLoop.makePromise(of: HTTP1Channel.Value.self)
        let place = PlaceHandler(connections, patience: TimeAmount(limits.firstHeadTime), built: built, build: build)
        do {
            try channel.pipeline.syncOperations.addHandler(place)
        } catch {
            built.fail(error)
        }
        return channel.eventLoop.makeSucceededFuture(built.futureResult)
    }

    private static func handle(_ connection: Connection, by http: HTTP1Channel) async {
        guard let connection = try? await connection.get() else { return }
        await http.handle(value: connection, logger: Self.silence)
    }

    /// The port, chosen by the system if 0 was requested; `nil` for a Unix socket.
    var port: Int? { self.listener.channel.localAddress?.port }

    /// Serves until ``stop()``, a graceful shutdown of the service group, or the task's cancellation. Then requests in
    /// progress may end within the grace period. Must be called once.
    ///
    /// - Parameter stop: called on a graceful shutdown or a cancellation.
    func run(stop: @escaping @Sendable () -> Void) async throws {
        await withTaskCancellationOrGracefulShutdownHandler {
            // A separate task, which a cancellation does not reach, so that the grace period holds.
            await Task { await self.serve() }.value
        } onCancelOrGracefulShutdown: {
            stop()
        }
        self.connections.end()
        try await self.loops.shutdownGracefully()
    }

    /// Accepts no new connections and closes those without a request. Returns at once; ``run(stop:)`` returns
    /// when the other connections have ended or the grace period is over.
    func stop() {
        self.listener.close()
        self.connections.stop()
    }

    private func serve() async {
        await withTaskGroup(of: Void.self) { tasks in
            tasks.addTask { await self.listener.run() }
            tasks.addTask {
                try? await self.listener.channel.closeFuture.get()
                try? await Task.sleep(for: self.grace)
            }
            await tasks.next()
            tasks.cancelAll()
        }
    }

    private static func http(
        to responder: some RequestResponder,
        over connections: OpenConnections,
        limits: AdminLimits
    ) -> HTTP1Channel {
        HTTP1Channel(
            responder: { request, writer, connection in
                try await responder.respond(to: request, with: writer, on: connection) {
                    connections.recognized(connection)
                }
                connections.answered(connection)
            },
            configuration: HTTP1Channel.Configuration(
                additionalChannelHandlers: [HeadHandler(connections, at: responder.door)],
                idleTimeout: TimeAmount(limits.idleTime),
                httpDecoderConfiguration: HTTP1Channel.Configuration.DecoderConfiguration(
                    maxHeaderFieldSize: 16 << 10,
                    maxHeaderListSize: 32 << 10,
                    maxHeaderFieldCount: 100
                )
            )
        )
    }

    /// Discards the framework's log, which may contain data from requests.
    private static let silence = Logger(label: "martlet.admin.http") { _ in SwiftLogNoOpLogHandler() }
}

/// The metadata keys of this module's log entries.
enum LogField {
    /// The administrator's name.
    static let administrator = "admin.name"
    static let role = "admin.role"
    static let method = "admin.method"
    static let route = "admin.route"
    static let address = "server.address"
    static let code = "error.code"
    static let reason = "error.reason"
}
