import HTTPWire
import NIOCore
import SystemSupport

/// A connection over the limit: any request on it gets a 503, and then the connection ends.
///
/// The response waits for the first bytes of a request, since clients ignore a response that comes before they have
/// sent one. What else they send is read as ``LingeringClose`` describes, so that it does not cost them the response.
final class OverloadResponder: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    static let error = GatewayError(
        .overloaded,
        "too many connections; see limits.connections and limits.connections_per_address"
    )
    private static let reply = error.reply(to: .get, close: true)
    private static let replyToHead = error.reply(to: .head, close: true)

    /// Short, since there are many such connections when the gateway is full.
    private static let time = Duration.seconds(2)

    private let loop: GatewayLoop
    private var context: ChannelHandlerContext?
    private var ending: LingeringClose
    private var isAnswered = false

    init(loop: GatewayLoop) {
        self.loop = loop
        self.ending = LingeringClose(lingers: true, for: Self.time, since: loop.coarseNow)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        self.loop.turnedAway.append(self)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.ended()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.ended()
    }

    private func ended() {
        guard self.context.take() != nil else { return }
        self.loop.turnedAway.removeAll { $0 === self }
        if !self.isAnswered { self.loop.countTurnedAway(status: 0) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = self.unwrapInboundIn(data)
        self.ending.heard(at: self.loop.coarseNow)
        guard !self.isAnswered else { return }
        self.isAnswered = true
        self.loop.countTurnedAway(status: Self.error.status.code)
        let answer = bytes.readableBytesView.starts(with: "HEAD ".utf8) ? Self.replyToHead : Self.reply
        context.writeAndFlush(self.wrapOutboundOut(answer.bytes(with: self.loop.dateLine)), promise: nil)
        // The kernel takes so few bytes at once.
        context.close(mode: .output, promise: nil)
        self.ending.answerIsOut(at: self.loop.coarseNow)
    }

    /// A connection over the limit of its address has a place, until another one needs it.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ConnectionPlaces.GivesWay { return context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    /// Called by the loop's sweep.
    func sweep() {
        if self.ending.isOver(at: self.loop.coarseNow, unread: Self.time) { self.close() }
    }

    func close() {
        self.context?.close(promise: nil)
    }
}
