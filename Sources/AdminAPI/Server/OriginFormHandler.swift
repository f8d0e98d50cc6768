internal import NIOCore
internal import NIOHTTP1

/// Replaces each request target that is not a path with a query by `*`, which no listener serves.
///
/// The conversion to `HTTPRequest` drops scheme and authority of `http://elsewhere.example/path`, so that nobody could
/// compare them with `Host` after it. Only clients of proxies send such targets.
final class OriginFormHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    /// Adds the handler behind the parser of a connection. Must be called on its event loop.
    static func add(to connection: any Channel) throws {
        let pipeline = connection.pipeline.syncOperations
        let parser = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
        try pipeline.addHandler(OriginFormHandler(), position: .after(parser))
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = self.unwrapInboundIn(data), !head.uri.hasPrefix("/") else {
            return context.fireChannelRead(data)
        }
        head.uri = "*"
        context.fireChannelRead(self.wrapInboundOut(.head(head)))
    }
}
