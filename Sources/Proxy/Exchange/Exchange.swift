import HTTPWire
import NIOCore
import Telemetry
import TokenModel

/// The shell around one request at a time and its response: ``RequestStream``, ``ResponseStream`` and ``Attempt`` decide,
/// and this does what they say to the caller's connection and to the upstream's. One for each caller's connection, on that
/// connection's event loop.
///
/// Both streams run at once: the upload goes on behind the response's head. The exchange is over when the response has ended
/// and the request has, or has been stopped. This file holds the way of a request up to the upstream, `Exchange+Response`
/// the way back, and `Exchange+Ending` its ends.
final class Exchange {
    let loop: GatewayLoop
    /// It holds the exchange, and lets go of it when its connection ends.
    let downstream: Downstream
    private(set) var unverified: UnverifiedCaller

    var request = RequestStream()
    var response = ResponseStream()
    var attempt = Attempt()

    /// Of the request under way. Ask it for what is needed: copying it retains each of its parts.
    var head: RequestHead?
    /// Where that goes, once it is settled: there may be a reply before.
    var match: RouteTable.Match?
    var upstream: Upstream?
    var sentToken: TokenMark?
    var sentOrigin: TokenOrigin?
    /// What an upstream has rejected, while a replay is due.
    var rejectedToken: TokenMark?
    /// The response that is held or inspected.
    var heldHead: ResponseHead?
    /// Its body, where that is read to judge it.
    var heldBody: ByteBuffer?
    private var hasSentContinue = false

    /// Distinguishes this request from earlier and later ones of the connection, for events that come late.
    private(set) var requestID: UInt64 = 0
    /// The credential that it waits for; `nil` while it does not.
    var wait: WaitKey?
    /// It has waited for a credential, and got one.
    var isReleased = false
    /// The sweep's tick at which something last moved.
    var lastProgress = Tick.start
    /// The sweep's tick since which the upstream's word is waited for.
    var askedSince = Tick.start
    var pace = BodyPace()
    var needsUpstreamFlush = false
    var needsDownstreamFlush = false
    /// The loop will call ``flush()`` in this tick.
    var isFlushDue = false
    /// What is known of the request under way for metrics and the access log.
    var record: RequestRecord?

    init(loop: GatewayLoop, downstream: Downstream, from unverified: UnverifiedCaller) {
        self.loop = loop
        self.downstream = downstream
        self.unverified = unverified
    }

    /// The caller has shown a certificate that somebody vouches for.
    func callerShowed(_ certificate: ClientCertificate) { self.unverified.showed(certificate) }

    /// No request is under way.
    var isIdle: Bool { self.request.phase == .idle }

    /// The request of that number waits for an upstream connection.
    func isConnecting(_ requestID: UInt64) -> Bool {
        self.requestID == requestID && self.attempt.phase == .connecting
    }

    /// The request will still be here whole if its connection turns out to be stale, and may be sent twice.
    var canSurelyBeRepeated: Bool {
        self.head?.hasBody == false && self.head?.isIdempotent == true
    }

    /// The caller can take more of the response.
    var canTakeResponse: Bool { self.downstream.isWritable }

    /// More of the request's body should be read from the caller.
    var wantsBody: Bool {
        // What a rejected token's response may yet need is not read meanwhile.
        self.response.phase != .held && self.request.wantsMore(isWritable: self.upstream?.isWritable ?? false)
    }
}

// MARK: - From the caller

extension Exchange {
    /// A request has come; its body, where it has one, follows.
    func begin(_ head: consuming RequestHead) {
        self.requestID &+= 1
        self.pace = BodyPace()
        self.isReleased = false
        self.hasSentContinue = false
        var record = RequestRecord(method: head.method.name, startedAt: .now)
        let hasBody = head.hasBody
        let decision = self.loop.gateway.decide(head, from: &self.unverified)
        self.head = head
        record.caller = self.unverified.sender?.name
        switch decision {
        case .answer(let error):
            record.route = error.forbiddenRoute
            self.record = record
            self.request.begin(hasBody: hasBody, keeping: KeptBody(limit: 0), awaitsWhole: false)
            self.reply(error)
        case .forward(let match): self.begin(match, record, hasBody: hasBody, hasCredential: true)
        case .wait(let match): self.begin(match, record, hasBody: hasBody, hasCredential: false)
        }
    }

