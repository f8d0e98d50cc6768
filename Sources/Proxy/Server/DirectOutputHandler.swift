package import NIOCore

/// ``DirectOutput`` for a handler that changes what is written, such as TLS, which hands each piece on with a flush: to stand
/// between that one and the socket.
package final class DirectOutputHandler: ChannelOutboundHandler {
    package typealias OutboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    private var direct: DirectOutput?
    /// What was written, until the flush.
    private var piece: ByteBuffer?

    package init() {}

    package func handlerAdded(context: ChannelHandlerContext) {
        self.direct = DirectOutput(context.channel)
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        self.direct = nil
    }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        // Of a piece whose writer wants to hear, the channel tells; and of several, it keeps the order.
        guard promise == nil, self.piece == nil, self.direct != nil else {
            self.handOver(context)
            self.direct?.usesChannel()
            return context.write(data, promise: promise)
        }
        self.piece = self.unwrapOutboundIn(data)
    }

    package func flush(context: ChannelHandlerContext) {
        if var piece = self.piece {
            self.piece = nil
            if self.direct?.send(&piece) == true { return }
            self.piece = piece
            self.handOver(context)
        }
        context.flush()
    }

    private func handOver(_ context: ChannelHandlerContext) {
        guard let piece = self.piece else { return }
        self.piece = nil
        self.direct?.usesChannel()
        context.write(self.wrapOutboundOut(piece), promise: nil)
    }
}
