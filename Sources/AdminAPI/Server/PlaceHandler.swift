internal import HTTPTypes
internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOHTTPTypes

/// Stands first in a connection's pipeline: gets it a place, builds the rest when its first bytes come, and closes it where
/// its first request does not come in time.
///
/// A silent connection costs no more than this. Whoever makes thousands of them so takes little of the event loop, and
/// those who ask something are not held up behind them.
final class PlaceHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let connections: OpenConnections
    /// From the connection on to the end of the first head, with what TLS takes.
    private let patience: TimeAmount
    private let build: () throws -> EventLoopFuture<HTTP1Channel.Value>
    private let built: EventLoopPromise<HTTP1Channel.Value>
    private var isBuilding = false
    private var isBuilt = false
    /// What has come before the rest of the pipeline was there.
    private var early: [ByteBuffer] = []
    private var impatience: Scheduled<Void>?

    /// - Parameters:
    ///   - build: adds the rest of the pipeline to this one's end.
    ///   - built: told when that is done, or that it never will be.
    init(
        _ connections: OpenConnections,
        patience: TimeAmount,
        built: EventLoopPromise<HTTP1Channel.Value>,
        build: @escaping () throws -> EventLoopFuture<HTTP1Channel.Value>
    ) {
        self.connections = connections
        self.patience = patience
        self.built = built
        self.build = build
    }

    func channelActive(context: ChannelHandlerContext) {
        let connection = context.channel
        self.impatience = context.eventLoop.scheduleTask(in: self.patience) { connection.close(promise: nil) }
        context.fireChannelActive()
        self.connections.opened(connection)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !self.isBuilt else { return context.fireChannelRead(data) }
        self.early.append(self.unwrapInboundIn(data))
        guard !self.isBuilding else { return }
        self.isBuilding = true
        do {
            try self.build().assumeIsolated().whenComplete { self.proceed($0, context) }
        } catch {
            self.proceed(.failure(error), context)
        }
    }

    private func proceed(_ result: Result<HTTP1Channel.Value, any Error>, _ context: ChannelHandlerContext) {
        guard !self.isBuilt else { return }
        self.isBuilt = true
        self.built.completeWith(result)
        guard case .success = result else { return context.close(promise: nil) }
        let bytes = self.early
        self.early = []
        for piece in bytes { context.fireChannelRead(self.wrapInboundOut(piece)) }
        context.fireChannelReadComplete()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard !self.isBuilt else { return context.fireUserInboundEventTriggered(event) }
        if event is ChannelShouldQuiesceEvent || event as? ChannelEvent == .inputClosed { context.close(promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.impatience?.cancel()
        self.connections.closed(context.channel)
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        guard !self.isBuilt else { return }
        self.isBuilt = true
        self.built.fail(ChannelError.eof)
    }

    /// The first head has come.
    func relent() {
        self.impatience?.cancel()
        self.impatience = nil
    }
}

/// Tells of each request of a connection as its head comes.
final class HeadHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart

    private let connections: OpenConnections
    /// Judges what a head shows; `nil` where nobody asks for tokens.
    private let door: AdminAuthenticator?
    private var isFirst = true

    init(_ connections: OpenConnections, at door: AdminAuthenticator?) {
        self.connections = connections
        self.door = door
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head(let head) = self.unwrapInboundIn(data) {
            if self.isFirst {
                self.isFirst = false
                try? context.pipeline.syncOperations.handler(type: PlaceHandler.self).relent()
            }
            let showing = self.door?.glance(at: head.headerFields[.authorization]) ?? .nothing
            self.connections.asked(context.channel, showing: showing)
        }
        context.fireChannelRead(data)
    }
}
