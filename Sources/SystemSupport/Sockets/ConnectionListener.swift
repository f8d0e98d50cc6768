internal import Glibc
package import NIOCore
internal import NIOPosix
internal import Synchronization

/// A listening socket that handles every connection it has accepted, also those that arrive in the moment it stops. For
/// the listeners other than the proxy's own.
///
/// NIO's own asynchronous listener drops such a connection, and dropping a connection that nobody has handled ends the
/// process.
package final class ConnectionListener<Connection: Sendable>: Sendable {
    private struct State {
        var isCancelled = false
        var nextID = 0
        var handlers: [Int: Task<Void, Never>] = [:]
    }

    /// The listening socket.
    package let channel: any Channel

    private let loops: any EventLoopGroup
    private let roll: Roll

    /// The connections that are being handled.
    private final class Roll: Sendable {
        private let state = Mutex(State())

        /// Handles a connection in a task of its own.
        func add(_ handle: @escaping @Sendable () async -> Void) {
            self.state.withLock { state in
                let id = state.nextID
                state.nextID += 1
                let handler = Task {
                    await handle()
                    // Waits for the lock, which is held while the task is registered.
                    self.state.withLock { _ = $0.handlers.removeValue(forKey: id) }
                }
                state.handlers[id] = handler
                if state.isCancelled { handler.cancel() }
            }
        }

        func cancel() {
            let handlers = self.state.withLock { state in
                state.isCancelled = true
                return Array(state.handlers.values)
            }
            for handler in handlers { handler.cancel() }
        }

        /// Returns when no connection is left.
        func drain() async {
            while let handler = self.state.withLock({ $0.handlers.values.first }) { await handler.value }
        }
    }

    private init(channel: any Channel, loops: any EventLoopGroup, roll: Roll) {
        self.channel = channel
        self.loops = loops
        self.roll = roll
    }

    /// Opens the socket. Connections wait there, in a queue of `backlog`, for ``run()``.
    ///
    /// - Parameters:
    ///   - host: a name or an address; `port` 0 lets the system choose.
    ///   - claim: whether others may listen there too.
    ///   - configure: adds to the listening socket's own pipeline.
    ///   - prepare: builds an accepted connection's pipeline, on its event loop.
    ///   - handle: called once for each connection that was prepared. Its task is cancelled when the listener stops at
    ///     once. It must return when its connection is closed.
    package static func bind(
        host: String,
        port: Int,
        claim: PortClaim = .exclusive,
        backlog: Int32,
        on group: any EventLoopGroup,
        configure: @escaping @Sendable (any Channel) throws -> Void = { _ in },
        prepare: @escaping @Sendable (any Channel) -> EventLoopFuture<Connection>,
        handle: @escaping @Sendable (Connection) async -> Void
    ) async throws -> ConnectionListener {
        let roll = Roll()
        try await claim.look(at: host, port, on: group)
        let channel = try await Self.bootstrap(roll, on: group, configure, prepare, handle)
            .serverChannelOption(.backlog, value: backlog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelOption(.socketOption(.reusePort), value: claim.reusePort)
            .bind(host: host, port: port).get()
        return ConnectionListener(channel: channel, loops: group, roll: roll)
    }

    /// As ``bind(host:port:claim:backlog:on:configure:prepare:handle:)``, for a socket that listens already, as
    /// ``UnixSocketFile`` gives it. This function takes the socket over and closes it, also if it fails.
    package static func take(
        socket: CInt,
        backlog: Int32,
        on group: any EventLoopGroup,
        configure: @escaping @Sendable (any Channel) throws -> Void = { _ in },
        prepare: @escaping @Sendable (any Channel) -> EventLoopFuture<Connection>,
        handle: @escaping @Sendable (Connection) async -> Void
    ) async throws -> ConnectionListener {
        let roll = Roll()
        let channel = try await Self.bootstrap(roll, on: group, configure, prepare, handle)
            .serverChannelOption(.backlog, value: backlog)
            .withBoundSocket(socket).get()
        return ConnectionListener(channel: channel, loops: group, roll: roll)
    }

    private static func bootstrap(
        _ roll: Roll,
        on group: any EventLoopGroup,
        _ configure: @escaping @Sendable (any Channel) throws -> Void,
        _ prepare: @escaping @Sendable (any Channel) -> EventLoopFuture<Connection>,
        _ handle: @escaping @Sendable (Connection) async -> Void
    ) -> ServerBootstrap {
        ServerBootstrap(group: group)
            .serverChannelOption(.autoRead, value: false)
            .serverChannelInitializer { listener in
                listener.eventLoop.makeCompletedFuture { try configure(listener) }
            }
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { channel in
                prepare(channel).map { connection in roll.add { await handle(connection) } }
            }
    }

    /// Accepts connections until the socket is closed by ``close()``, or by the cancellation of the task, which also
    /// cancels the handlers. Returns when all handlers have returned. Call it once.
    package func run() async {
        await withTaskCancellationHandler {
            self.channel.setOption(.autoRead, value: true).whenFailure { _ in self.close() }
            // An error is ignored: what matters is that nothing is accepted any more.
            _ = try? await self.channel.closeFuture.get()
            // A connection accepted before may still be in preparation on another loop.
            for loop in self.loops.makeIterator() { try? await loop.submit {}.get() }
            await self.roll.drain()
        } onCancel: {
            self.close()
            self.roll.cancel()
        }
    }

    /// Accepts no more connections. Returns at once.
    package func close() {
        self.channel.close(promise: nil)
    }
}

/// How a process shares a TCP port with other processes.
///
/// A port changes hands without a gap only if all processes that listen on it have said before that they would share it
/// (`SO_REUSEPORT`, socket(7)), and belong to the same user. But then a second process that was started by mistake
/// would silently get half of the connections. So a process that does not mean to take over checks first whether the
/// port is free.
package enum PortClaim: Sendable {
    /// No other process may listen there, now or later.
    case exclusive
    /// No other process listens there now; a successor may later.
    case first
    /// Another process may listen there, which is about to stop.
    case successor

    /// The option's value for the listening sockets.
    package var reusePort: SocketOptionValue { self == .exclusive ? 0 : 1 }

    /// Checks, for ``first``, that no process listens there: binds once without sharing, and closes that socket again.
    ///
    /// - Throws: the system's error if a process does listen there.
    package func look(at host: String, _ port: Int, on group: any EventLoopGroup) async throws {
        // A port that the system will choose is free.
        guard self == .first, port != 0 else { return }
        let probe = try await ServerBootstrap(group: group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // Connections are left to the listeners.
            .serverChannelOption(.autoRead, value: false)
            .bind(host: host, port: port).get()
        try await probe.close()
    }
}

extension NIOBSDSocket.Option {
    /// Several sockets listen on one port, and the kernel spreads connections over them.
    package static let reusePort = NIOBSDSocket.Option(rawValue: SO_REUSEPORT)
}
