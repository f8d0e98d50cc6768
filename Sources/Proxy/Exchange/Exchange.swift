import HTTPWire
import NIOCore
import Telemetry
import TokenModel

/// The shell around one request at a time and its response: ``RequestStream``, ``ResponseStream`` and ``Attempt`` decide,
/// and this does what they say to the caller's connection and to the upstream's. One for each caller's connection, on that
/// connection's event loop.
///
/// Both streams run at once: the upload goes on behind the response's head. The exchange is over when the response has ended
/// and the request has, or has been stopped. This file holds what comes from the caller,
/// `Exchange+Sending` the way to the upstream, `Exchange+Response` the way back, and `Exchange+Ending` the ends.
final class Exchange {
    let loop: GatewayLoop
    /// It holds the exchange, and lets go of it when its connection ends.
    let downstream: Downstream
    private(set) var unverified: UnverifiedCaller

    var request = RequestStream()
    var response = ResponseStream()
    var attempt = Attempt()
    /// What was taken of the request's body, as far as it can be sent again.
    var kept = KeptBody(limit: 0)
    /// What the caller has sent behind the body.
    var trailers: Trailers?

    /// Of the request under way. Ask it for what is needed: copying it retains each of its parts.
    var head: RequestHead?
    /// Where that goes, once it is settled: there may be a reply before.
    var match: RouteTable.Match?
    var upstream: Upstream?
    var sentToken: TokenVersion?
    var sentOrigin: TokenOrigin?
    /// What an upstream has rejected, while a replay is due.
    var rejectedToken: TokenVersion?
    /// The response that is held or inspected.
    var heldHead: ResponseHead?
    /// Its body, where that is read to judge it.
    var heldBody: ByteBuffer?
    var hasSentContinue = false

    /// Distinguishes this request from earlier and later ones of the connection, for events that come late.
    private(set) var requestID: UInt64 = 0
    /// The credential that it waits for; `nil` while it does not.
    var wait: WaiterKey?
    /// It has waited for a credential, and got one.
    var isReleased = false
    /// The sweep's tick at which something last moved.
    var lastProgress = CoarseTime.start
    /// The sweep's tick since which the upstream's word is waited for.
    var askedSince = CoarseTime.start
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
        switch self.request.phase {
        case .idle, .ended: false
        // What a rejected token's response may yet need is not read meanwhile.
        case .held, .sending, .stopped:
            self.response.phase != .held
                && self.request.wantsMore(isWritable: self.upstream?.isWritable ?? false, hasRoom: self.hasRoom)
        }
    }

    /// Another piece of the body can be kept. Where its end must be seen there is always room for one more.
    private var hasRoom: Bool { self.request.awaitsWhole ? !self.kept.isOver : self.kept.hasRoom }

    /// All that was taken of the request is still there to be sent again.
    var isKept: Bool { self.request.phase != .stopped && !self.kept.isDropped }

    /// Nothing is sent again from here on.
    func settle() {
        self.kept = KeptBody(limit: 0)
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
        case .reply(let error):
            record.route = error.forbiddenRoute
            self.record = record
            self.request.begin(hasBody: hasBody)
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
        self.request.begin(hasBody: hasBody, awaitsWhole: awaitsWhole)
        self.kept = KeptBody(limit: route.plan.replayBodyLimit, memory: self.loop.limits.replayMemory)
        guard awaitsWhole else { return self.proceed(hasCredential: hasCredential, on: route) }
        self.lastProgress = self.loop.coarseNow
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
        switch self.request.received() {
        case .send:
            self.lastProgress = self.loop.coarseNow
            self.kept.keep(bytes, isSent: true)
            self.send(bytes)
        case .hold:
            self.kept.keep(bytes, isSent: false)
            if self.request.awaitsWhole { self.keptForLength() }
        case .discard: break
        }
    }

    /// Another piece is here of a body that must be whole before it is sent.
    private func keptForLength() {
        self.lastProgress = self.loop.coarseNow
        if self.kept.isOver {
            self.reply(
                GatewayError(.lengthRequired, "a chunked body above the replay limit, for an upstream of HTTP/1.0")
            )
        } else if self.kept.isMemoryOver {
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
        self.trailers = trailers
        switch self.request.finished() {
        case .sendEnd:
            self.lastProgress = self.loop.coarseNow
            // What ends a tunnel's side goes behind what was sent.
            if self.isTunnel { self.flush() }
            let isOver = self.response.phase == .ended
            if !self.isTunnel || !isOver { self.sendEnd() }
            if isOver { self.finish(isReusable: true) }
        case .proceed:
            guard let route = self.match?.route else { return self.abort() }
            self.proceed(hasCredential: self.loop.gateway.slots[route.slot].hasCredential, on: route)
        case .nothing: break
        }
    }

    /// The caller has ended its side of the connection, and not its request. One that was stopped is not asked for more.
    func requestTruncated() {
        guard self.request.phase != .stopped else { return }
        if self.response.hasBegun { self.endBegun() } else { self.downstream.leave() }
    }

    /// The caller's bytes are not HTTP: it is told where that can be done, then the connection closes.
    func requestFailed(_ error: WireError) {
        // What is thrown away need not be well formed.
        guard self.request.phase != .stopped else { return }
        guard !self.response.hasBegun else { return self.endBegun() }
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
        self.lastProgress = self.loop.coarseNow
        self.downstream.resume()
    }
}
