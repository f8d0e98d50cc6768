internal import HummingbirdCore
package import Logging
internal import NIOCore
internal import NIOPosix
internal import ServiceLifecycle
package import TokenRefresh

/// The control plane over HTTP, on a listener and an event loop of its own: a busy data path does not hold it up.
///
/// ``listen(on:engine:monitor:tokens:limits:clock:logger:)`` first, so that a busy port is known before anything else
/// starts; then ``run()``.
package final class AdminServer: Service, Sendable {
    /// Where it listens, with the port that was chosen where 0 was asked for.
    package let address: AdminAddress

    private let desk: AdminDesk
    private let limits: AdminLimits
    private let logger: Logger
    private let loops: MultiThreadedEventLoopGroup
    private let http: HTTP1Channel
    private let listener: NIOAsyncChannel<HTTP1Channel.Value, Never>
    private let connections: OpenConnections

    private init(
        address: AdminAddress,
        desk: AdminDesk,
        limits: AdminLimits,
        logger: Logger,
        loops: MultiThreadedEventLoopGroup,
        http: HTTP1Channel,
        listener: NIOAsyncChannel<HTTP1Channel.Value, Never>
    ) {
        self.address = address
        self.desk = desk
        self.limits = limits
        self.logger = logger
        self.loops = loops
        self.http = http
        self.listener = listener
        self.connections = OpenConnections(of: listener.channel)
    }

    /// Opens the listening socket. Connections wait there for ``run()``.
    ///
    /// - Parameters:
    ///   - engine: what the accounts are read from and changed through; it must run for a refresh to end.
    ///   - monitor: knows about the process what this room can't see.
    ///   - clock: what refusals are delayed by.
    package static func listen(
        on address: AdminAddress,
        engine: RefreshEngine,
        monitor: any GatewayMonitor,
        tokens: AdminTokens,
        limits: AdminLimits = AdminLimits(),
        clock: any Clock<Duration> = ContinuousClock(),
        logger: Logger
    ) async throws(AdminServerError) -> AdminServer {
        let door = AdminDoor(tokens, limits: limits, clock: clock, logger: logger)
        let desk = AdminDesk(engine: engine, monitor: monitor, door: door, limits: limits, logger: logger)
        return try await Self.listen(on: address, desk, as: .admin, limits: limits, logger: logger)
    }

    /// Opens another listening socket, which serves metrics and health and nothing else, without tokens.
    ///
    /// The parameters are those of ``listen(on:engine:monitor:tokens:limits:clock:logger:)``.
    package static func listenForMetrics(
        on address: AdminAddress,
        engine: RefreshEngine,
        monitor: any GatewayMonitor,
        limits: AdminLimits = AdminLimits(),
        logger: Logger
    ) async throws(AdminServerError) -> AdminServer {
        let desk = AdminDesk(engine: engine, monitor: monitor, door: nil, limits: limits, logger: logger)
        return try await Self.listen(on: address, desk, as: .metrics, limits: limits, logger: logger)
    }

    private static func listen(
        on address: AdminAddress,
        _ desk: AdminDesk,
        as role: AdminServerError.Role,
        limits: AdminLimits,
        logger: Logger
    ) async throws(AdminServerError) -> AdminServer {
        let http = Self.connections(to: desk, limits: limits)
        let loops = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        do {
            let listener = try await Self.bootstrap(on: loops, limits: limits)
                .bind(host: address.host, port: address.port, serverBackPressureStrategy: nil) { connection in
                    http.setup(channel: connection, logger: Self.silence)
                }
            let port = listener.channel.localAddress?.port ?? address.port
            return AdminServer(
                address: AdminAddress(host: address.host, port: port),
                desk: desk,
                limits: limits,
                logger: logger,
                loops: loops,
                http: http,
                listener: listener
            )
        } catch {
            try? await loops.shutdownGracefully()
            throw AdminServerError(listeningOn: address, as: role, error)
        }
    }

    /// Serves until ``stop()``, a graceful shutdown of the service group, or the task's cancellation; then lets the
    /// requests under way end within ``AdminLimits/stopGrace``. Call it once.
    package func run() async throws {
        await withTaskCancellationOrGracefulShutdownHandler {
            // Out of reach of the cancellation: a connection that was accepted and is dropped unhandled is taken for a
            // programming error by the framework, which traps.
            await Task { await self.serve() }.value
        } onCancelOrGracefulShutdown: {
            self.stop()
        }
        self.connections.end()
        try await self.loops.shutdownGracefully()
    }

    /// Takes no new connections and closes those without a request. Comes back at once; ``run()`` ends when all is done.
    package func stop() {
        self.connections.stop()
    }

    /// From now on only these tokens are let in: for a token file that was read again.
    package func replaceTokens(_ tokens: AdminTokens) {
        self.desk.door?.replaceTokens(tokens)
    }

    private func serve() async {
        await withTaskGroup(of: Void.self) { tasks in
            tasks.addTask { await self.handleConnections() }
            tasks.addTask {
                try? await self.listener.channel.closeFuture.get()
                try? await Task.sleep(for: self.limits.stopGrace)
            }
            await tasks.next()
            tasks.cancelAll()
        }
    }

    private func handleConnections() async {
        await withDiscardingTaskGroup { tasks in
            do {
                try await self.listener.executeThenClose { accepted in
                    for try await connection in accepted {
                        tasks.addTask { await self.handle(connection) }
                    }
                }
            } catch {
                self.logger.error(
                    "the admin listener failed",
                    metadata: [LogField.address: "\(self.address)", LogField.reason: "\(error)"]
                )
            }
        }
    }

    private func handle(_ connection: HTTP1Channel.Value) async {
        self.connections.opened(connection.channel)
        await self.http.handle(value: connection, logger: Self.silence)
        self.connections.closed(connection.channel)
    }

    private static func connections(to desk: AdminDesk, limits: AdminLimits) -> HTTP1Channel {
        HTTP1Channel(
            responder: { request, writer, connection in
                try await desk.respond(to: request, with: writer, on: connection)
            },
            configuration: HTTP1Channel.Configuration(
                idleTimeout: TimeAmount(limits.idleTime),
                httpDecoderConfiguration: HTTP1Channel.Configuration.DecoderConfiguration(
                    maxHeaderFieldSize: 16 << 10,
                    maxHeaderListSize: 32 << 10,
                    maxHeaderFieldCount: 100
                )
            )
        )
    }

    private static func bootstrap(
        on loops: MultiThreadedEventLoopGroup,
        limits: AdminLimits
    ) -> ServerBootstrap {
        ServerBootstrap(group: loops)
            .serverChannelOption(.backlog, value: 256)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .serverChannelInitializer { listener in
                listener.eventLoop.makeCompletedFuture {
                    try listener.pipeline.syncOperations.addHandler(
                        AvailableConnectionsChannelHandler(
                            delegate: MaximumAvailableConnections(limits.connections, logger: Self.silence)
                        )
                    )
                }
            }
    }

    /// The framework writes what callers sent into its logs.
    private static let silence = Logger(label: "martlet.admin.http") { _ in SwiftLogNoOpLogHandler() }
}
