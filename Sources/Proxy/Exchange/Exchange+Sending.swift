import HTTPWire
import NIOCore
import TokenModel

/// Towards the upstream: a pass, a connection, the head with the token, the body.
extension Exchange {
    func park(refused: TokenMark?) {
        self.loop.requestPass(for: self, slot: self.route.slot, refused: refused)
    }

    func passArrived(_ pass: Pass) {
        let isNewer = TokenMark(pass) != self.sentToken
        switch self.machine.passArrived(isNewer: isNewer) {
        case .connect:
            self.connect()
        case .replay:
            self.heldAnswer = nil
            self.upstream?.discardAnswer()
            self.connect()
        case .passHeldAnswer:
            if let answer = self.heldAnswer { self.pass(answer) }
            self.upstream?.resumeAnswer()
        case .answerReset:
            self.answer(self.resetError)
        case .ignore: break
        }
        self.flush()
    }

    func passRefused(_ error: PassError) {
        guard self.machine.failed() == .answer else { return }
        self.releaseUpstream(reusable: false)
        self.answer(GatewayError(error))
        self.flush()
    }

    func connect(fresh: Bool = false) {
        self.loop.pools[self.route.pool].acquire(for: self, fresh: fresh)
    }

    /// A connection is ready: the token goes in and the head goes out, in this tick.
    func connected(_ upstream: UpstreamHandler) {
        guard let request = self.request, self.machine.phase == .connecting else {
            upstream.release()
            return
        }
        let head = self.route.rewrite.head(
            for: request,
            replacing: self.route.plan.strip ? self.match.prefix : 0,
            framing: request.body,
            spare: 1_024,
            allocator: self.caller.allocator
        )
        guard let authorized = self.loop.gateway.authorize(head, self.match.route) else {
            upstream.release()
            return self.passLapsed()
        }
        self.sentToken = authorized.token
        self.machine.sent(onReused: upstream.isReused)
        self.upstream = upstream
        self.lastProgress = self.loop.tick
        upstream.begin(self, method: request.method)
        upstream.write(authorized.open())
        self.needsUpstreamFlush = true
        self.requestEncoder = BodyEncoder(request.body)
        if let kept = self.kept.bytes { self.sendBody(kept) }
        self.kept.trim()
        if self.isRequestEnded { return self.endBody() }
        if request.expectsContinue, self.kept.count == 0, !self.kept.isDropped { self.sendContinue() }
        self.caller.resumeReading()
    }

    func passLapsed() {
        switch self.machine.lapsed() {
        case .park: self.park(refused: nil)
        case .answer:
            self.answer(
                GatewayError(.refreshFailed, "each token ended before it could be used; its lifetime is too short")
            )
        case .fail: self.abort()
        }
    }

    func connectFailed(_ error: GatewayError) {
        guard self.machine.failed() == .answer else { return }
        self.answer(error)
        self.flush()
    }

    func sendContinue() {
        var interim = self.caller.allocator.buffer(capacity: 25)
        interim.writeStaticString("HTTP/1.1 100 Continue\r\n\r\n")
        self.caller.write(interim)
        self.needsCallerFlush = true
    }

    func sendBody(_ bytes: ByteBuffer) {
        guard let upstream = self.upstream else { return }
        switch self.requestEncoder.frame(bytes.readableBytes, allocator: self.caller.allocator) {
        case .plain:
            upstream.write(bytes)
        case .chunk(let before):
            upstream.write(before)
            upstream.write(bytes)
            upstream.write(.lineEnd)
        case .refused:
            return self.abort()
        }
        self.needsUpstreamFlush = true
    }

    func endBody() {
        switch self.requestEncoder.end() {
        case .silent: break
        case .lastChunk:
            self.upstream?.write(CallerAnswer.lastChunk(nil, allocator: self.caller.allocator))
            self.needsUpstreamFlush = true
        case .short, .close: self.abort()
        }
    }
}
