import HTTPWire
import NIOCore
import Telemetry
import TokenModel

/// The shell around ``ExchangeMachine``: it carries a caller's requests, one after the other, to upstream connections
/// and their answers back. One per caller connection, on that connection's event loop.
final class Exchange {
    let loop: GatewayLoop
    /// It holds the exchange, and lets go of it when its connection ends.
    let caller: CallerHandler
    var machine = ExchangeMachine()
    private(set) var unverified: UnverifiedCaller

    /// The request under way, from its head's coming to the last byte of its answer. Ask it for what is needed: a copy of
    /// the whole costs a count for each of its parts.
    var request: RequestHead?
    /// Where that goes, once it is settled: there may be an answer before.
    var match: RouteTable.Match?
    var kept = KeptBody(limit: 0)
    var isRequestEnded = true
    /// What may have to go behind the body, each time it is sent.
    var requestTrailers: Trailers?
    var pace = BodyPace()
    var requestEncoder = BodyEncoder(.none)
    var hasSentContinue = false

    var upstream: UpstreamHandler?
    var sentToken: TokenMark?
    var sentOrigin: TokenOrigin?
    /// What an upstream has refused, while a replay is due.
    var refusedToken: TokenMark?
    var heldAnswer: ResponseHead?
    /// The held answer's body, where that was read to judge it: then the answer is whole.
    var heldBody: ByteBuffer?
    var answerEncoder = BodyEncoder(.none)
    var closesAfterAnswer = false
    var interimAnswers = 0
    /// An interim answer has gone to the caller.
    var hasPassedInterim = false

    /// Distinguishes this request from earlier and later ones of the connection, for those who come back late.
    private(set) var serial: UInt64 = 0
    /// What it waits for a pass for, and where; `nil` while it does not.
    var wait: WaitKey?
    /// It has waited for a pass, and got one.
    var isReleased = false
    /// The sweep's tick at which something last moved.
    var lastProgress = Tick.start
    /// The sweep's tick since which the body waits, to be seen whole or for the upstream's word.
    var waitingSince = Tick.start
    /// The body is collected only to see whether it is a large one.
    var isWeighing = false
    var needsUpstreamFlush = false
    var needsCallerFlush = false
    /// The loop will call ``flush()`` in this tick.
    var isFlushDue = false
    /// What is known of the request under way for those who count.
    var record: RequestRecord?

    init(loop: GatewayLoop, caller: CallerHandler, from unverified: UnverifiedCaller) {
        self.loop = loop
        self.caller = caller
        self.unverified = unverified
    }

    /// The caller has shown a certificate that somebody vouches for.
    func callerShowed(_ certificate: ClientCertificate) { self.unverified.showed(certificate) }

    /// No request is under way.
    var isIdle: Bool { self.machine.phase == .idle }

    /// The request of that number waits for an upstream connection.
    func isConnecting(_ serial: UInt64) -> Bool { self.serial == serial && self.machine.phase == .connecting }

    /// The request will still be here whole if its connection turns out to be stale, and may be sent twice.
    var canSurelyBeRepeated: Bool {
        self.request?.hasBody == false && self.request?.isIdempotent == true
    }

    /// The caller can take more of the answer.
    var canTakeAnswer: Bool { self.caller.isWritable }

    /// The current request's body may be taken on.
    var wantsBody: Bool {
        switch self.machine.phase {
        case .sending, .tunnelling: self.upstream?.isWritable ?? false
        case .parked, .connecting, .expecting: self.kept.hasRoom
        // Its end must be seen, so there is always room for one piece more.
        case .collecting: !self.kept.isOver
        // An upstream that answers before the request's end gets no more of it (RFC 9112 §9.3): the rest is the
        // caller's lingering close.
        case .idle, .examining, .judging, .answering, .poisoned: false
        }
    }
}

// MARK: - From the caller

extension Exchange {
    /// A request has come; its body, where it has one, follows.
    func begin(_ request: consuming RequestHead) {
        self.serial &+= 1
        self.isRequestEnded = !request.hasBody
        self.pace = BodyPace()
        self.isReleased = false
        self.interimAnswers = 0
        self.hasPassedInterim = false
        self.hasSentContinue = false
        var record = RequestRecord(method: request.method.name, startedAt: .now)
        let decision = self.loop.gateway.decide(request, from: &self.unverified)
        self.request = request
        record.caller = self.unverified.sender?.name
        switch decision {
        case .answer(let error):
            record.route = error.forbiddenRoute
            self.record = record
            self.answer(error)
        case .forward(let match): self.begin(match, record, hasPass: true)
        case .wait(let match): self.begin(match, record, hasPass: false)
        }
    }

