import NIOCore

#if canImport(Glibc)
    import Glibc
#endif

/// Knows the connections that a listening socket has accepted and whose own event loop has not taken them over yet: when the
/// socket closes in between, NIO throws them away, and their callers get a reset for what may be a request.
///
/// Only a socket that hands connections to other loops than its own has any.
final class AcceptDrain: ChannelInboundHandler {
    typealias InboundIn = any Channel
    typealias InboundOut = any Channel

    private var pending: Set<ObjectIdentifier> = []

    var isAnyonePending: Bool { !self.pending.isEmpty }

    /// Stands in front of whatever takes connections in; ``End`` stands behind it.
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let connection = self.unwrapInboundIn(data)
        let id = ObjectIdentifier(connection)
        self.pending.insert(id)
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        // One that could not be taken in does not come by the end.
        connection.closeFuture.hop(to: context.eventLoop).whenComplete { _ in
            // Until then another must not have its identity.
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

    /// Put in front of all other handlers of a listening socket that does not listen yet.
    static func begin(on listener: any Channel) -> EventLoopFuture<Void> {
        listener.eventLoop.makeCompletedFuture {
            try listener.pipeline.syncOperations.addHandler(AcceptDrain(), position: .first)
        }
    }

    /// Put behind all others, once they are there.
    static func end(on listener: any Channel) async throws {
        try await listener.eventLoop.submit {
            let pipeline = listener.pipeline.syncOperations
            let watch = try pipeline.handler(type: AcceptDrain.self)
            try pipeline.addHandler(End(watch), position: .last)
        }.get()
    }
}

/// How a listening socket is closed: whoever has connected and waits in its queue is taken in first, since the kernel
/// would reset those.
///
/// Between the last look and the end there are microseconds. With `net.ipv4.tcp_migrate_req` the kernel hands those who
/// come just then to another socket of the same port, where a successor has one.
enum ListenerClosing {
    /// A flood must not hold up the end: so often is looked, a millisecond or more apart.
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
        // In between the loop takes them in.
        listener.eventLoop.scheduleTask(in: .milliseconds(1)) { Self.attempt(listener, looks: looks - 1, closed) }
    }

    /// Someone was accepted whom another loop has still to take over.
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
