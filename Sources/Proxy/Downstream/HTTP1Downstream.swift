import HTTPWire
import NIOCore
import NIOSSL
import NIOTLS
import SystemSupport
import TokenModel

/// A caller's HTTP/1 connection: reads one request at a time, feeds its ``Exchange``, and writes the responses.
///
/// Reads stop while the exchange can't take more: that is the backpressure on the caller. No further request is read
/// while the caller leaves responses unread. A caller that ends its side after its requests still gets their responses.
final class HTTP1Downstream: ChannelDuplexHandler, TurnTaking {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = Never
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Bytes that may wait here unread by the exchange: pipelined requests, or a body that the exchange can't take yet.
    private static let highWater = 16 << 10

    /// While the gateway stops, it keeps a connection that was made or used within this time, for a request that may be
    /// on its way: if the connection closed, the caller could not tell whether that request was processed.
    static let keptTime = Duration.seconds(1)

    enum State {
        /// The TLS handshake is in progress; no bytes of a request can be here.
        case handshaking
        case open
        /// HTTP is over: bytes go to the exchange as they arrive.
        case tunnelling
        /// The response is being written, and the connection ends after it.
        case ending(LingeringClose)
        case closed
    }

    let loop: GatewayLoop
    private let unverified: UnverifiedCaller
    private let isEncrypted: Bool
    var context: ChannelHandlerContext?
    private(set) var exchange: Exchange?
    var state: State
    var reader: RequestReader
    let writer: HTTP1ResponseWriter
    private(set) var isProcessing = false
    /// The rest of what was read waits for the connection's next turn.
    private(set) var awaitsTurn = false
    /// A request was authenticated, so no newcomer gets the connection's place.
    var isKnown = false
    /// What the part of a head holds that has come, in bytes.
    private(set) var headBytes = 0
    private var isReadWithheld = false
    /// The caller has ended its side.
    private var isInputEnded = false
    /// In a tunnel: the caller was told that the upstream has ended.
    private var isOutputEnded = false
    /// The tick of the sweep since which a request, the rest of its head, or the handshake has been waited for.
    var waitingSince: CoarseTime
    private(set) var isWritable = true
    /// The caller's address and scheme, for upstreams that get forwarding fields; made once.
    private(set) lazy var hop = ForwardingHop(
        address: self.context?.remoteAddress?.ipAddress,
        isEncrypted: self.isEncrypted
    )
    /// The connection's index in the loop's list.
    var index = 0

    /// - Parameters:
    ///   - peer: the user whose process has connected over a Unix socket.
    ///   - isEncrypted: the connection uses TLS.
    init(loop: GatewayLoop, isOnUnixSocket: Bool, peer: PeerIdentity? = nil, isEncrypted: Bool = false) {
        self.loop = loop
        self.unverified = UnverifiedCaller(isOnUnixSocket: isOnUnixSocket, peer: peer)
        self.isEncrypted = isEncrypted
        self.state = isEncrypted ? .handshaking : .open
        self.reader = RequestReader(limits: loop.headLimits)
        self.writer = HTTP1ResponseWriter(loop: loop, isOnUnixSocket: isOnUnixSocket)
        self.waitingSince = loop.coarseNow
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        // A caller may end its side after its last request, and still wait for the response.
        _ = try? context.channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
        self.writer.added(to: context, isEncrypted: self.isEncrypted)
        self.exchange = Exchange(loop: self.loop, downstream: .http1(self), from: self.unverified)
        self.loop.opened(self)
    }

    func channelInactive(context: ChannelHandlerContext) {
        // After the output has ended, no event tells that the caller's own side has ended.
        if case .tunnelling = self.state, self.isOutputEnded { self.exchange?.requestEnded(nil) }
        self.ended()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.ended()
        self.context = nil
        self.writer.removed()
    }