    private func begin(
        _ match: RouteTable.Match,
        _ record: consuming RequestRecord,
        hasBody: Bool,
        hasCredential: Bool
    ) {
        let route = match.route
        self.match = match
        record.route = route.number
        record.account = route.plan.account
        self.record = record
        if self.head?.hasCookies == true, !route.plan.passesCookies { self.loop.dropped(.request, on: route) }
        // The upstream can't read chunks, so a body whose length is not known must be here whole before it is sent.
        let awaitsWhole = hasBody && self.head?.body.isChunked == true && self.loop.pools[route.pool].speaksHTTP10
        self.request.begin(
            hasBody: hasBody,
            keeping: KeptBody(limit: route.plan.replayBodyLimit, memory: self.loop.limits.replayMemory),
            awaitsWhole: awaitsWhole
        )
        guard awaitsWhole else { return self.proceed(hasCredential: hasCredential, on: route) }
        self.lastProgress = self.loop.tick
        if self.head?.expectsContinue == true { self.sendContinue() }
    }

    /// All that must be here before an upstream is asked is.
    private func proceed(hasCredential: Bool, on route: Route) {
        switch self.attempt.begin(hasCredential: hasCredential) {
        case .connect: self.connect(route)
        case .wait: self.awaitCredential(route, rejected: nil)
        }
    }

    func requestBytes(_ bytes: ByteBuffer) {
        self.record?.bytesIn += bytes.readableBytes
        switch self.request.received(bytes) {
        case .send:
            self.lastProgress = self.loop.tick
            self.send(bytes)
        case .hold:
            if self.request.awaitsWhole { self.lastProgress = self.loop.tick }
        case .discard: break
        case .tooLong:
            self.reply(
                GatewayError(.lengthRequired, "a chunked body above the replay limit, for an upstream of HTTP/1.0")
            )
        case .noMemory:
            self.reply(
                GatewayError(
                    .overloaded,
                    "a body must be kept whole, and all take too much; see limits.replay_memory"
                )
            )
        }
    }

    /// The caller has sent all of its request, or has ended its side of a tunnel.
    func requestEnded(_ trailers: Trailers?) {
        switch self.request.finished(trailers) {
        case .sendEnd:
            self.lastProgress = self.loop.tick
            // What ends a tunnel's side goes behind what was sent.
            if self.isTunnel { self.flush() }
            let isOver = self.response.phase == .ended
            if !self.isTunnel || !isOver { self.sendEnd() }
            if isOver { self.finish(isReusable: true) }
        case .proceed:
            guard let route = self.match?.route else { return self.abort() }
            self.proceed(hasCredential: self.loop.gateway.slots[route.slot].hasPass, on: route)
        case .nothing: break
        }
    }

    /// The caller has ended its side of the connection, and not its request. One that was stopped is not asked for more.
    func requestTruncated() {
        guard self.request.phase != .stopped else { return }
        if self.response.hasBegun { self.cut() } else { self.downstream.leave() }
    }

    /// The caller's bytes are not HTTP: it is told where that can be done, then the connection closes.
    func requestFailed(_ error: WireError) {
        guard !self.response.hasBegun else { return self.abort() }
        self.releaseUpstream(reusable: false)
        self.request.fail()
        if self.record == nil { self.record = RequestRecord(method: HTTPMethod.other.name, startedAt: .now) }
        self.reply(GatewayError(error))
    }

    /// Nothing of the caller may be touched from here on: what still waits in this request's name finds it idle.
    func callerGone() {
        self.releaseUpstream(reusable: false)
        self.forget()
        self.needsDownstreamFlush = false
        self.needsUpstreamFlush = false
    }

    func callerWritable() {
        self.upstream?.resumeReading()
    }

    func upstreamWritable() {
        self.lastProgress = self.loop.tick
        self.downstream.resume()
    }
}

// MARK: - Towards the upstream

extension Exchange {
    /// The request waits for a credential.
    func awaitCredential(_ route: Route, rejected: TokenMark?) {
        self.lastProgress = self.loop.tick
        self.loop.requestPass(for: self, slot: route.slot, refused: rejected)
    }

    func passArrived(_ pass: Pass) {
        guard let route = self.match?.route else { return }
        switch self.attempt.credentialArrived(isNewer: TokenMark(pass) != self.rejectedToken) {
        case .connect:
            self.connect(route)
        case .replay:
            self.heldHead = nil
            self.heldBody = nil
            self.record?.replay = .sent
            // The last of the request: nobody flushes for a connection that waits for the next.
            self.flushUpstream()
            self.upstream?.discardResponse()
            self.upstream = nil
            self.request.rewind()
            self.response.discard()
            self.connect(route)
        case .passHeld:
            self.passHeld()
        case .ignore: break
        }
        self.flush()
    }

    func passRefused(_ error: PassError) {
        guard self.attempt.isPending else { return }
        self.releaseUpstream(reusable: false)
        self.reply(GatewayError(error))
    }

