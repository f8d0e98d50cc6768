import HTTPWire
import NIOCore
import Telemetry
import TokenModel

/// Handles one request at a time and its response. ``RequestStream``, ``ResponseStream`` and ``Attempt`` decide; the
/// exchange carries out their decisions on the caller's connection and the upstream's. Each caller connection has one
/// exchange, on that connection's event loop.
///
/// Both streams run at the same time: the upload may go on after the response head. The exchange is over when the
/// response has ended and the request has ended or was stopped. This file handles events from the caller;
/// `Exchange+Sending` is the way to the upstream, `Exchange+Response` the way back, `Exchange+Caching` what a response
/// cache does at both, `Exchange+Ending` the ends, and `Exchange+Fencing` the kills.
final class Exchange {
    let loop: GatewayLoop
    /// The caller's connection. It holds the exchange, and releases it when the connection ends.
    let downstream: Downstream
    private(set) var unverified: UnverifiedCaller

    var request = RequestStream()
    var response = ResponseStream()
    var attempt = Attempt()
    /// The part of the request body kept for a replay.
    var kept = KeptBody(limit: 0)
    /// The trailers that the caller has sent behind the body.
    var trailers: Trailers?

    /// The head of the request in progress. Read single properties of it: copying it retains every buffer.
    var head: RequestHead?
    /// Where the request goes; `nil` until that is decided, and for a request that gets a local reply instead.
    var match: RouteTable.Match?
    var upstream: Upstream?
    var sentToken: TokenVersion?
    var sentOrigin: TokenOrigin?
    /// The token that an upstream has rejected for this request, which is not sent with it again.
    var rejectedToken: TokenVersion?
    /// The head of the response that is held or inspected.
    var heldHead: ResponseHead?
    /// The body of that response, where it is read to judge the response.
    var heldBody: ByteBuffer?
    /// What the request has to do with its route's response cache; `nil` on routes without one.
    var cacheTurn: CacheTurn?
    /// The stored body that is being sent.
    var served: ServedBody?
    var hasSentContinue = false
    /// The body has no length, and counts among ``OpenBodies``.
    private var isOpenBody = false

    /// Distinguishes this request from earlier and later ones of the connection when an event arrives late.
    private(set) var requestID: UInt64 = 0
    /// The credential that the request waits for; `nil` while it does not wait.
    var wait: WaiterKey?
    /// The request has waited for a credential, and got one.
    var isReleased = false
    /// The sweep tick at which something last moved.
    var lastProgress = CoarseTime.start
    /// The sweep tick since which the request waits for the upstream's `100 Continue`.
    var expectSentAt = CoarseTime.start
    var pace = BodyPace()
    var needsUpstreamFlush = false
    var needsDownstreamFlush = false
    /// The loop will call ``flush()`` in this tick.
    var isFlushDue = false
    /// What is known of the request in progress, for metrics and the access log.
    var record: RequestRecord?

    init(loop: GatewayLoop, downstream: Downstream, from unverified: UnverifiedCaller) {
        self.loop = loop
        self.downstream = downstream
        self.unverified = unverified
    }

    /// The caller has presented a verified client certificate.
    func callerShowed(_ certificate: ClientCertificate) { self.unverified.showed(certificate) }

    /// No request is in progress.
    var isIdle: Bool { self.request.phase == .idle }

    /// The request with that number is the current one, and waits for an upstream connection.
    func isConnecting(_ requestID: UInt64) -> Bool {
        self.requestID == requestID && self.attempt.phase == .connecting
    }

    /// The request can be sent again if its connection turns out to be stale: it has no body, and is idempotent.
    var canSurelyBeRepeated: Bool {
        self.head?.hasBody == false && self.head?.isIdempotent == true
    }

    /// The caller can take more of the response.
    var canTakeResponse: Bool { self.downstream.isWritable }

    /// More of the request's body should be read from the caller.
    var wantsBody: Bool {
        switch self.request.phase {
        case .idle, .ended: false
        // While a response is held, reading more could outgrow what can be kept for the replay.
        case .held, .sending, .stopped:
            self.response.phase != .held
                && self.request.wantsMore(isWritable: self.upstream?.isWritable ?? false, hasRoom: self.hasRoom)
        }
    }

    /// Another piece of the body can be kept. A body that must be whole is read on at the limit itself, since its end
    /// may come next.
    private var hasRoom: Bool { self.request.awaitsWhole ? !self.kept.isOver : self.kept.hasRoom }

    /// The part of the request body read so far is kept for a replay.
    var isKept: Bool { self.request.phase != .stopped && !self.kept.isDropped }

    /// Drops the kept body: the request is not sent again.
    func settle() {
        self.kept = KeptBody(limit: 0)
    }
}

// MARK: - From the caller

extension Exchange {
    /// A request has come; its body, if it has one, follows.
    func begin(_ head: consuming RequestHead) {
        self.requestID &+= 1
        self.pace = BodyPace()
        self.isReleased = false
        self.hasSentContinue = false
        var record = RequestRecord(method: head.method.name, startedAt: .now)
        let hasBody = head.hasBody
        var decision = self.loop.gateway.decide(head, from: &self.unverified)
        if self.unverified.sender != nil, !self.downstream.keepsPlace() { decision = .reply(GatewayLoop.placeIsLost) }
        self.head = head
        record.caller = self.unverified.sender?.name
        switch decision {
        case .reply(let error):
            record.route = error.matchedRoute
            record.account = error.account
            self.record = record
            self.request.begin(hasBody: hasBody)
            self.reply(error)
        case .forward(let match): self.begin(match, record, hasBody: hasBody, hasCredential: true)
        case .wait(let match): self.begin(match, record, hasBody: hasBody, hasCredential: false)
        case .locked(let match):
            self.begin(match, record, hasBody: hasBody)
            self.reply(GatewayError(CredentialError.locked))
        case .options(let match):
            self.begin(match, record, hasBody: hasBody)
            self.replyOptions()
        }
    }

