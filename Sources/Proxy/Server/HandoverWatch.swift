import NIOCore

/// Knows the connections that a listening socket has accepted and whose own event loop has not taken them over yet: when the
/// socket closes in between, NIO throws them away, and their callers get a reset for what may be a request.
///
/// Only a socket that hands connections to other loops than its own has any.
final class HandoverWatch: ChannelInboundHandler {
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

        private let watch: HandoverWatch

        init(_ watch: HandoverWatch) {
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
            try listener.pipeline.syncOperations.addHandler(HandoverWatch(), position: .first)
        }
    }

    /// Put behind all others, once they are there.
    static func end(on listener: any Channel) async throws {
        try await listener.eventLoop.submit {
            let pipeline = listener.pipeline.syncOperations
            let watch = try pipeline.handler(type: HandoverWatch.self)
            try pipeline.addHandler(End(watch), position: .last)
        }.get()
    }
}
