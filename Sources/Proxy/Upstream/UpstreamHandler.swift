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
        case head
        case body(keepsAlive: Bool)
        /// The head is with the exchange, which has not decided; nothing more is read.
        case held(keepsAlive: Bool)
        case closed
    }

    private unowned let pool: UpstreamPool
    private var context: ChannelHandlerContext?
    private var exchange: Exchange?
    private var state = State.idle
    private var parser = ResponseHeadParser()
    private var decoder = BodyDecoder(.none)
    private var method = HTTPMethod.other
    private var buffer = ByteBuffer()
    private var hasAnswerBegun = false
    private var isReadWithheld = false
    private var isProcessing = false
    private(set) var isWritable = true
    /// It has served a request before.
    private(set) var isReused = false
    /// The sweep's tick at which it became idle.
    private(set) var idleSince = Tick.start

    init(pool: UpstreamPool) {
        self.pool = pool
    }

    var isOpen: Bool {
        if case .closed = self.state { false } else { self.context != nil }
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.ended()
        self.context = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.ended()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func ended() {
        if case .closed = self.state { return }
        let state = self.state
        self.state = .closed
        self.pool.closed(self)
        guard let exchange = self.exchange else { return }
        self.exchange = nil
        if case .body = state, self.decoder.endsWithClose {
            exchange.answerEnded(nil, isReusable: false)
            exchange.flush()
        } else {
            exchange.upstreamLost(beforeAnyByte: !self.hasAnswerBegun)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard self.exchange != nil else {
            // An answer nobody asked for.
            context.close(promise: nil)
            return
        }
        var bytes = self.unwrapInboundIn(data)
        self.hasAnswerBegun = true
        if self.buffer.readableBytes == 0 {
            self.buffer = bytes
        } else {
            self.buffer.writeBuffer(&bytes)
        }
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
        case .idle, .head: true
        case .body: self.exchange?.canTakeAnswer ?? true
        case .held, .closed: false
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
        if self.buffer.readableBytes == 0 { self.buffer = ByteBuffer() }
    }

    /// - Returns: whether there may be more to do.
    private func step(_ exchange: Exchange) throws(WireError) -> Bool {
        switch self.state {
        case .head:
            guard let head = try self.parser.next(&self.buffer, answering: self.method) else { return false }
            if !head.isInterim {
                self.decoder = BodyDecoder(head.body)
                self.state = .body(keepsAlive: head.keepsAlive)
            }
            exchange.answered(head)
            return true
        case .body(let keepsAlive):
            switch try self.decoder.next(&self.buffer) {
            case .bytes(let bytes):
                exchange.answerBytes(bytes)
                return true
            case .end(let trailers):
                exchange.answerEnded(trailers, isReusable: keepsAlive && self.buffer.readableBytes == 0)
                return false
            case .needsMore:
                return false
            }
        case .idle, .held, .closed:
            return false
        }
    }
}

// MARK: - For the exchange

extension UpstreamHandler {
    /// Takes up a request; its answer goes to `exchange`.
    func begin(_ exchange: Exchange, method: HTTPMethod) {
        self.exchange = exchange
        self.method = method
        self.hasAnswerBegun = false
        self.state = .head
    }

    func write(_ bytes: ByteBuffer) {
        self.context?.write(self.wrapOutboundOut(bytes), promise: nil)
    }

    func flush() {
        self.context?.flush()
    }

    /// The answer whose head has just come waits for a decision.
    func holdAnswer() {
        guard case .body(let keepsAlive) = self.state else { return }
        self.state = .held(keepsAlive: keepsAlive)
    }

    /// The held answer goes to the caller after all.
    func resumeAnswer() {
        guard case .held(let keepsAlive) = self.state else { return }
        self.state = .body(keepsAlive: keepsAlive)
        self.process()
        self.resumeReading()
    }

    /// The held answer is not wanted. The connection is kept if the answer's end is here already.
    func discardAnswer() {
        guard case .held(let keepsAlive) = self.state else { return self.close() }
        var isEnded = false
        var isMore = keepsAlive
        while isMore {
            switch try? self.decoder.next(&self.buffer) {
            case .bytes: break
            case .end:
                isEnded = true
                isMore = false
            case .needsMore, nil: isMore = false
            }
        }
        self.exchange?.letGo()
        if isEnded, self.buffer.readableBytes == 0 { self.release() } else { self.close() }
    }

    func resumeReading() {
        guard self.isReadWithheld, self.wantsRead else { return }
        self.isReadWithheld = false
        self.context?.read()
    }

    /// The connection is clean: another exchange may use it.
    func release() {
        self.exchange = nil
        guard self.isOpen else { return }
        self.state = .idle
        self.isReused = true
        self.idleSince = self.pool.tick
        self.pool.released(self)
        self.resumeReading()
    }

    /// The connection is not fit for another request, or its exchange is over.
    func close() {
        self.exchange = nil
        self.context?.close(promise: nil)
    }
}