    private func ended() {
        guard let exchange = self.exchange else { return }
        self.state = .closed
        self.exchange = nil
        if !self.isWritable { self.loop.readShare.unblock() }
        // A queue may retain the exchange, and with it this handler, for a while longer.
        self.reader.clear()
        self.weighHead()
        self.writer.clear()
        exchange.callerGone()
        self.loop.closed(self)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch self.state {
        case .tunnelling: self.state = .closed
        case .handshaking:
            self.state = .closed
            self.loop.handshakeFailed(HandshakeFailure(error))
        case .open, .ending, .closed: break
        }
        context.close(promise: nil)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case ChannelEvent.inputClosed: self.inputEnded(context)
        case ChannelEvent.outputClosed: self.isOutputEnded = true
        case is ConnectionPlaces.GivesWay: self.reset()
        // TLS ends the connection once both sides have ended, even if the kernel has not taken the gateway's
        // close_notify.
        case TLSUserEvent.shutdownCompleted where self.isTunnelling: self.exchange?.requestEnded(nil)
        case TLSUserEvent.handshakeCompleted(_):
            guard case .handshaking = self.state else { return }
            self.state = .open
            self.waitingSince = self.loop.coarseNow
            if let certificate = self.certificate { self.exchange?.callerShowed(ClientCertificate(certificate)) }
        default: break
        }
    }

    /// The caller has ended its side. Requests that it has sent before are served.
    private func inputEnded(_ context: ChannelHandlerContext) {
        self.isInputEnded = true
        switch self.state {
        case .open:
            self.resume()
        case .tunnelling: self.exchange?.requestEnded(nil)
        case .ending(let ending):
            // The caller sends nothing more that could cost it the response.
            if ending.isResponseOut { context.close(promise: nil) }
        case .handshaking, .closed: context.close(promise: nil)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = self.unwrapInboundIn(data)
        switch self.state {
        case .open:
            if !self.reader.hasBegun { self.waitingSince = self.loop.coarseNow }
            self.reader.receive(bytes)
            self.process()
        case .ending(var ending):
            ending.heard(at: self.loop.coarseNow)
            self.state = .ending(ending)
        case .tunnelling: self.exchange?.requestBytes(bytes)
        case .handshaking, .closed: break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        self.exchange?.flushSoon()
        // Otherwise the channel asks for it through all handlers.
        if self.wantsRead { context.read() }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        guard self.isWritable != context.channel.isWritable, self.exchange != nil else { return }
        self.isWritable.toggle()
        guard self.isWritable else { return self.loop.readShare.block() }
        self.loop.readShare.unblock()
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
        case .handshaking: true
        case .open where self.reader.isInBody:
            self.reader.count < Self.highWater && self.exchange?.wantsBody == true
        case .open:
            // What waits while no request is in progress is an incomplete head, which has a limit of its own.
            self.reader.count < Self.highWater
                || self.isWritable && !self.awaitsTurn && self.exchange?.isIdle == true
        case .ending(let ending): ending.lingers
        case .tunnelling: self.exchange?.wantsBody == true
        case .closed: false
        }
    }

    /// Takes from the reader everything that the exchange can take in this turn.
    private func process() {
        guard !self.isProcessing, !self.awaitsTurn, self.reader.hasBegun || self.isInputEnded,
            let exchange = self.exchange
        else { return }
        self.isProcessing = true
        var turn = Turn()
        while !turn.isOver, self.step(exchange, &turn) {}
        self.isProcessing = false
        if turn.isOver { self.awaitTurn() }
        self.weighHead()
    }

    /// Tells the loop what the part of a head holds that has come.
    private func weighHead() {
        let isHead = !self.reader.isInBody && !self.awaitsTurn && self.exchange?.isIdle == true
        let bytes = isHead ? self.reader.capacity : 0
        guard bytes != self.headBytes else { return }
        let growth = bytes - self.headBytes
        self.headBytes = bytes
        self.loop.headsGrow(by: growth)
    }

    private func awaitTurn() {
        self.awaitsTurn = true
        self.loop.turns.append(self)
    }

    func takeTurn() {
        self.awaitsTurn = false
        self.resume()
    }

    /// - Returns: whether there may be more to do.
    private func step(_ exchange: Exchange, _ turn: inout Turn) -> Bool {
        guard case .open = self.state else { return false }
        guard self.reader.isInBody ? exchange.wantsBody : exchange.isIdle && self.isWritable else { return false }
        do throws(WireError) {
            switch try self.reader.next() {
            case .head(let head):
                turn.tookHead()
                self.writer.begin(head)
                exchange.begin(head)
            case .bytes(let bytes):
                turn.tookPiece()
                exchange.requestBytes(bytes)
            case .end(let trailers):
                turn.tookPiece()
                exchange.requestEnded(trailers)
            case .needsMore:
                if self.isInputEnded { self.endOfInput(exchange) }
                return false
            }
            return true
        } catch {
            exchange.requestFailed(error)
            return false
        }
    }

    /// The caller sends no more, and the bytes that it has sent are no whole request.
    private func endOfInput(_ exchange: Exchange) {
        if self.reader.isInBody { exchange.requestTruncated() } else { self.close(lingering: false) }
    }
}

