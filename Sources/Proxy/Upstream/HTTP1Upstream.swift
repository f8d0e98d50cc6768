import HTTPWire
import NIOCore
import NIOSSL
import NIOTLS

/// A connection to an upstream that speaks HTTP/1. It frames one request after the other, parses their responses, and
/// hands these to the exchange that uses the connection. The exchange sees it as an ``Upstream``.
///
/// Reads stop while the caller can't take more, and while a response is held.
final class HTTP1Upstream: ChannelDuplexHandler, TurnTaking {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = Never
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum State {
        case idle
        /// A request was sent; its exchange gets what comes.
        case responding
        /// The response has ended, but the request has not.
        case uploading
        /// The exchange has the head and has not decided; nothing more is read.
        case held
        /// The response is held and complete, but the connection is gone.
        case heldLast
        /// HTTP is over: bytes go to the exchange as they come. The connection has left its pool.
        case tunnelling
        case closed
    }

    /// The pool that counts the connection, from when it is connected until it is gone.
    var pool: UpstreamPool?
    var context: ChannelHandlerContext?
    /// Counts the connection while it accepts no bytes. Set from joining a pool until the connection is gone.
    var readShare: ReadShare?
    private var isBlocked = false
    private var exchange: Exchange?
    private var state = State.idle
    var reader = ResponseReader()
    /// Writes requests to the upstream.
    let writer = HTTP1RequestWriter()
    private var isReadWithheld = false
    private var isProcessing = false
    /// The rest of what was read waits for the connection's next turn.
    private var awaitsTurn = false
    /// Set if the connection has ended while its bytes were being processed, or waited for it; `true` for a clean end.
    /// The bytes that came before the end are handled first.
    private var waitingEnd: Bool?
    /// In a tunnel: the upstream was told that the caller has ended its side.
    private var isOutputEnded = false
    /// The connection has been idle, so the upstream may have closed it just now.
    private(set) var isReused = false
    /// The generation of the pool's certificates with which the connection was made.
    var configGeneration = 0
    var socket: CountedSocket?
    /// When the connection was made, and how long it may serve requests.
    var (madeAt, age) = (CoarseTime.start, Duration.zero)
    /// The sweep tick at which the connection became idle.
    private(set) var idleSince = CoarseTime.start

    var isOpen: Bool { !self.isOver && self.context != nil }
    private var isOver: Bool {
        switch self.state {
        case .idle, .responding, .uploading, .held, .tunnelling: false
        case .heldLast, .closed: true
        }
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        self.writer.added(to: context)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.ended(cleanly: false)
        self.writer.removed()
        self.context = nil
        self.share(isBlocked: false)
        self.readShare = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        // Once the gateway's side has ended, the upstream's end has no event of its own.
        if self.isOutputEnded { self.exchange?.responseEnded(nil, isReusable: false) }
        self.ended(cleanly: false)
    }

