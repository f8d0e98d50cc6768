import HTTPWire
import NIOCore
import TokenModel

/// The shell around ``ExchangeMachine``: it carries a caller's requests, one after the other, to upstream connections
/// and their answers back. One per caller connection, on that connection's event loop.
final class Exchange {
    let loop: GatewayLoop
    private unowned let caller: CallerHandler
    private var machine = ExchangeMachine()

    private var request: RequestHead?
    private var match = RouteTable.Match(route: 0, prefix: 0)
    private var kept = KeptBody(limit: 0)
    private var isRequestEnded = true
    private var requestEncoder = BodyEncoder(.none)

    private(set) var upstream: UpstreamHandler?
    private var sentToken: Refused?
    private var heldAnswer: ResponseHead?
    private var answerEncoder = BodyEncoder(.none)
    private var closesAfterAnswer = false
    private var interimAnswers = 0

    /// Distinguishes this request from earlier and later ones of the connection, for those who come back late.
    private(set) var serial: UInt64 = 0
    /// The sweep's tick at which something last moved.
    private var lastProgress = Tick.start
    private var needsUpstreamFlush = false
    private var needsCallerFlush = false

    init(loop: GatewayLoop, caller: CallerHandler) {
        self.loop = loop
        self.caller = caller
    }

    private var route: Route { self.loop.gateway.table.routes[self.match.route] }

    /// No request is under way.
    var isIdle: Bool { self.machine.phase == .idle }

    /// It waits for an upstream connection.
    var isConnecting: Bool { self.machine.phase == .connecting }

    /// The caller can take more of the answer.
    var canTakeAnswer: Bool { self.caller.isWritable }

    /// The current request's body may be taken on.
    var wantsBody: Bool {
        switch self.machine.phase {
        case .sending, .answering: self.upstream?.isWritable ?? false
        case .parked, .connecting: self.kept.hasRoom
        case .idle, .judging, .poisoned: false
        }
    }
}

// MARK: - From the caller

extension Exchange {
    /// A request has come; its body, where it has one, follows.
    func begin(_ request: RequestHead) {
        self.serial &+= 1
        self.lastProgress = self.loop.tick
        self.request = request
        self.isRequestEnded = request.body == .none || request.body == .length(0)
        self.interimAnswers = 0
        switch self.loop.gateway.decide(request) {
        case .answer(let error):
            self.answer(error)
        case .forward(let match):
            self.begin(match, hasPass: true)
        case .wait(let match):
            self.begin(match, hasPass: false)
        }
    }

    private func begin(_ match: RouteTable.Match, hasPass: Bool) {
        self.match = match
        self.kept = KeptBody(limit: self.route.plan.replayBodyLimit)
        switch self.machine.begin(hasPass: hasPass) {
        case .connect: self.connect()
        case .park: self.park(refused: nil)
        case .fail: self.abort()
        }
    }

    func requestBytes(_ bytes: ByteBuffer) {
        self.lastProgress = self.loop.tick
        switch self.machine.phase {
        case .sending, .answering:
            self.kept.keep(bytes, isSent: true)
            self.sendBody(bytes)
        case .parked, .connecting, .judging:
            self.kept.keep(bytes, isSent: false)
        case .idle, .poisoned: break
        }
    }

    func requestEnded() {
        self.isRequestEnded = true
        self.lastProgress = self.loop.tick
        switch self.machine.phase {
        case .sending, .answering: self.endBody()
        case .parked, .connecting, .judging, .idle, .poisoned: break
        }
    }

    /// The caller's bytes are not HTTP: what it can still be told is told, then the connection closes.
    func requestFailed(_ error: WireError) {
        guard self.machine.upstreamFailed() || self.request == nil else { return self.abort() }
        self.releaseUpstream(reusable: false)
        self.isRequestEnded = false
        let code = GatewayError.Code(rawValue: error.code.rawValue) ?? .badRequest
        self.answer(GatewayError(code, "\(error.reason)"))
    }

    func callerGone() {
        self.machine.abandoned()
        self.releaseUpstream(reusable: false)
        self.forget()
    }

    func callerWritable() {
        self.upstream?.resumeReading()
    }

    func upstreamWritable() {
        self.caller.resumeReading()
        self.flush()
    }

