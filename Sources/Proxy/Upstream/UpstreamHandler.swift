import HTTPWire
import NIOCore
import NIOSSL

/// A connection to an upstream: takes answers off its bytes and hands them to the exchange that uses it.
///
/// Reads stop while the caller can't take more, and while an answer is held back.
final class UpstreamHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = Never
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum State {
        case idle
        /// A request is out; its exchange takes what comes.
        case answering
        /// The head is with the exchange, which has not decided; nothing more is read.
        case held
        /// Held, and the connection is gone; but the answer is whole.
        case heldLast
        /// HTTP is over: bytes go to the exchange as they come. Out of the pool.
        case tunnelling
        case closed
    }

    /// Counts it, once it is connected, until it is gone.
    private var pool: UpstreamPool?
    private var context: ChannelHandlerContext?
    private var exchange: Exchange?
    private var state = State.idle
    private var reader = AnswerReader()
    private var isReadWithheld = false
    private var outbox = Outbox()
    /// `nil` behind TLS.
    private var direct: DirectOutput?
    private var isProcessing = false
    private(set) var isWritable = true
    /// Of a tunnel: the upstream was told that the caller has ended.
    private var isOutputEnded = false
    /// It has been idle: the upstream may have closed it just now.
    private(set) var isReused = false
    /// Of its pool's certificates, when it was being made.
    private(set) var edition = 0
    private var socket: CountedSocket?
    /// The sweep's tick at which it became idle.
    private(set) var idleSince = Tick.start
    /// Something of the request that is out has gone to the kernel, or would have if that had taken it.
    private(set) var hasFlushed = false
    /// What was written behind the head that is out, in bytes.
    private var behindHead = 0
    private var lentHead = LentHead()

    var isOpen: Bool {
        switch self.state {
        case .idle, .answering, .held, .tunnelling: self.context != nil
        case .heldLast, .closed: false
        }
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.ended(cleanly: false)
        self.outbox.clear()
        self.lentHead.wipe()
        self.context = nil
        self.direct = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        // The upstream's own end has no event of its own then.
        if self.isOutputEnded { self.exchange?.upstreamEnded() }
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
        case (.tunnelling, .inputClosed): self.exchange?.upstreamEnded()
        case (.tunnelling, .outputClosed): self.isOutputEnded = true
        case (_, .inputClosed):
            self.ended(cleanly: true)
            context.close(promise: nil)
        case (_, .outputClosed): break
        }
    }

    private func ended(cleanly: Bool) {
        guard self.isOpen else { return }
        self.socket?.leave()
        let isHeld = if case .held = self.state { true } else { false }
        let staysHeld = isHeld && self.reader.isWhole(isEnded: cleanly)
        self.state = staysHeld ? .heldLast : .closed
        self.pool?.closed(self)
        self.pool = nil
        guard !staysHeld, let exchange = self.exchange else { return }
        self.exchange = nil
        if cleanly, !isHeld, self.reader.endsWithClose {
            exchange.answerEnded(nil, isReusable: false)
            exchange.flush()
        } else {
            exchange.upstreamLost(beforeAnyByte: !self.reader.hasBegun, beforeAnyFlush: !self.hasFlushed)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard self.exchange != nil else {
            // An answer nobody asked for.
            return self.close()
        }
        if case .answering = self.state, !self.hasFlushed {
            // Nor this: the request has not left yet. It was on its way behind the last answer, and is nobody's now.
            self.ended(cleanly: false)
            return context.close(promise: nil)
        }
        let bytes = self.unwrapInboundIn(data)
        if case .tunnelling = self.state {
            self.exchange?.answerBytes(bytes)
        } else {
            self.reader.receive(bytes)
            self.process()
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        self.exchange?.flushSoon()
        // Else the channel asks for it by way of all handlers.
        if self.wantsRead { context.read() }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        self.isWritable = context.channel.isWritable
        if self.isWritable { self.exchange?.upstreamWritable() }
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
        case .idle: true
        case .answering, .tunnelling: self.exchange?.canTakeAnswer ?? true
        case .held, .heldLast, .closed: false
        }
    }

    private func process() {
        guard !self.isProcessing else { return }
        self.isProcessing = true
        defer { self.isProcessing = false }
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
            if rest.readableBytes > 0 { exchange.answerBytes(rest) }
            return false
        }
        guard case .answering = self.state else { return false }
        switch try self.reader.next() {
        case .head(let head): exchange.answered(head)
        case .bytes(let bytes): exchange.answerBytes(bytes)
        case .end(let trailers): exchange.answerEnded(trailers, isReusable: self.reader.isClean)
        case .needsMore: return false
        }
        return true
    }
}

// MARK: - For the exchange

extension UpstreamHandler {
    /// Takes up a request; its answer goes to `exchange`.
    func begin(_ exchange: Exchange, method: HTTPMethod) {
        self.exchange = exchange
        self.reader.begin(method)
        self.hasFlushed = false
        self.state = .answering
    }

