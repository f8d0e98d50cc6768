import NIOCore
import NIOTLS

/// Stands behind a connection's TLS until the handshake is done and somebody has taken note.
final class HandshakeWatch: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let done: EventLoopPromise<Void>

    init(on eventLoop: any EventLoop) {
        self.done = eventLoop.makePromise()
    }

    /// Succeeds with the handshake, and fails with what went wrong or when the connection ends before.
    var settled: EventLoopFuture<Void> { self.done.futureResult }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent { self.done.succeed() }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.done.fail(error)
        context.fireErrorCaught(error)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.done.fail(ChannelError.eof)
    }
}
