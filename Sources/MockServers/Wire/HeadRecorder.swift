internal import NIOCore
internal import NIOHTTP1

/// Keeps each head as the parser saw it, with the time, before it is translated: the translation drops `Host` and renames.
final class HeadRecorder: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    private let connection: WireConnection

    init(connection: WireConnection) {
        self.connection = connection
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = self.unwrapInboundIn(data) else {
            return context.fireChannelRead(data)
        }
        let received = ReceivedHead(head, at: .now)
        self.connection.headWasRead(received)
        if received.closes {
            // The server above looks for exactly this, and not for HTTP/1.0 or other spellings.
            head.headers.replaceOrAdd(name: "Connection", value: "close")
        }
        context.fireChannelRead(self.wrapInboundOut(.head(head)))
    }
}