    func connect(_ route: Route, fresh: Bool = false) {
        self.lastProgress = self.loop.tick
        self.loop.pools[route.pool].acquire(for: self, fresh: fresh)
    }

    /// A connection is being made; what was waited for a place does not count.
    func dialling() {
        self.lastProgress = self.loop.tick
    }

    func connectFailed(_ error: GatewayError) {
        guard self.attempt.isPending else { return }
        self.reply(error)
    }

    /// A connection is ready: the token goes in and the head goes out, in this tick.
    ///
    /// - Returns: whether it is taken; otherwise another exchange may have it.
    func connected(_ upstream: Upstream) -> Bool {
        guard self.attempt.phase == .connecting, let head = self.head, let match = self.match else { return false }
        let route = match.route
        let framing = self.framing(of: head, on: route)
        let asks = self.asks(head, on: route)
        let bytes = upstream.head(
            for: head,
            match,
            framing: framing,
            asks: asks,
            hop: route.rewrite.appendsForwarded ? self.downstream.hop : nil,
            reusing: self.loop.requestHeads.take()
        )
        guard let authorized = self.loop.gateway.authorize(consume bytes, route, refused: self.rejectedToken) else {
            self.credentialLapsed(route)
            return false
        }
        let token = authorized.token
        self.sentToken = token
        self.sentOrigin = authorized.origin
        self.loop.meter.injected(route: route.number)
        self.loop.used(token, slot: route.slot)
        self.attempt.sent(onReused: upstream.isReused, asks: asks)
        self.upstream = upstream
        self.lastProgress = self.loop.tick
        upstream.begin(authorized, of: self, method: head.method, framing: framing)
        self.needsUpstreamFlush = true
        if asks {
            self.askedSince = self.loop.tick
            // What comes is kept up to the limit meanwhile.
            self.downstream.resume()
        } else {
            self.startBody()
        }
        return true
    }

    /// How the body will be sent: to an upstream of HTTP/1.0 by its length, where all of it is here.
    private func framing(of head: RequestHead, on route: Route) -> BodyFraming {
        guard head.body.isChunked, self.request.isWhole, !self.request.kept.isDropped,
            self.loop.pools[route.pool].speaksHTTP10
        else { return head.body }
        return .length(self.request.kept.count)
    }

    /// A body that is known to be longer than what may be sent again is asked for first (RFC 9110 §10.1.1): a rejected
    /// token costs no upload then, and the request can be sent again whatever its size. Not where the upstream has just
    /// taken the token.
    private func asks(_ head: RequestHead, on route: Route) -> Bool {
        guard case .length(let length) = head.body, length > route.plan.replayBodyLimit,
            route.plan.asksBeforeBodies, let pass = self.loop.gateway.slots[route.slot].pass
        else { return false }
        return self.loop.pools[route.pool].mayExpect(TokenMark(pass), slot: route.slot)
    }

    private func credentialLapsed(_ route: Route) {
        switch self.attempt.lapsed() {
        case .wait: self.awaitCredential(route, rejected: self.rejectedToken)
        case .fail:
            self.reply(
                self.loop.gateway.isLeaseOver
                    ? GatewayError(PassError.leaseEnded)
                    : GatewayError(
                        .refreshFailed,
                        "each token ended before it could be used; its lifetime is too short"
                    )
            )
        }
    }

    /// The upstream has said that it wants the body, or has had its time to say so.
    func continued() {
        guard self.attempt.continued() else { return }
        self.lastProgress = self.loop.tick
        self.startBody()
    }

    /// What is here of the body goes, and the rest may come.
    func startBody() {
        self.request.start()
        if let kept = self.request.kept.bytes { self.send(kept) }
        self.request.trim()
        if self.request.isWhole {
            self.sendEnd()
        } else {
            if self.head?.expectsContinue == true, self.request.kept.isEmpty { self.sendContinue() }
            self.downstream.resume()
        }
    }

    /// Once per request: a second attempt finds the caller sending already.
    private func sendContinue() {
        guard !self.hasSentContinue else { return }
        self.hasSentContinue = true
        self.downstream.proceed()
        self.needsDownstreamFlush = true
    }

    private func send(_ bytes: ByteBuffer) {
        guard let upstream = self.upstream else { return }
        guard upstream.body(bytes) else { return self.abort() }
        self.needsUpstreamFlush = true
    }

    private func sendEnd() {
        guard let upstream = self.upstream else { return }
        guard upstream.end(self.request.trailers, by: self.match?.route.rewrite) else { return self.abort() }
        self.needsUpstreamFlush = true
    }
}
