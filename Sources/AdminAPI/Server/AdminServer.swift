package import Audit
internal import HummingbirdCore
package import KillSwitch
package import Listening
package import Logging
internal import NIOCore
internal import NIOPosix
internal import ServiceLifecycle
package import TokenModel
package import TokenRefresh

/// The control plane over HTTP, on a listener and an event loop of its own: a busy data path does not hold it up.
///
/// ``listen(on:engine:kills:audit:monitor:tokens:claim:limits:clock:timepiece:logger:)``
/// first, so that a busy port is known before anything else
/// starts; then ``run()``.
package final class AdminServer: Service, Sendable {
    /// Where it listens, with the port that was chosen where 0 was asked for.
    package let address: AdminAddress

    private let desk: AdminDesk
    private let limits: AdminLimits
    private let logger: Logger
    private let loops: MultiThreadedEventLoopGroup
    private let listener: ConnectionListener<HTTP1Channel.Value>
    private let connections: OpenConnections

    private init(
        address: AdminAddress,
        desk: AdminDesk,
        limits: AdminLimits,
        logger: Logger,
        loops: MultiThreadedEventLoopGroup,
        listener: ConnectionListener<HTTP1Channel.Value>,
        connections: OpenConnections
    ) {
        self.address = address
        self.desk = desk
        self.limits = limits
        self.logger = logger
        self.loops = loops
        self.listener = listener
        self.connections = connections
    }

    /// Opens the listening socket. Connections wait there for ``run()``.
    ///
    /// - Parameters:
    ///   - engine: what the accounts are read from and changed through; it must run for a refresh to end.
    ///   - kills: what tokens are killed and revived by; it must run for a kill to be completed.
    ///   - audit: where changes are recorded; it must run for wrong tokens to be.
    ///   - monitor: knows about the process what this room can't see.
    ///   - claim: whether an older gateway may listen there still.
    ///   - clock: what refusals are delayed by.
    ///   - timepiece: what sessions of the dashboard end by.
    package static func listen(
        on address: AdminAddress,
        engine: RefreshEngine,
        kills: KillSwitch,
        audit: AuditTrail,
        monitor: any GatewayMonitor,
        tokens: AdminTokens,
        claim: PortClaim = .first,
        limits: AdminLimits = AdminLimits(),
        clock: any Clock<Duration> = ContinuousClock(),
        timepiece: Timepiece = .system,
        logger: Logger
    ) async throws(AdminServerError) -> AdminServer {
        let door = AdminDoor(tokens, limits: limits, clock: clock, logger: logger)
        let desk = AdminDesk(
            engine: engine,
            kills: kills,
            audit: audit,
            monitor: monitor,
            door: door,
            limits: limits,
            timepiece: timepiece,
            logger: logger
        )
        return try await Self.listen(on: address, desk, as: .admin, claim, limits: limits, logger: logger)
    }

    /// Opens another listening socket, which serves metrics and health and nothing else, without tokens.
    ///
    /// The parameters are those of ``listen(on:engine:kills:audit:monitor:tokens:claim:limits:clock:timepiece:logger:)``.
    package static func listenForMetrics(
        on address: AdminAddress,
        engine: RefreshEngine,
        kills: KillSwitch,
        monitor: any GatewayMonitor,
        claim: PortClaim = .first,
        limits: AdminLimits = AdminLimits(),
        logger: Logger
    ) async throws(AdminServerError) -> AdminServer {
        let desk = AdminDesk(
            engine: engine,
            kills: kills,
            audit: nil,
            monitor: monitor,
            door: nil,
            limits: limits,
            logger: logger
        )
        return try await Self.listen(on: address, desk, as: .metrics, claim, limits: limits, logger: logger)
    }

    private static func listen(
        on address: AdminAddress,
        _ desk: AdminDesk,
        as role: AdminServerError.Role,
        _ claim: PortClaim,
        limits: AdminLimits,
        logger: Logger
    ) async throws(AdminServerError) -> AdminServer {
        let http = Self.connections(to: desk, limits: limits)
        let connections = OpenConnections()
        let loops = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        do {
            let listener = try await ConnectionListener.bind(
                host: address.host,
                port: address.port,
                claim: claim,
                backlog: 256,
                on: loops,
                configure: { listener in
                    try listener.pipeline.syncOperations.addHandler(
                        AvailableConnectionsChannelHandler(
                            delegate: MaximumAvailableConnections(limits.connections, logger: Self.silence)
                        )
                    )
                },
                prepare: { http.setup(channel: $0, logger: Self.silence) },
                handle: { connection in
                    connections.opened(connection.channel)
                    await http.handle(value: connection, logger: Self.silence)
                    connections.closed(connection.channel)
                }
            )
            let port = listener.channel.localAddress?.port ?? address.port
            return AdminServer(
                address: AdminAddress(host: address.host, port: port),
                desk: desk,
                limits: limits,
                logger: logger,
                loops: loops,
                listener: listener,
                connections: connections
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
            // Out of reach of the cancellation, for the sake of the grace.
            await Task { await self.serve() }.value
        } onCancelOrGracefulShutdown: {
            self.stop()
        }
        self.connections.end()
        try await self.loops.shutdownGracefully()
    }

    /// Takes no new connections and closes those without a request. Comes back at once; ``run()`` ends when all is done.
    package func stop() {
        self.listener.close()
        self.connections.stop()
    }

    /// From now on only these tokens are let in: for a token file that was read again. Where they are others, operators
    /// have to sign in to the dashboard anew.
    ///
    /// - Returns: whether they are others.
    @discardableResult
    package func replaceTokens(_ tokens: AdminTokens) -> Bool {
        guard self.desk.door?.replaceTokens(tokens) == true else { return false }
        self.desk.dashboard?.endSessions()
        return true
    }

    private func serve() async {
        await withDiscardingTaskGroup { records in
            records.addTask { await self.desk.recordKeptKills() }
            await withTaskGroup(of: Void.self) { tasks in
                tasks.addTask { await self.listener.run() }
                tasks.addTask {
                    try? await self.listener.channel.closeFuture.get()
                    try? await Task.sleep(for: self.limits.stopGrace)
                }
                await tasks.next()
                tasks.cancelAll()
            }
            records.cancelAll()
        }
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

    /// The framework writes what callers sent into its logs.
    private static let silence = Logger(label: "martlet.admin.http") { _ in SwiftLogNoOpLogHandler() }
}