// MARK: - For the exchange

extension HTTP1Downstream {
    /// The certificate that the caller has authenticated with, verified against the CAs of ``CallerTLS``; `nil` if it
    /// has shown none.
    private var certificate: NIOSSLCertificate? {
        guard self.isEncrypted, let context = self.context else { return nil }
        return try? context.pipeline.syncOperations.nioSSL_peerCertificate()
    }

    /// Notes that a request was authenticated.
    ///
    /// - Returns: whether the connection still has its place, which it keeps from now on.
    func keepsPlace() -> Bool {
        if !self.isKnown, let channel = self.context?.channel {
            self.isKnown = self.loop.limits.connections.recognize(channel)
        }
        return self.isKnown
    }

    func end(_ trailers: Trailers?) {
        if self.isTunnelling { self.context?.endOutputWhenWritten() } else { self.writer.end(trailers) }
    }

    /// A pipelined request may already wait.
    func finished(isWhole: Bool) {
        let closes = self.writer.closes || !isWhole
        self.writer.reset()
        guard !closes else { return self.close(lingering: !isWhole) }
        self.waitingSince = self.loop.coarseNow
        self.resume()
    }

    func resume() {
        guard !self.isProcessing else { return }
        self.process()
        self.exchange?.flush()
        if self.loop.isDraining { self.drain() }
        guard self.isReadWithheld, self.wantsRead else { return }
        self.isReadWithheld = false
        self.context?.read()
    }

    func cut(isWhole: Bool) {
        self.writer.reset()
        self.close(lingering: !isWhole)
    }

    /// Ends the connection after the bytes written. With `lingering` it first keeps reading from a caller that still
    /// sends. With TLS a caller always sends one more thing, its close_notify, and that must not cost it the response
    /// either.
    func close(lingering: Bool) {
        guard let context = self.context else { return }
        switch self.state {
        case .open, .tunnelling: break
        case .handshaking, .ending, .closed: return
        }
        let lingers = (lingering || self.isEncrypted) && !self.isInputEnded
        self.state = .ending(LingeringClose(lingers: lingers, since: self.loop.coarseNow))
        self.reader.clear()
        self.weighHead()
        self.writer.flush()
        // Closing discards what the kernel has not taken yet, so the end waits for the last write.
        let written = context.eventLoop.makePromise(of: Void.self)
        context.writeAndFlush(self.wrapOutboundOut(ByteBuffer()), promise: written)
        written.futureResult.assumeIsolated().whenComplete { _ in self.responseIsOut() }
        if lingers { self.resume() }
    }

    private func responseIsOut() {
        guard case .ending(var ending) = self.state else { return }
        ending.answerIsOut(at: self.loop.coarseNow)
        self.state = .ending(ending)
        self.context?.close(mode: ending.lingers && !self.isInputEnded ? .output : .all, promise: nil)
    }

    func reset() {
        guard let context = self.context else { return }
        self.state = .closed
        context.channel.resetOnClose()
        // TLS would send a close_notify first, and then a partial response would look whole.
        let tls =
            self.isEncrypted ? try? context.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self) : nil
        (tls ?? context).close(promise: nil)
    }

    func leave() { self.context?.close(promise: nil) }
}

// MARK: - For a tunnel

extension HTTP1Downstream {
    var isTunnelling: Bool {
        if case .tunnelling = self.state { true } else { false }
    }

    /// Ends HTTP with this head. The bytes that wait here, and those that the caller sends from now on, are no request.
    func switchProtocols(_ response: ResponseHead, by route: Route, passesCookies: Bool) {
        self.writer.switchProtocols(response, by: route, passesCookies: passesCookies)
        self.state = .tunnelling
        let rest = self.reader.takeRest()
        if rest.readableBytes > 0 { self.exchange?.requestBytes(rest) }
        if self.isInputEnded { self.exchange?.requestEnded(nil) }
        self.resume()
    }
}