    /// Begins a request that gets a local reply.
    private func begin(_ match: RouteTable.Match, _ record: consuming RequestRecord, hasBody: Bool) {
        self.match = match
        record.route = match.route.number
        record.account = self.loop.gateway.account(of: match)
        self.record = record
        self.request.begin(hasBody: hasBody)
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
        record.account = self.loop.gateway.account(of: match)
        self.record = record
        if self.head?.hasCookies == true, !route.plan.passesCookies { self.loop.dropped(.request, on: route) }
        if hasBody, self.head?.body.isChunked == true {
            guard self.loop.limits.openBodies.enter(self.unverified.sender?.name) else {
                self.request.begin(hasBody: true)
                return self.reply(
                    GatewayError(
                        .overloaded,
                        reason: "too many bodies without a length are coming: send Content-Length, or later"
                    )
                )
            }
            self.isOpenBody = true
        }
        // The upstream can't read chunks, so a body of unknown length must be whole before it is sent.
        let awaitsWhole = hasBody && self.head?.body.isChunked == true && self.loop.pools[route.pool].speaksHTTP10
        self.request.begin(hasBody: hasBody, awaitsWhole: awaitsWhole)
        self.kept = KeptBody(limit: route.plan.replayBodyLimit, memory: self.loop.limits.replayMemory)
        if let cache = route.cache, self.answersFromCache(cache, by: match) { return }
        guard awaitsWhole else { return self.proceed(hasCredential: hasCredential, by: match) }
        self.lastProgress = self.loop.coarseNow
        if self.head?.expectsContinue == true { self.sendContinue() }
    }

    /// Starts the first attempt: everything that must be read before it has been read.
    func proceed(hasCredential: Bool, by match: RouteTable.Match) {
        switch self.attempt.begin(hasCredential: hasCredential) {
        case .connect: self.connect(match.route)
        case .wait: self.awaitCredential(match, rejected: nil)
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
            if self.request.awaitsWhole { self.checkKeptLimits() }
        case .discard: break
        }
    }

    /// Checks the limits after another piece of a body that must be whole before it is sent.
    private func checkKeptLimits() {
        self.lastProgress = self.loop.coarseNow
        if self.kept.isOver {
            self.reply(
                GatewayError(.lengthRequired, "a chunked body above the replay limit, for an upstream of HTTP/1.0")
            )
        } else if self.kept.isMemoryOver {
            self.reply(
                GatewayError(
                    .overloaded,
                    "no memory left to keep the body; see limits.replay_memory"
                )
            )
        }
    }

    /// The caller has sent all of its request, or has ended its side of a tunnel.
    func requestEnded(_ trailers: Trailers?) {
        self.endOpenBody()
        self.trailers = trailers
        switch self.request.finished() {
        case .sendEnd:
            self.lastProgress = self.loop.coarseNow
            // In a tunnel, the bytes already written must leave before the end of the side.
            if self.isTunnel { self.flush() }
            let isOver = self.response.phase == .ended
            if !self.isTunnel || !isOver { self.sendEnd() }
            if isOver { self.finish(isReusable: true) }
        case .proceed:
            guard let match = self.match else { return self.abort() }
            self.proceed(hasCredential: self.loop.gateway.slots[match.slot].hasCredential, by: match)
        case .nothing: break
        }
    }

    /// The body comes no more, or counts no more.
    func endOpenBody() {
        guard self.isOpenBody else { return }
        self.isOpenBody = false
        self.loop.limits.openBodies.leave(self.unverified.sender?.name)
    }

    /// The caller has ended its side of the connection before the end of its request. The rest of a stopped request is
    /// not needed.
    func requestTruncated() {
        guard self.request.phase != .stopped else { return }
        if self.response.hasBegun { self.endBegun() } else { self.downstream.leave() }
    }

    /// The caller's bytes are not HTTP. The caller is told where that is possible, then the connection closes.
    func requestFailed(_ error: WireError) {
        // The rest of a stopped request is discarded, and need not be well formed.
        guard self.request.phase != .stopped else { return }
        guard !self.response.hasBegun else { return self.endBegun() }
        self.releaseUpstream(reusable: false)
        self.request.fail()
        if self.record == nil { self.record = RequestRecord(method: HTTPMethod.other.name, startedAt: .now) }
        self.reply(GatewayError(error))
    }

    /// The caller's connection is gone and must not be touched any more. Late events for its request find the exchange
    /// idle.
    func callerGone() {
        self.releaseUpstream(reusable: false)
        self.forget()
        self.needsDownstreamFlush = false
        self.needsUpstreamFlush = false
    }

    func callerWritable() {
        if self.served != nil {
            self.serveMore()
            self.flush()
        }
        self.upstream?.resumeReading()
    }

    func upstreamWritable() {
        self.lastProgress = self.loop.coarseNow
        self.downstream.resume()
    }
}
