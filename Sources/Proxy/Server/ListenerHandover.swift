import NIOCore

#if canImport(Glibc)
    import Glibc
#endif

/// Tracks the connections that a listening socket has accepted and that their own event loops have not taken over yet.
/// If the socket closes in between, NIO drops these connections, and their callers get a reset for what may be a
/// request.
///
/// Only a socket that hands connections to loops other than its own has such connections.
final class AcceptDrain: ChannelInboundHandler {
    typealias InboundIn = any Channel
    typealias InboundOut = any Channel

    private var pending: Set<ObjectIdentifier> = []

    var isAnyonePending: Bool { !self.pending.isEmpty }

    /// Stands in front of the handlers that take connections over; ``End`` stands behind them.
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let connection = self.unwrapInboundIn(data)
        let id = ObjectIdentifier(connection)
        self.pending.insert(id)
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        // A connection that could not be set up never reaches `End`.
        connection.closeFuture.hop(to: context.eventLoop).whenComplete { _ in
            // Keep the connection alive until then, so that no other object gets its identifier.
            withExtendedLifetime(connection) { _ = bound.value.pending.remove(id) }
        }
        context.fireChannelRead(data)
    }

    final class End: ChannelInboundHandler {
        typealias InboundIn = any Channel

        private let watch: AcceptDrain

        init(_ watch: AcceptDrain) {
            self.watch = watch
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            self.watch.pending.remove(ObjectIdentifier(self.unwrapInboundIn(data)))
            context.fireChannelRead(data)
        }
    }

    /// Adds the drain in front of all other handlers of a listening socket that does not listen yet.
    static func begin(on listener: any Channel) -> EventLoopFuture<Void> {
        listener.eventLoop.makeCompletedFuture {
            try listener.pipeline.syncOperations.addHandler(AcceptDrain(), position: .first)
        }
    }

    /// Adds ``End`` behind all other handlers, once they are there.
    static func end(on listener: any Channel) async throws {
        try await listener.eventLoop.submit {
            let pipeline = listener.pipeline.syncOperations
            let watch = try pipeline.handler(type: AcceptDrain.self)
            try pipeline.addHandler(End(watch), position: .last)
        }.get()
    }
}

/// Closes a listening socket once the connections that wait in its queue are accepted, since the kernel would reset
/// those.
///
/// A few microseconds lie between the last check and the close. With `net.ipv4.tcp_migrate_req` the kernel hands
/// connections that arrive in this time to another socket of the same port, if a successor has one.
enum ListenerClosing {
    /// Number of checks, a millisecond or more apart. After these the socket closes in any case: a flood of connections
    /// must not hold up the end.
    private static let looks = 1_000

    static func close(_ listener: any Channel) async {
        let closed = listener.eventLoop.makePromise(of: Void.self)
        listener.eventLoop.execute { Self.attempt(listener, looks: Self.looks, closed) }
        try? await closed.futureResult.get()
    }

    private static func attempt(_ listener: any Channel, looks: Int, _ closed: EventLoopPromise<Void>) {
        guard looks > 0, Self.isAnyonePending(at: listener) || Self.isAnyoneWaiting(at: listener) else {
            return listener.close(promise: closed)
        }
        // The loop accepts connections in between.
        listener.eventLoop.scheduleTask(in: .milliseconds(1)) { Self.attempt(listener, looks: looks - 1, closed) }
    }

    /// Whether a connection was accepted that another loop has not taken over yet.
    private static func isAnyonePending(at listener: any Channel) -> Bool {
        (try? listener.pipeline.syncOperations.handler(type: AcceptDrain.self))?.isAnyonePending == true
    }

    private static func isAnyoneWaiting(at listener: any Channel) -> Bool {
        let isReadable = try? listener.pipeline.syncOperations.withUnsafeTransportIfAvailable { (socket: CInt) in
            var look = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            return unsafe poll(&look, 1, 0) == 1
        }
        return isReadable == true
    }
}
