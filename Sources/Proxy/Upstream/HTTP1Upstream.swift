import HTTPWire
import NIOCore
import NIOSSL

/// A connection to an upstream that speaks HTTP/1: frames one request after the other, takes their responses off its bytes,
/// and hands them to the exchange that uses it. To that it is an ``Upstream``.
///
/// Reads stop while the caller can't take more, and while a response is held.
final class HTTP1Upstream: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = Never
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum State {
        case idle
        /// A request is out; its exchange takes what comes.
        case responding
        /// The response has ended, and the request has not.
        case uploading
        /// The head is with the exchange, which has not decided; nothing more is read.
        case held
        /// Held, and the connection is gone; but the response is whole.
        case heldLast
        /// HTTP is over: bytes go to the exchange as they come. Out of the pool.
        case tunnelling
        case closed
    }

    /// Counts it, once it is connected, until it is gone.
    private var pool: UpstreamPool?
    private var context: ChannelHandlerContext?
    /// What it counts in while it takes nothing; from its joining a pool until it is gone.
    private var readShare: ReadShare?
    private var isBlocked = false
    private var exchange: Exchange?
    private var state = State.idle
    private var reader = ResponseReader()
    /// What is sent to it.
    let writer = HTTP1RequestWriter()
    private var isReadWithheld = false
    private var isProcessing = false
    /// It has ended while its bytes are gone through, cleanly or not: a write has found it gone. What came before the end is
    /// heard first.
    private var waitingEnd: Bool?
    /// Of a tunnel: the upstream was told that the caller has ended.
    private var isOutputEnded = false
    /// It has been idle: the upstream may have closed it just now.
    private(set) var isReused = false
    /// Of its pool's certificates, when it was being made.
    private(set) var configGeneration = 0
    private var socket: CountedSocket?
    /// The sweep's tick at which it became idle.
    private(set) var idleSince = CoarseTime.start

    var isOpen: Bool {
        switch self.state {
        case .idle, .responding, .uploading, .held, .tunnelling: self.context != nil
        case .heldLast, .closed: false
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
        // The upstream's own end has no event of its own then.
        if self.isOutputEnded { self.exchange?.responseEnded(nil, isReusable: false) }
        self.ended(cleanly: false)
    }

    /// TLS that ends without its own farewell is such an error, and an end of the connection comes right behind it: an
    /// answer cut there must not pass for whole.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.ended(cleanly: false)
        context.close(promise: nil)
    }

    /// The upstream's side ends with this event and with nothing else: a reset is no end of an answer.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard let event = event as? ChannelEvent else { return }
        switch (self.state, event) {
        case (.tunnelling, .inputClosed): self.exchange?.responseEnded(nil, isReusable: false)
        case (.tunnelling, .outputClosed): self.isOutputEnded = true
        case (_, .inputClosed):
            self.ended(cleanly: true)
            context.close(promise: nil)
        case (_, .outputClosed): break
        }
    }

    private func ended(cleanly: Bool) {
        guard self.isOpen else { return }
        guard !self.isProcessing else {
            self.waitingEnd = cleanly && self.waitingEnd ?? true
            return
        }
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
            // A response nobody asked for.
            return self.close()
        }
        switch self.state {
        case .uploading:
            // Nor this: the response has ended.
            self.ended(cleanly: false)
            context.close(promise: nil)
        case .responding where !self.writer.hasFlushed:
            // Nor this: the request has not left yet. It was on its way behind the last response, and is nobody's now.
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
        // Else the channel asks for it by way of all handlers.
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
        case .responding, .tunnelling: self.exchange?.canTakeResponse ?? true
        case .held, .heldLast, .closed: false
        }
    }

    private func process() {
        guard !self.isProcessing else { return }
        self.isProcessing = true
        defer {
            self.isProcessing = false
            if let cleanly = self.waitingEnd.take() { self.ended(cleanly: cleanly) }
        }
        do throws(WireError) {
            guard let exchange = self.exchange else { return }
            while self.exchange === exchange, try self.step(exchange) {}
        } catch {
            self.exchange?.upstreamInvalid(error.rule ?? .notHTTP)
        }
    }

    /// - Returns: whether there may be more to do.
    private func step(_ exchange: Exchange) throws(WireError) -> Bool {
        if case .tunnelling = self.state {
            let rest = self.reader.takeRest()
            if rest.readableBytes > 0 { exchange.responseBytes(rest) }
            return false
        }
        guard case .responding = self.state else { return false }
        switch try self.reader.next() {
        case .head(let head): exchange.responded(head)
        case .bytes(let bytes): exchange.responseBytes(bytes)
        case .end(let trailers): exchange.responseEnded(trailers, isReusable: self.reader.isClean)
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
            self.process()
            let isEnded = if case .responding = self.state { false } else { true }
            self.state = .closed
            guard let exchange = self.exchange.take() else { return }
            // Only the end of the connection tells such a response's end, and that is here.
            if !isEnded { exchange.responseEnded(nil, isReusable: false) }
            if isEnded { exchange.upstreamLost(beforeAnyByte: false, beforeAnyFlush: false) }
        case .idle, .responding, .uploading, .tunnelling, .closed: break
        }
    }

    /// The connection is kept where the request has gone out whole, and the response's end is here already.
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

    /// The connection is not fit for another request, or its exchange is over.
    func close() {
        if case .tunnelling = self.state { return self.sever() }
        // TLS says farewell, and until that is done goes on sending what it was given.
        if self.unsent > 0, self.tls != nil { return self.sever() }
        self.end(by: self.context)
    }

    /// Ends the connection with a reset, now: of what it was given nothing goes out any more, wherever it waits, and
    /// nothing that was cut looks whole.
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

    private var tls: ChannelHandlerContext? {
        try? self.context?.pipeline.syncOperations.context(handlerType: NIOSSLClientHandler.self)
    }

    /// TLS says farewell before its connection is gone, and nobody must get that in the meantime.
    private func leave() {
        self.state = .closed
        self.pool?.closed(self)
        self.pool = nil
    }
}

// MARK: - For the kill switch

extension HTTP1Upstream {
    /// What TLS puts into one record at most, in bytes (RFC 8446 §5.1). All of a record goes out or none is of use.
    private static let largestRecord = 16 << 10

    /// Bytes that were flushed, as they go out, and that the kernel has not taken.
    var unsent: Int { (try? self.context?.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0 }

    /// The kernel has all of the head that is out. What it has not taken of all that was flushed is the last of it, so
    /// it is of the body if it is less than that, by as much as one record may hold of both.
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
    /// The connection makes room in its pool.
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

// MARK: - For the pool

extension HTTP1Upstream {
    /// How long it may be idle.
    var idleTime: Duration { self.reader.idleTime }

    /// The upstream has ended the connection, or has said something unasked: bytes or an end wait to be read. Costs a
    /// system call.
    var isStale: Bool { self.context?.channel.isQuiet != true }

    /// It is connected, and counts from now on.
    func join(_ pool: UpstreamPool, by dial: UpstreamDial) {
        self.pool = pool
        self.readShare = pool.loop.readShare
        self.configGeneration = dial.configGeneration
        self.socket = (self.context?.channel).flatMap(dial.socket)
        if self.tls == nil { self.writer.goesDirectly() }
        try? self.context?.channel.syncOptions?.setOption(.recvAllocator, value: pool.readBuffers)
    }
}
