import HTTPWire
import NIOCore

#if canImport(Glibc)
    import Glibc
#endif

/// A caller's connection: takes requests off its bytes, one at a time, and feeds its ``Exchange``.
///
/// Reads stop while the exchange can't take more: that is the backpressure towards the caller.
final class CallerHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = Never
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// What may wait here unread by the exchange: pipelined requests, or a body that finds no room.
    private static let highWater = 16 << 10
    private static let lingerLimit = 1 << 20

    private enum State {
        case open
        /// The answer is out; what the caller still sends is thrown away, so that it can read the answer.
        case lingering(left: Int, since: Tick)
        case closed
    }

    private let loop: GatewayLoop
    private var context: ChannelHandlerContext?
    private var exchange: Exchange?
    private var state = State.open
    private var parser: RequestHeadParser
    private var decoder = BodyDecoder(.none)
    private var isInBody = false
    private var buffer = ByteBuffer()
    private var isProcessing = false
    private var isReadWithheld = false
    private(set) var isWritable = true
    private(set) var allocator = ByteBufferAllocator()
    /// Where the loop keeps it.
    var index = 0

    init(loop: GatewayLoop) {
        self.loop = loop
        self.parser = RequestHeadParser(limits: loop.headLimits)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        self.allocator = context.channel.allocator
        self.exchange = Exchange(loop: self.loop, caller: self)
        self.loop.opened(self)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.ended()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.ended()
        self.context = nil
    }

    private func ended() {
        guard let exchange = self.exchange else { return }
        self.state = .closed
        self.exchange = nil
        exchange.callerGone()
        self.loop.closed(self)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = self.unwrapInboundIn(data)
        switch self.state {
        case .open:
            if self.buffer.readableBytes == 0 {
                self.buffer = bytes
            } else {
                self.buffer.writeBuffer(&bytes)
            }
            self.process()
        case .lingering(let left, let since):
            self.state = .lingering(left: left - bytes.readableBytes, since: since)
            if left < bytes.readableBytes { context.close(promise: nil) }
        case .closed: break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        self.exchange?.flush()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        self.isWritable = context.channel.isWritable
        if self.isWritable { self.exchange?.callerWritable() }
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
        case .open: self.buffer.readableBytes < Self.highWater && (!self.isInBody || self.exchange?.wantsBody == true)
        case .lingering: true
        case .closed: false
        }
    }

    /// Takes from the buffer whatever the exchange can take now.
    private func process() {
        guard !self.isProcessing else { return }
        self.isProcessing = true
        while case .open = self.state, let exchange = self.exchange, self.step(exchange) {}
        self.isProcessing = false
        if self.buffer.readableBytes == 0 { self.buffer = ByteBuffer() }
    }

    /// - Returns: whether there may be more to do.
    private func step(_ exchange: Exchange) -> Bool {
        do throws(WireError) {
            if self.isInBody {
                guard exchange.wantsBody else { return false }
                switch try self.decoder.next(&self.buffer) {
                case .bytes(let bytes):
                    exchange.requestBytes(bytes)
                    return true
                case .end:
                    self.isInBody = false
                    exchange.requestEnded()
                    return true
                case .needsMore:
                    return false
                }
            }
            guard exchange.isIdle, let head = try self.parser.next(&self.buffer) else { return false }
            if head.body != .none && head.body != .length(0) {
                self.decoder = BodyDecoder(head.body)
                self.isInBody = true
            }
            exchange.begin(head)
            return true
        } catch {
            exchange.requestFailed(error)
            return false
        }
    }
}

// MARK: - For the exchange

extension CallerHandler {
    func write(_ bytes: ByteBuffer) {
        self.context?.write(self.wrapOutboundOut(bytes), promise: nil)
    }

    func flush() {
        self.context?.flush()
    }

    /// The exchange is idle again: a pipelined request may be there already.
    func finished() {
        guard !self.isProcessing else { return }
        self.process()
        self.exchange?.flush()
        self.resumeReading()
    }

    /// The exchange may take body again.
    func resumeReading() {
        self.process()
        guard self.isReadWithheld, self.wantsRead else { return }
        self.isReadWithheld = false
        self.context?.read()
    }

    /// Ends the connection behind what was written; `lingering`, it first hears out a caller that is still sending.
    func close(lingering: Bool) {
        guard let context = self.context, case .open = self.state else { return }
        self.state = lingering ? .lingering(left: Self.lingerLimit, since: self.loop.tick) : .closed
        self.buffer = ByteBuffer()
        // Closing throws away what the kernel has not taken yet, so the end waits for the last write.
        let written = context.eventLoop.makePromise(of: Void.self)
        context.writeAndFlush(self.wrapOutboundOut(ByteBuffer()), promise: written)
        written.futureResult.assumeIsolated().whenComplete { _ in
            context.close(mode: lingering ? .output : .all, promise: nil)
        }
        if lingering { self.resumeReading() }
    }

    /// Ends the connection with a reset, so that a half answer can't be taken for a whole one.
    func abort() {
        guard let context = self.context else { return }
        self.state = .closed
        if let socket = context.channel as? any SocketOptionProvider {
            _ = socket.setSoLinger(linger(l_onoff: 1, l_linger: 0))
        }
        context.close(promise: nil)
    }

    /// Called by the loop's sweep.
    func sweep() {
        if case .lingering(_, let since) = self.state, self.loop.tick.duration(since: since) > .seconds(2) {
            self.context?.close(promise: nil)
        } else {
            self.exchange?.sweep()
        }
    }

    /// No more requests are taken; a connection without one ends now.
    func drain() {
        if self.exchange?.isIdle == true, case .open = self.state { self.close(lingering: false) }
    }

    /// Ends the connection whatever it does.
    func closeNow() {
        self.context?.close(promise: nil)
    }
}