    /// A TLS connection that ends without `close_notify` causes such an error, and the connection's end follows right
    /// behind it. A response cut there must not pass for complete.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.ended(cleanly: false)
        context.close(promise: nil)
    }

    /// Only an event shows that the upstream has ended its side. A reset does not end a response.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch (self.state, event) {
        // TLS ends the connection once both sides have ended, even if the kernel has not taken the gateway's
        // close_notify.
        case (.tunnelling, ChannelEvent.inputClosed), (.tunnelling, TLSUserEvent.shutdownCompleted):
            self.exchange?.responseEnded(nil, isReusable: false)
        case (.tunnelling, ChannelEvent.outputClosed): self.isOutputEnded = true
        case (_, ChannelEvent.inputClosed):
            self.ended(cleanly: true)
            context.close(promise: nil)
        default: break
        }
    }

    private func ended(cleanly: Bool) {
        guard !self.isOver else { return }
        guard !self.isProcessing, !self.awaitsTurn else {
            // What came before the end is handled first. Then this is called again.
            self.waitingEnd = cleanly && self.waitingEnd ?? true
            return
        }
        self.waitingEnd = nil
        self.socket?.leave()
        let isHeld = if case .held = self.state { true } else { false }
        let staysHeld = isHeld && self.reader.isWhole(isEnded: cleanly)
        self.state = staysHeld ? .heldLast : .closed
        self.pool?.closed(self)
        self.pool = nil
        guard !staysHeld, let exchange = self.exchange else { return }
        self.exchange = nil
        if cleanly, !isHeld, self.reader.endsWithClose {
            exchange.responseEnded(nil, isReusable: false)
            exchange.flush()
        } else {
            exchange.upstreamLost(beforeAnyByte: !self.reader.hasBegun, beforeAnyFlush: !self.writer.hasFlushed)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let exchange = self.exchange else {
            // A response without a request.
            return self.close()
        }
        switch self.state {
        case .uploading:
            // Bytes without a request: the response has ended.
            self.ended(cleanly: false)
            context.close(promise: nil)
        case .responding where !self.writer.hasFlushed:
            // The request has not left yet, so these bytes belong to no request. They came behind the last response.
            self.ended(cleanly: false)
            context.close(promise: nil)
        case .tunnelling:
            exchange.responseBytes(self.unwrapInboundIn(data))
        case .idle, .responding, .held, .heldLast, .closed:
            self.reader.receive(self.unwrapInboundIn(data))
            self.process()
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        self.exchange?.flushSoon()
        // Otherwise the channel requests the read through all handlers.
        if self.wantsRead { context.read() }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        self.writer.isWritable = context.channel.isWritable
        self.share(isBlocked: !self.writer.isWritable)
        if self.writer.isWritable { self.exchange?.upstreamWritable() }
    }

    private func share(isBlocked: Bool) {
        guard let readShare = self.readShare, self.isBlocked != isBlocked else { return }
        self.isBlocked = isBlocked
        if isBlocked { readShare.block() } else { readShare.unblock() }
    }

    func read(context: ChannelHandlerContext) {
        if self.wantsRead {
            context.read()
        } else {
            self.isReadWithheld = true
        }
    }

    private var wantsRead: Bool {
        switch self.state {
        case .idle, .uploading: true
        case .responding, .tunnelling: !self.awaitsTurn && self.exchange?.canTakeResponse ?? true
        case .held, .heldLast, .closed: false
        }
    }

    /// Hands the exchange what was read.
    ///
    /// - Parameter inTurns: what is left when the turn is over waits for the next one.
    private func process(inTurns: Bool = true) {
        guard !self.isProcessing, !inTurns || !self.awaitsTurn else { return }
        self.isProcessing = true
        var turn = Turn()
        defer {
            self.isProcessing = false
            if !self.awaitsTurn, let cleanly = self.waitingEnd { self.ended(cleanly: cleanly) }
        }
        do throws(WireError) {
            guard let exchange = self.exchange else { return }
            while self.exchange === exchange, !inTurns || !turn.isOver, try self.step(exchange, &turn) {}
            if inTurns, turn.isOver, self.exchange === exchange {
                self.awaitsTurn = true
                exchange.loop.turns.append(self)
            }
        } catch {
            self.exchange?.upstreamInvalid(error.rule ?? .notHTTP)
        }
    }

    func takeTurn() {
        self.awaitsTurn = false
        self.process()
        // A flush as a task of its own could take until the next turns are due, and nothing would be read any more.
        self.exchange?.flush()
        self.resumeReading()
    }

    /// - Returns: whether there may be more to do.
    private func step(_ exchange: Exchange, _ turn: inout Turn) throws(WireError) -> Bool {
        if case .tunnelling = self.state {
            let rest = self.reader.takeRest()
            if rest.readableBytes > 0 { exchange.responseBytes(rest) }
            return false
        }
        guard case .responding = self.state else { return false }
        switch try self.reader.next() {
        case .head(let head):
            turn.tookHead()
            exchange.responded(head)
        case .bytes(let bytes):
            turn.tookPiece()
            exchange.responseBytes(bytes)
        case .end(let trailers):
            turn.tookPiece()
            exchange.responseEnded(trailers, isReusable: self.reader.isClean)
        case .needsMore: return false
        }
        return true
    }
}

// MARK: - For the exchange

extension HTTP1Upstream {
    func begin(_ head: consuming AuthorizedHead, of exchange: Exchange, method: HTTPMethod, framing: BodyFraming) {
        self.exchange = exchange
        self.reader.begin(method)
        self.state = .responding
        self.writer.begin(head, framing: framing)
    }

    func end(_ trailers: Trailers?, by rewrite: UpstreamRequest?) -> Bool {
        guard case .tunnelling = self.state else { return self.writer.end(trailers, by: rewrite) }
        self.context?.endOutputWhenWritten()
        return true
    }

    func holdResponse() {
        guard case .responding = self.state else { return }
        self.state = .held
    }

    func resumeResponse() {
        switch self.state {
        case .held:
            self.state = .responding
            self.process()
            self.resumeReading()
        case .heldLast:
            self.state = .responding
            self.process(inTurns: false)
            let isEnded = if case .responding = self.state { false } else { true }
            self.state = .closed
            guard let exchange = self.exchange.take() else { return }
            // Such a response ends with its connection, which has ended.
            if !isEnded { exchange.responseEnded(nil, isReusable: false) }
            if isEnded { exchange.upstreamLost(beforeAnyByte: false, beforeAnyFlush: false) }
        case .idle, .responding, .uploading, .tunnelling, .closed: break
        }
    }

    /// Keeps the connection if the request was written whole and the response's end is here already; otherwise closes
    /// it.
    func discardResponse() {
        guard case .held = self.state, self.writer.hasSentAll, self.reader.skipRest(), self.reader.isClean else {
            return self.close()
        }
        self.release()
    }

    func responseEnded() {
        if case .responding = self.state { self.state = .uploading }
        self.resumeReading()
    }

    func resumeReading() {
        guard self.isReadWithheld, self.wantsRead else { return }
        self.isReadWithheld = false
        self.context?.read()
    }

    func release() {
        self.exchange = nil
        guard self.isOpen, self.waitingEnd == nil, let pool = self.pool else { return }
        self.state = .idle
        self.isReused = true
        self.idleSince = pool.coarseNow
        self.writer.takeBackHead(to: pool.loop)
        pool.released(self)
        self.resumeReading()
    }

    /// Closes a connection that can't serve another request, or whose exchange is over.
    func close() {
        if case .tunnelling = self.state { return self.sever() }
        // TLS sends `close_notify`, and until that is done goes on sending what it was given.
        if self.unsent > 0, self.tls != nil { return self.sever() }
        self.end(by: self.context)
    }

    /// Resets the connection now. Nothing that was written leaves it any more, wherever it waits, and nothing that was
    /// cut looks complete.
    func sever() {
        self.context?.channel.resetOnClose()
        self.end(by: self.tls ?? self.context)
    }

    private func end(by context: ChannelHandlerContext?) {
        self.socket?.leave()
        self.exchange = nil
        self.writer.clear()
        self.leave()
        context?.close(promise: nil)
    }

    var tls: ChannelHandlerContext? {
        try? self.context?.pipeline.syncOperations.context(handlerType: NIOSSLClientHandler.self)
    }

    /// Leaves the pool. TLS sends `close_notify` before the connection is gone, and no request may get it meanwhile.
    private func leave() {
        self.state = .closed
        self.pool?.closed(self)
        self.pool = nil
    }
}

// MARK: - For the kill switch

extension HTTP1Upstream {
    /// The largest TLS record, in bytes (RFC 8446 §5.1). A record goes out completely, or none of it is of use.
    private static let largestRecord = 16 << 10

    /// The number of flushed bytes that the kernel has not taken, counted in the form in which they are sent.
    var unsent: Int { (try? self.context?.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0 }

    /// The kernel has all of the current head. Unsent bytes are the last ones that were flushed. They are all of the
    /// body if there are fewer of them than bytes behind the head, by at least one record, which may hold parts of
    /// both.
    var isHeadOut: Bool {
        switch self.state {
        case .responding, .uploading, .held, .tunnelling:
            guard self.writer.hasFlushed else { return false }
            let unsent = self.unsent
            return unsent == 0 || unsent + Self.largestRecord <= self.writer.behindHead
        case .heldLast: return true
        case .idle, .closed: return false
        }
    }
}

// MARK: - For a tunnel

extension HTTP1Upstream {
    /// Makes the connection a tunnel, and frees its place in the pool.
    func tunnel() {
        self.writer.tunnel()
        self.pool?.closed(self)
        self.pool = nil
        self.state = .tunnelling
    }

    func closeWhenWritten(within limit: Duration) {
        self.exchange = nil
        self.leave()
        guard let context = self.context else { return }
        let channel = context.channel
        let late = context.eventLoop.scheduleTask(in: TimeAmount(limit)) { channel.close(promise: nil) }
        let written = context.eventLoop.makePromise(of: Void.self)
        context.writeAndFlush(self.wrapOutboundOut(ByteBuffer()), promise: written)
        written.futureResult.whenComplete { _ in
            late.cancel()
            channel.close(promise: nil)
        }
    }
}
