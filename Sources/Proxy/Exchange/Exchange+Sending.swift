import HTTPWire
import NIOCore
import Telemetry
import TokenModel

/// Towards the upstream: a pass, a connection, the head with the token, the body.
extension Exchange {
    /// The request waits for a pass.
    func park(_ route: Route, refused: TokenMark?) {
        self.lastProgress = self.loop.tick
        self.loop.requestPass(for: self, slot: route.slot, refused: refused)
    }

    func passArrived(_ pass: Pass) {
        guard let route = self.match?.route else { return }
        switch self.machine.passArrived(isNewer: TokenMark(pass) != self.refusedToken) {
        case .connect:
            self.connect(route)
        case .replay:
            self.heldAnswer = nil
            self.heldBody = nil
            self.record?.replay = .sent
            if self.needsUpstreamFlush {
                // The last of the request: nobody flushes for a connection that waits for the next.
                self.needsUpstreamFlush = false
                self.upstream?.flush(on: self.loop)
            }
            self.upstream?.discardAnswer(isReusable: self.requestEncoder.isEnded)
            self.upstream = nil
            self.connect(route)
        case .passHeldAnswer:
            if let answer = self.heldAnswer { self.pass(answer) }
            self.upstream?.resumeAnswer()
            self.passHeldBody()
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

    func connect(_ route: Route, fresh: Bool = false) {
        self.lastProgress = self.loop.tick
        self.loop.pools[route.pool].acquire(for: self, fresh: fresh)
    }

    /// A connection is being made; what was waited for a place does not count.
    func dialling() {
        self.lastProgress = self.loop.tick
    }

    /// A connection is ready: the token goes in and the head goes out, in this tick.
    ///
    /// - Returns: whether it is taken; else another exchange may have it.
    func connected(_ upstream: UpstreamHandler) -> Bool {
        guard let request = self.request, let match = self.match, self.machine.phase == .connecting else {
            return false
        }
        let route = match.route
        let framing = self.framing(of: request, on: route)
        let expects = self.expects(request, on: route)
        let head = route.rewrite.head(
            for: request,
            replacing: route.plan.strip ? match.prefix : 0,
            framing: framing,
            expects: expects,
            hop: route.rewrite.appendsForwarded ? self.caller.hop : nil,
            spare: 1_024,
            reusing: self.loop.requestHeads.take()
        )
        guard let authorized = self.loop.gateway.authorize(consume head, route, refused: self.refusedToken) else {
            self.passLapsed(route)
            return false
        }
        self.sentToken = authorized.token
        self.sentOrigin = authorized.origin
        self.loop.meter.injected(route: route.number)
        self.loop.used(authorized.token, slot: route.slot)
        self.machine.sent(onReused: upstream.isReused, expects: expects)
        self.upstream = upstream
        self.lastProgress = self.loop.tick
        upstream.begin(self, method: request.method)
        upstream.write(authorized.open(), isHead: true)
        self.needsUpstreamFlush = true
        self.requestEncoder = BodyEncoder(framing)
        if expects { self.awaitContinue() } else { self.startBody() }
        return true
    }

    /// What is here of the body goes, and the rest may come.
    func startBody() {
        if let kept = self.kept.bytes { self.sendBody(kept) }
        self.kept.trim()
        if self.isRequestEnded {
            self.endBody()
        } else {
            if self.request?.expectsContinue == true, self.kept.isEmpty { self.sendContinue() }
            self.caller.resume()
        }
    }

    /// How the body will be sent: to an upstream of HTTP/1.0 by its length, where all of it is here.
    private func framing(of request: RequestHead, on route: Route) -> BodyFraming {
        guard request.body.isChunked, self.isRequestEnded, !self.kept.isDropped,
            self.loop.pools[route.pool].speaksHTTP10
        else { return request.body }
        return .length(self.kept.count)
    }

    private func passLapsed(_ route: Route) {
        switch self.machine.lapsed() {
        case .park: self.park(route, refused: self.refusedToken)
        case .answer:
            self.answer(
                self.loop.gateway.isLeaseOver
                    ? GatewayError(PassError.leaseEnded)
                    : GatewayError(
                        .refreshFailed,
                        "each token ended before it could be used; its lifetime is too short"
                    )
            )
        case .fail: self.abort()
        }
    }

    func connectFailed(_ error: GatewayError) {
        guard self.machine.failed() == .answer else { return }
        self.answer(error)
        self.flush()
    }

    /// Once per request: a second attempt finds the caller sending already.
    func sendContinue() {
        guard !self.hasSentContinue else { return }
        self.hasSentContinue = true
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
            guard let rewrite = self.match?.route.rewrite else { return self.abort() }
            self.upstream?.write(rewrite.lastChunk(self.requestTrailers, allocator: self.caller.allocator))
            self.needsUpstreamFlush = true
        case .short, .close: self.abort()
        }
    }
}
