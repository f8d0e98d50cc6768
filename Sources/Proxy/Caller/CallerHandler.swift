import HTTPWire
import NIOCore

#if canImport(Glibc)
    import Glibc
#endif

/// A caller's connection: takes requests off its bytes, one at a time, and feeds its ``Exchange``.
///
/// Reads stop while the exchange can't take more: that is the backpressure towards the caller. So does taking requests
/// while the caller leaves answers unread.
final class CallerHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = Never
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// What may wait here unread by the exchange: pipelined requests, or a body that finds no room.
    private static let highWater = 16 << 10

    private enum State {
        case open
        /// The answer is on its way, and the connection's end behind it.
        case ending(CallerEnding)
        case closed
    }

    private let loop: GatewayLoop
    private let isOnUnixSocket: Bool
    private var context: ChannelHandlerContext?
    private var exchange: Exchange?
    private var state = State.open
    private var reader: RequestReader
    private var isProcessing = false
    private var isReadWithheld = false
    private var small = SmallWrites()
    /// The sweep's tick since which a request, or the rest of its head, has been waited for.
    private var waitingSince: Tick
    private(set) var isWritable = true
    private(set) var allocator = ByteBufferAllocator()
    /// Where the loop keeps it.
    var index = 0

    init(loop: GatewayLoop, isOnUnixSocket: Bool) {
        self.loop = loop
        self.isOnUnixSocket = isOnUnixSocket
        self.reader = RequestReader(limits: loop.headLimits)
        self.waitingSince = loop.tick
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        self.allocator = context.channel.allocator
        self.exchange = Exchange(
            loop: self.loop,
            caller: self,
            from: UnverifiedCaller(isOnUnixSocket: self.isOnUnixSocket)
        )
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
        let bytes = self.unwrapInboundIn(data)
        switch self.state {
        case .open:
            if !self.reader.hasBegun { self.waitingSince = self.loop.tick }
            self.reader.receive(bytes)
            self.process()
        case .ending(var ending):
            let isTooMuch = ending.takes(bytes.readableBytes)
            self.state = .ending(ending)
            if isTooMuch { context.close(promise: nil) }
        case .closed: break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        self.exchange?.flush()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        self.isWritable = context.channel.isWritable
        guard self.isWritable else { return }
        self.exchange?.callerWritable()
        self.resume()
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
        case .open where self.reader.count < Self.highWater:
            !self.reader.isInBody || self.exchange?.wantsBody == true
        // A head that is being waited for may be longer than what may wait; its own limits bound it.
        case .open: !self.reader.isInBody && self.exchange?.isIdle == true && self.isWritable
        case .ending(let ending): ending.lingers
        case .closed: false
        }
    }

    /// Takes from the reader whatever the exchange can take now.
    private func process() {
        guard !self.isProcessing else { return }
        self.isProcessing = true
        while case .open = self.state, let exchange = self.exchange, self.step(exchange) {}
        self.isProcessing = false
    }

    /// - Returns: whether there may be more to do.
    private func step(_ exchange: Exchange) -> Bool {
        guard self.reader.isInBody ? exchange.wantsBody : exchange.isIdle && self.isWritable else { return false }
        do throws(WireError) {
            switch try self.reader.next() {
            case .head(let head): exchange.begin(head)
            case .bytes(let bytes): exchange.requestBytes(bytes)
            case .end: exchange.requestEnded()
            case .needsMore: return false
            }
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

    /// The answer is whole: a pipelined request may be there already.
    func finished() {
        self.waitingSince = self.loop.tick
        self.resume()
    }

    /// The exchange may take more: of the body, or the next request.
    func resume() {
        guard !self.isProcessing else { return }
        self.process()
        self.exchange?.flush()
        if self.loop.isDraining { self.drain() }
        guard self.isReadWithheld, self.wantsRead else { return }
        self.isReadWithheld = false
        self.context?.read()
    }

    /// Ends the connection behind what was written; `lingering`, it first hears out a caller that is still sending.
    func close(lingering: Bool) {
        guard let context = self.context, case .open = self.state else { return }
        self.state = .ending(CallerEnding(lingers: lingering, since: self.loop.tick))
        self.reader.clear()
        // Closing throws away what the kernel has not taken yet, so the end waits for the last write.
        self.writeSmall()
        let written = context.eventLoop.makePromise(of: Void.self)
        context.writeAndFlush(self.wrapOutboundOut(ByteBuffer()), promise: written)
        written.futureResult.assumeIsolated().whenComplete { _ in self.answerIsOut() }
        if lingering { self.resume() }
    }

    private func answerIsOut() {
        guard case .ending(var ending) = self.state else { return }
        ending.answerIsOut(at: self.loop.tick)
        self.state = .ending(ending)
        self.context?.close(mode: ending.lingers ? .output : .all, promise: nil)
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
}

// MARK: - For the loop

extension CallerHandler {
    /// Ends what has been waited for too long.
    func sweep() {
        guard let exchange = self.exchange else { return }
        let now = self.loop.tick
        let limits = self.loop.callerTimeouts
        switch self.state {
        case .open where exchange.isIdle:
            let isHeadComing = self.isWritable && self.reader.hasBegun
            guard now.duration(since: self.waitingSince) > (isHeadComing ? limits.head : limits.idle) else { break }
            if isHeadComing { exchange.headIsOverdue() } else { self.closeNow() }
        case .open:
            exchange.sweep()
        case .ending(let ending):
            if ending.isOver(at: now, unread: limits.idle) { self.closeNow() }
        case .closed: break
        }
    }

    /// No more requests are taken; a connection without one ends now.
    func drain() {
        guard case .open = self.state, self.exchange?.isIdle == true, !self.reader.hasBegun else { return }
        self.close(lingering: false)
    }

    /// Ends the connection whatever it does.
    func closeNow() {
        self.context?.close(promise: nil)
    }
}
