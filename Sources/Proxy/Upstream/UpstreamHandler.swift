import HTTPWire
import NIOCore

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
        case closed
    }

    /// Counts it, once it is connected, until it is gone.
    private var pool: UpstreamPool?
    private var context: ChannelHandlerContext?
    private var exchange: Exchange?
    private var state = State.idle
    private var reader = AnswerReader()
    private var isReadWithheld = false
    private var small = SmallWrites()
    private var isProcessing = false
    private(set) var isWritable = true
    /// It has been idle: the upstream may have closed it just now.
    private(set) var isReused = false
    /// The sweep's tick at which it became idle.
    private(set) var idleSince = Tick.start

    var isOpen: Bool {
        switch self.state {
        case .idle, .answering, .held: self.context != nil
        case .heldLast, .closed: false
        }
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.ended(cleanly: false)
        self.context = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
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
        guard let event = event as? ChannelEvent, event == .inputClosed else { return }
        self.ended(cleanly: true)
        context.close(promise: nil)
    }

    private func ended(cleanly: Bool) {
        guard self.isOpen else { return }
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
            exchange.upstreamLost(beforeAnyByte: !self.reader.hasBegun)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard self.exchange != nil else {
            // An answer nobody asked for.
            context.close(promise: nil)
            return
        }
        self.reader.receive(self.unwrapInboundIn(data))
        self.process()
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        self.exchange?.flush()
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
        case .answering: self.exchange?.canTakeAnswer ?? true
        case .held, .heldLast, .closed: false
        }
    }

    private func process() {
        guard !self.isProcessing else { return }
        self.isProcessing = true
        defer { self.isProcessing = false }
        do throws(WireError) {
            while let exchange = self.exchange {
                guard try self.step(exchange) else { break }
            }
        } catch {
            self.exchange?.upstreamInvalid()
        }
    }

    /// - Returns: whether there may be more to do.
    private func step(_ exchange: Exchange) throws(WireError) -> Bool {
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
        self.state = .answering
    }

    func write(_ bytes: ByteBuffer) {
        guard !self.small.gather(bytes) else { return }
        self.writeSmall()
        self.context?.write(self.wrapOutboundOut(bytes), promise: nil)
    }

    func flush() {
        self.writeSmall()
        self.context?.flush()
    }

    private func writeSmall() {
        guard let gathered = self.small.take() else { return }
        self.context?.write(self.wrapOutboundOut(gathered), promise: nil)
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
        case .idle, .answering, .closed: break
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
        pool.released(self)
        self.resumeReading()
    }

    /// The connection is not fit for another request, or its exchange is over.
    func close() {
        self.exchange = nil
        self.leave()
        self.context?.close(promise: nil)
    }

    /// TLS says farewell before its connection is gone, and nobody must get that in the meantime.
    private func leave() {
        self.state = .closed
        self.pool?.closed(self)
        self.pool = nil
    }
}

// MARK: - For the pool

extension UpstreamHandler {
    /// It is connected, and counts from now on.
    func join(_ pool: UpstreamPool) {
        self.pool = pool
    }
}
