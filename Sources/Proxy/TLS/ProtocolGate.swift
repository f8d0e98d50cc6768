import NIOCore

/// Stands before a listener's TLS until it is known which protocols a caller offers: one that would speak others than
/// HTTP/1.1 is told so by an alert (RFC 7301 §3.2). The library would go on without a protocol, and the caller take what
/// is said then for a broken connection.
final class ProtocolGate: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Fatal, `no_application_protocol`, in a record of its own.
    private static let alert = ByteBuffer(bytes: [21, 3, 3, 0, 2, 2, 120])

    private let refused: () -> Void
    private var buffer = ByteBuffer()
    /// Before so many bytes are here there is nothing to be learnt.
    private var needed = 1
    private var hasRefused = false

    /// - Parameter refused: called once for a caller that is told so, before its connection ends.
    init(refused: @escaping () -> Void) {
        self.refused = refused
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !self.hasRefused else { return }
        self.buffer.writeImmutableBuffer(self.unwrapInboundIn(data))
        guard self.buffer.readableBytes >= self.needed else { return }
        switch ClientHello.offer(in: self.buffer.readableBytesUInt8Span) {
        case .needsMore(let needed): self.needed = needed
        case .nothing, .protocols(includesHTTP11: true):
            context.fireChannelRead(self.wrapInboundOut(self.buffer))
            context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
        case .protocols(includesHTTP11: false):
            self.hasRefused = true
            self.buffer = ByteBuffer()
            self.refused()
            let channel = context.channel
            context.writeAndFlush(self.wrapOutboundOut(Self.alert)).whenComplete { _ in channel.close(promise: nil) }
        }
    }

    /// TLS would take it for an end in the middle of a handshake, and that would be told a second time.
    func channelInactive(context: ChannelHandlerContext) {
        if !self.hasRefused { context.fireChannelInactive() }
    }
}
