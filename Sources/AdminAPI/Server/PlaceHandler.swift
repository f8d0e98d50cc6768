internal import HTTPTypes
internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOHTTPTypes
internal import SystemSupport

/// The first handler of a connection's pipeline. It gets the connection a place, builds the rest of the pipeline when
/// the first bytes arrive, and closes the connection if its first request does not arrive in time.
///
/// A silent connection costs no more than this handler. So thousands of silent connections take little time on the
/// event loop, and real requests are not delayed.
final class PlaceHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let connections: OpenConnections
    /// The time from the start of the connection to the end of the first request head, the TLS handshake included.
    private let patience: TimeAmount
    private let build: () throws -> EventLoopFuture<HTTP1Channel.Value>
    private let built: EventLoopPromise<HTTP1Channel.Value>
    private var isBuilding = false
    private var isBuilt = false
    /// The bytes that arrived before the rest of the pipeline was built.
    private var early: [ByteBuffer] = []
    private var impatience: Scheduled<Void>?

    /// - Parameters:
    ///   - build: adds the rest of the pipeline behind this handler.
    ///   - built: completed when the pipeline is built, or failed if it never will be.
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
        // It is not worth a TLS farewell.
        if event is ConnectionPlaces.GivesWay { return context.close(promise: nil) }
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

    /// Cancels the time limit, because the first request head has arrived.
    func cancelHeadTimeout() {
        self.impatience?.cancel()
        self.impatience = nil
    }
}

/// Reports each request of a connection when its head arrives.
final class HeadHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart

    private let connections: OpenConnections
    /// Checks the token in a head; `nil` if no tokens are required.
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
                try? context.pipeline.syncOperations.handler(type: PlaceHandler.self).cancelHeadTimeout()
            }
            let showsToken = self.door?.glance(at: head.headerFields[.authorization]) ?? false
            self.connections.asked(context.channel, showsToken: showsToken)
        }
        context.fireChannelRead(data)
    }
}