    private func begin(_ match: RouteTable.Match, _ record: consuming RequestRecord, hasPass: Bool) {
        self.match = match
        record.route = match.route.number
        record.account = match.route.plan.account
        self.record = record
        if self.request?.hasCookies == true, !match.route.plan.passesCookies {
            self.loop.dropped(.request, on: match.route)
        }
        self.kept = KeptBody(limit: match.route.plan.replayBodyLimit, memory: self.loop.limits.replayMemory)
        let needsLength = self.needsLength
        self.isWeighing = !needsLength && hasPass && self.mustWeigh(on: match.route)
        self.go(self.machine.begin(hasPass: hasPass, collectsBody: needsLength || self.isWeighing), on: match.route)
    }

    /// The upstream can't read chunks, so a body whose length is not known must be here whole before it is sent.
    private var needsLength: Bool {
        guard self.request?.body.isChunked == true, let route = self.match?.route else { return false }
        return self.loop.pools[route.pool].speaksHTTP10
    }

    private func go(_ begin: ExchangeMachine.Begin, on route: Route) {
        switch begin {
        case .connect: self.connect(route)
        case .park: self.park(route, refused: nil)
        case .collect:
            self.lastProgress = self.loop.tick
            self.waitingSince = self.loop.tick
            if self.request?.expectsContinue == true { self.sendContinue() }
        case .fail: self.abort()
        }
    }

    func requestBytes(_ bytes: ByteBuffer) {
        self.record?.bytesIn += bytes.readableBytes
        switch self.machine.phase {
        case .sending:
            self.lastProgress = self.loop.tick
            self.kept.keep(bytes, isSent: true)
            self.sendBody(bytes)
        case .tunnelling:
            self.lastProgress = self.loop.tick
            self.sendBody(bytes)
        case .parked, .connecting, .expecting, .judging:
            self.kept.keep(bytes, isSent: false)
        case .collecting:
            self.lastProgress = self.loop.tick
            self.kept.keep(bytes, isSent: false)
            guard self.kept.isOver || self.kept.isMemoryOver else { return }
            guard !self.isWeighing else { return self.collected() }
            guard self.machine.failed() == .answer else { return }
            self.answer(
                self.kept.isOver
                    ? GatewayError(
                        .lengthRequired,
                        "a chunked body above the replay limit, for an upstream of HTTP/1.0"
                    )
                    : GatewayError(
                        .overloaded,
                        "a body must be kept whole, and all take too much; see limits.replay_memory"
                    )
            )
        case .idle, .examining, .answering, .poisoned: break
        }
    }

    func requestEnded(_ trailers: Trailers?) {
        self.isRequestEnded = true
        self.requestTrailers = trailers
        switch self.machine.phase {
        case .sending:
            self.lastProgress = self.loop.tick
            self.endBody()
        case .collecting: self.collected()
        case .parked, .connecting, .expecting, .examining, .judging, .answering, .tunnelling, .idle, .poisoned: break
        }
    }

    /// The body is whole, or enough of it is here to know that it is large.
    func collected() {
        guard let route = self.match?.route else { return self.abort() }
        self.isWeighing = false
        let hasPass = self.loop.gateway.slots[route.slot].hasPass
        self.go(self.machine.collected(hasPass: hasPass), on: route)
    }

    /// The caller's bytes are not HTTP: what it can still be told is told, then the connection closes.
    func requestFailed(_ error: WireError) {
        guard self.machine.upstreamFailed() || self.request == nil else { return self.abort() }
        self.releaseUpstream(reusable: false)
        self.isRequestEnded = false
        if self.record == nil { self.record = RequestRecord(method: HTTPMethod.other.name, startedAt: .now) }
        self.answer(GatewayError(error))
    }

    /// Nothing of the caller may be touched from here on: who still waits in this request's name finds it idle.
    func callerGone() {
        self.machine.abandoned()
        self.releaseUpstream(reusable: false)
        self.forget()
        self.needsCallerFlush = false
        self.needsUpstreamFlush = false
    }

    func callerWritable() {
        self.upstream?.resumeReading()
    }

    func upstreamWritable() {
        self.lastProgress = self.loop.tick
        self.caller.resume()
    }
}