    func write(_ bytes: ByteBuffer, isHead: Bool = false) {
        self.behindHead = isHead ? 0 : self.behindHead &+ bytes.readableBytes
        guard let full = self.outbox.put(bytes, isHead: isHead) else { return }
        if full.holdsHead { self.lentHead.lend(full.bytes) }
        self.direct?.usesChannel()
        self.context?.write(self.wrapOutboundOut(full.bytes), promise: nil)
    }

    /// So much waits for a flush that it had better go at once.
    var hasMuchToFlush: Bool { self.outbox.isLarge }

    /// Whatever becomes of it, a part of the request may have gone from here on.
    func flush(on loop: GatewayLoop) {
        self.hasFlushed = true
        let isHead = self.outbox.holdsHead
        // It may come back here by the channel's end, so nothing of the loop is held meanwhile.
        guard var bytes = self.outbox.take() else {
            self.context?.flush()
            return
        }
        if self.direct?.send(&bytes) == true {
            if isHead { loop.requestHeads.keepWiped(consume bytes) }
            return
        }
        let isSecured = self.direct == nil
        self.direct?.usesChannel()
        if isHead { self.lentHead.lend(bytes) }
        self.context?.writeAndFlush(self.wrapOutboundOut(consume bytes), promise: nil)
        // TLS has made records of it, and has no use for it any more.
        if isSecured { self.lentHead.takeBack(to: &loop.requestHeads) }
    }

    /// The answer whose head has just come waits for a decision.
    func holdAnswer() {
        guard case .answering = self.state else { return }
        self.state = .held
    }

    /// The held answer goes to the caller after all.
    func resumeAnswer() {
        switch self.state {
        case .held:
            self.state = .answering
            self.process()
            self.resumeReading()
        case .heldLast:
            self.state = .answering
            self.process()
            self.state = .closed
            // Only the end of the connection tells such an answer's end, and that is here.
            self.exchange?.answerEnded(nil, isReusable: false)
        case .idle, .answering, .tunnelling, .closed: break
        }
    }

    /// The held answer is not wanted.
    ///
    /// - Parameter isReusable: the request it answers has gone out whole. Then the connection is kept, if the answer's
    ///   end is here already.
    func discardAnswer(isReusable: Bool) {
        guard case .held = self.state, isReusable, self.reader.skipRest(), self.reader.isClean else {
            return self.close()
        }
        self.release()
    }

    func resumeReading() {
        guard self.isReadWithheld, self.wantsRead else { return }
        self.isReadWithheld = false
        self.context?.read()
    }

    /// The connection is clean: another exchange may use it.
    func release() {
        self.exchange = nil
        guard self.isOpen, let pool = self.pool else { return }
        self.state = .idle
        self.isReused = true
        self.idleSince = pool.tick
        self.lentHead.takeBack(to: &pool.loop.requestHeads)
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
        self.outbox.clear()
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

extension UpstreamHandler {
    /// What TLS puts into one record at most, in bytes (RFC 8446 §5.1). All of a record goes out or none is of use.
    private static let largestRecord = 16 << 10

    /// Bytes that were flushed, as they go out, and that the kernel has not taken.
    var unsent: Int { (try? self.context?.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0 }

    /// The kernel has all of the head that is out. What it has not taken of all that was flushed is the last of it, so
    /// it is of the body if it is less than that, by as much as one record may hold of both.
    var isHeadOut: Bool {
        switch self.state {
        case .answering, .held, .tunnelling:
            guard self.hasFlushed else { return false }
            let unsent = self.unsent
            return unsent == 0 || unsent + Self.largestRecord <= self.behindHead
        case .heldLast: return true
        case .idle, .closed: return false
        }
    }
}

// MARK: - For a tunnel

extension UpstreamHandler {
    /// What comes from here on is no answer. The connection makes room in its pool.
    func tunnel() {
        self.lentHead.wipe()
        self.pool?.closed(self)
        self.pool = nil
        self.state = .tunnelling
    }

    /// The caller has ended its side: the upstream is told behind what was written, and still heard.
    func endOutput() {
        self.context?.endOutputWhenWritten()
    }

    /// Both sides have ended: the connection does behind what was written, or when that takes longer than `limit`.
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

extension UpstreamHandler {
    /// How long it may be idle.
    var idleTime: Duration { self.reader.idleTime }

    /// The upstream has ended the connection, or has said something unasked: bytes or an end wait to be read. Costs a
    /// system call.
    var isStale: Bool { self.context?.channel.isQuiet != true }

    /// It is connected, and counts from now on.
    func join(_ pool: UpstreamPool, by dial: UpstreamDial) {
        self.pool = pool
        self.edition = dial.edition
        self.socket = (self.context?.channel).flatMap(dial.socket)
        if self.tls == nil, let channel = self.context?.channel { self.direct = DirectOutput(channel) }
        try? self.context?.channel.syncOptions?.setOption(.recvAllocator, value: pool.readBuffers)
    }
}