    /// The connection is not this exchange's any more.
    func letGo() {
        self.upstream = nil
    }
}

// MARK: - Pass and connection

extension Exchange {
    private func park(refused: Refused?) {
        self.loop.requestPass(for: self, slot: self.route.slot, refused: refused)
    }

    func passArrived(_ pass: Pass) {
        let isNewer = Refused(pass) != self.sentToken
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

    private func connect(fresh: Bool = false) {
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

    private func passLapsed() {
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

    private func sendContinue() {
        var interim = self.caller.allocator.buffer(capacity: 25)
        interim.writeStaticString("HTTP/1.1 100 Continue\r\n\r\n")
        self.caller.write(interim)
        self.needsCallerFlush = true
    }

    private func sendBody(_ bytes: ByteBuffer) {
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

    private func endBody() {
        switch self.requestEncoder.end() {
        case .silent: break
        case .lastChunk:
            self.upstream?.write(CallerAnswer.lastChunk(nil, allocator: self.caller.allocator))
            self.needsUpstreamFlush = true
        case .short, .close: self.abort()
        }
    }
}

// MARK: - From the upstream

extension Exchange {
    func answered(_ answer: ResponseHead) {
        self.lastProgress = self.loop.tick
        guard !answer.isInterim else { return self.passInterim(answer) }
        let facts = ExchangeMachine.Answer(
            isDeadToken: DeadToken.shows(in: answer),
            isBodyKept: !self.kept.isDropped
        )
        switch self.machine.answered(facts) {
        case .pass: self.pass(answer)
        case .passMarkedReplayed: self.pass(answer, extra: "Martlet-Replayed: 1\r\n")
        case .passAndRefresh:
            self.pass(answer)
            self.loop.refreshInBackground(slot: self.route.slot, refused: self.sentToken)
        case .hold:
            self.heldAnswer = answer
            self.upstream?.holdAnswer()
            self.park(refused: self.sentToken)
        case .fail: self.abort()
        }
    }

    /// 1xx: 100 is the gateway's own to say, 101 was not asked for, the rest passes.
    private func passInterim(_ answer: ResponseHead) {
        self.interimAnswers += 1
        guard answer.status != 101, self.interimAnswers <= 20 else { return self.upstreamInvalid() }
        guard answer.status != 100, self.request?.minorVersion == 1 else { return }
        self.caller.write(CallerAnswer.head(of: answer, framing: .none, close: false, allocator: self.caller.allocator))
        self.needsCallerFlush = true
    }

    private func pass(_ answer: ResponseHead, extra: StaticString = "") {
        guard let request = self.request else { return }
        self.heldAnswer = nil
        var framing = answer.body
        if request.minorVersion == 0 {
            if framing == .chunked { framing = .untilClose }
        } else if framing == .untilClose {
            framing = .chunked
        }
        self.closesAfterAnswer =
            !request.keepsAlive || !self.isRequestEnded || framing == .untilClose || self.loop.isDraining
        self.answerEncoder = BodyEncoder(framing)
        self.caller.write(
            CallerAnswer.head(
                of: answer,
                framing: framing,
                close: self.closesAfterAnswer,
                keepAlive: request.minorVersion == 0 && !self.closesAfterAnswer,
                extra: extra,
                allocator: self.caller.allocator
            )
        )
        self.needsCallerFlush = true
    }

    func answerBytes(_ bytes: ByteBuffer) {
        self.lastProgress = self.loop.tick
        switch self.answerEncoder.frame(bytes.readableBytes, allocator: self.caller.allocator) {
        case .plain:
            self.caller.write(bytes)
        case .chunk(let before):
            self.caller.write(before)
            self.caller.write(bytes)
            self.caller.write(.lineEnd)
        case .refused:
            return self.abort()
        }
        self.needsCallerFlush = true
    }

    /// - Parameter isReusable: the connection is clean for another request, as far as the answer tells.
    func answerEnded(_ trailers: Trailers?, isReusable: Bool) {
        guard self.machine.answerEnded() == .finish else { return self.abort() }
        if case .lastChunk = self.answerEncoder.end() {
            self.caller.write(CallerAnswer.lastChunk(trailers, allocator: self.caller.allocator))
            self.needsCallerFlush = true
        }
        self.releaseUpstream(reusable: isReusable && self.isRequestEnded && self.requestEncoder.isEnded)
        self.finish(close: self.closesAfterAnswer)
    }

    func upstreamLost(beforeAnyByte: Bool) {
        self.upstream = nil
        let mayRepeat = beforeAnyByte && !self.kept.isDropped && self.request?.method.isIdempotent == true
        switch self.machine.upstreamLost(mayRepeat: mayRepeat) {
        case .retry: self.connect(fresh: true)
        case .answerReset: self.answer(self.resetError)
        case .abortCaller: self.abort()
        case .ignore: break
        }
        self.flush()
    }

    func upstreamInvalid() {
        self.fail(
            with: GatewayError(
                .upstreamInvalid,
                "the upstream's answer breaks HTTP/1.1; its connection was thrown away"
            )
        )
    }

    private func fail(with error: GatewayError) {
        let canAnswer = self.machine.upstreamFailed()
        self.releaseUpstream(reusable: false)
        guard canAnswer else { return self.abort() }
        self.answer(error)
        self.flush()
    }

    private var resetError: GatewayError {
        GatewayError(
            .upstreamReset,
            "the upstream closed the connection before it answered; it may have seen the request"
        )
    }
}

// MARK: - Ends

extension Exchange {
    /// Called by the sweep: ends what has not moved for too long.
    func sweep() {
        guard let timeout = self.timeout, self.loop.tick.duration(since: self.lastProgress) > timeout.after else {
            return
        }
        self.fail(with: timeout.error)
    }

    private var timeout: (after: Duration, error: GatewayError)? {
        guard self.request != nil, !self.isIdle else { return nil }
        let timeouts = self.route.plan.timeouts
        switch self.machine.phase {
        case .parked, .judging:
            return (.seconds(15), GatewayError(.refreshFailed, "no token came within 15 s"))
        case .connecting:
            return (timeouts.connect, GatewayError(.overloaded, "no upstream connection became free in time"))
        case .sending where !self.isRequestEnded:
            return (timeouts.idle, GatewayError(.bodyTimeout, "the request's body stopped coming"))
        case .sending:
            return (timeouts.response, GatewayError(.upstreamTimeout, "the upstream did not answer in time"))
        case .answering:
            return (timeouts.idle, GatewayError(.upstreamTimeout, "the answer stopped"))
        case .idle, .poisoned:
            return nil
        }
    }

    private func answer(_ error: GatewayError) {
        var error = error
        if error.code != .noRoute, error.fault != .caller || error.code == .bodyTimeout {
            error.route = self.route.plan.name
            error.account = self.route.plan.account
        }
        let close = !self.isRequestEnded || self.request?.keepsAlive != true || self.loop.isDraining
        self.caller.write(
            error.answer(to: self.request?.method ?? .other, close: close, allocator: self.caller.allocator)
        )
        self.needsCallerFlush = true
        self.heldAnswer = nil
        self.finish(close: close)
    }

    /// The answer is whole; the next request may begin, or the connection ends.
    private func finish(close: Bool) {
        let lingers = !self.isRequestEnded
        self.forget()
        if close {
            self.flush()
            self.caller.close(lingering: lingers)
        } else {
            self.caller.finished()
        }
    }

    /// Ends both sides so that neither can take what it has for whole.
    private func abort() {
        self.machine.abandoned()
        self.releaseUpstream(reusable: false)
        self.forget()
        self.caller.abort()
    }

    private func releaseUpstream(reusable: Bool) {
        guard let upstream = self.upstream else { return }
        self.upstream = nil
        if reusable { upstream.release() } else { upstream.close() }
    }

    private func forget() {
        self.request = nil
        self.heldAnswer = nil
        self.sentToken = nil
        self.kept = KeptBody(limit: 0)
        self.isRequestEnded = true
    }

    /// Hands what was written to the kernel: once per burst of reads.
    func flush() {
        if self.needsUpstreamFlush {
            self.needsUpstreamFlush = false
            self.upstream?.flush()
        }
        if self.needsCallerFlush {
            self.needsCallerFlush = false
            self.caller.flush()
        }
    }
}
