import HTTPWire
import NIOCore
import Telemetry
import TokenModel

/// Back to the caller: heads and bodies of answers, and what a lost connection means.
extension Exchange {
    func answered(_ answer: ResponseHead) {
        self.lastProgress = self.loop.tick
        guard let route = self.match?.route else { return self.abort() }
        self.loop.pools[route.pool].answered(minorVersion: answer.minorVersion)
        guard !answer.isInterim else { return self.passInterim(answer) }
        switch DeadToken.sight(of: answer, signs: route.plan.retryOn) {
        case .dead: self.judge(answer, on: route, isDeadToken: true)
        case .alive: self.judge(answer, on: route, isDeadToken: false)
        case .inBody: self.examine(answer)
        }
    }

    /// Decides what an answer means for the request, and does it.
    func judge(_ answer: ResponseHead, on route: Route, isDeadToken: Bool) {
        let facts = ExchangeMachine.Answer(
            isDeadToken: isDeadToken,
            isRepeatable: !self.kept.isDropped && !self.hasPassedInterim,
            refusesExpectation: answer.status == 417 && !self.kept.isDropped
        )
        let judgement = self.machine.answered(facts)
        // A refused expectation says nothing of the token: it may have been looked at first.
        if let token = self.sentToken, judgement != .sendAgain {
            if isDeadToken {
                self.loop.pools[route.pool].refused(token, slot: route.slot)
            } else if answer.status != 401 {
                self.loop.accepted(token, slot: route.slot)
                self.loop.pools[route.pool].took(token, slot: route.slot)
            }
        }
        self.note(judgement)
        switch judgement {
        case .pass: self.pass(answer)
        case .passMarkedReplayed:
            if let token = self.sentToken { self.loop.refusedAgain(token, slot: route.slot) }
            self.pass(answer, extra: "Martlet-Replayed: 1\r\n")
        case .passAndRefresh:
            self.loop.refreshInBackground(slot: route.slot, refused: self.sentToken)
            self.pass(answer)
        case .hold:
            self.heldAnswer = answer
            self.upstream?.holdAnswer()
            self.refusedToken = self.sentToken
            self.park(route, refused: self.sentToken)
        case .sendAgain:
            self.loop.pools[route.pool].refusedExpectation()
            self.releaseUpstream(reusable: false)
            self.connect(route)
            // The connection that this was heard on is no longer the exchange's, and flushes nothing for it.
            self.flush()
        case .fail: self.abort()
        }
        if self.machine.phase == .answering { self.passHeldBody() }
    }

    /// 1xx: 100 is the gateway's own to say, 101 ends HTTP where that was asked for, the rest passes.
    private func passInterim(_ answer: ResponseHead) {
        self.interimAnswers += 1
        guard self.interimAnswers <= 20 else { return self.upstreamInvalid(.tooManyInterimAnswers) }
        guard answer.status != 101 else { return self.switchProtocols(answer) }
        guard answer.status != 100 else { return self.continueArrived() }
        guard self.request?.minorVersion == 1 else { return }
        self.caller.write(self.head(of: answer))
        self.needsCallerFlush = true
        self.hasPassedInterim = true
    }

    /// The head of an answer without a body.
    func head(of answer: ResponseHead) -> ByteBuffer {
        CallerAnswer.head(
            of: answer,
            framing: .none,
            close: false,
            targets: self.match?.route.targets,
            passesCookies: self.passesCookies(of: answer)
        )
    }

    /// Whether the route lets cookies through; where it drops some that is noted.
    private func passesCookies(of answer: ResponseHead) -> Bool {
        guard let route = self.match?.route else { return false }
        if !route.plan.passesCookies, answer.setsCookies { self.loop.dropped(.response, on: route) }
        return route.plan.passesCookies
    }

    func pass(_ answer: ResponseHead, extra: StaticString = "") {
        guard let minorVersion = self.request?.minorVersion else { return }
        self.heldAnswer = nil
        // Nothing is sent again from here on.
        self.kept = KeptBody(limit: 0)
        var framing = answer.body
        if minorVersion == 0 {
            if framing.isChunked { framing = .untilClose }
        } else if framing.isUntilClose {
            framing = .chunked
        }
        guard !framing.isUntilClose || !self.unverified.isOnUnixSocket else { return self.refuseEndless() }
        self.record?.status = answer.status
        self.closesAfterAnswer =
            self.request?.keepsAlive != true || !self.isRequestEnded || framing.isUntilClose || self.loop.isDraining
        self.answerEncoder = BodyEncoder(framing)
        let head = CallerAnswer.head(
            of: answer,
            framing: framing,
            close: self.closesAfterAnswer,
            keepAlive: minorVersion == 0 && !self.closesAfterAnswer,
            extra: extra,
            targets: self.match?.route.targets,
            passesCookies: self.passesCookies(of: answer),
            reusing: self.loop.answerHeads.take()
        )
        self.caller.write(head, isHead: true)
        self.needsCallerFlush = true
    }

    /// A Unix socket has no reset, and only that could tell a caller of HTTP/1.0 of such a response that it has been cut.
    private func refuseEndless() {
        self.machine.abandoned()
        self.releaseUpstream(reusable: false)
        self.answer(
            GatewayError(
                .versionUnsupported,
                "the response has no length: over a Unix socket it takes HTTP/1.1 to tell whether it is whole"
            )
        )
    }

    func answerBytes(_ bytes: ByteBuffer) {
        self.lastProgress = self.loop.tick
        guard self.heldBody == nil else { return self.keepAnswer(bytes) }
        self.record?.bytesOut += bytes.readableBytes
        switch self.answerEncoder.frame(bytes.readableBytes, allocator: self.caller.allocator) {
        case .plain:
            self.caller.write(bytes)
        case .chunk(let before):
            self.caller.write(before)
            self.caller.write(bytes)
            self.caller.write(.lineEnd)
        case .refused:
            return self.cut()
        }
        self.needsCallerFlush = true
    }

    /// - Parameter isReusable: the connection is clean for another request, as far as the answer tells.
    func answerEnded(_ trailers: Trailers?, isReusable: Bool) {
        guard self.heldBody == nil else { return self.judgeExamined(isReusable: isReusable) }
        guard self.machine.answerEnded() == .finish else { return self.abort() }
        if case .lastChunk = self.answerEncoder.end() {
            self.caller.write(CallerAnswer.lastChunk(trailers, allocator: self.caller.allocator))
            self.needsCallerFlush = true
        }
        self.releaseUpstream(reusable: isReusable && self.requestEncoder.isEnded)
        self.finish(close: self.closesAfterAnswer)
    }

    /// - Parameters:
    ///   - beforeAnyByte: of an answer.
    ///   - beforeAnyFlush: nothing of the request has gone to the kernel.
    func upstreamLost(beforeAnyByte: Bool, beforeAnyFlush: Bool) {
        self.upstream = nil
        let wasAsked = self.machine.phase == .expecting
        if wasAsked, let route = self.match?.route {
            // Perhaps it had gone stale; but that was looked at before a body that waits, so it did not like being asked.
            self.loop.pools[route.pool].refusedExpectation()
        }
        let mayRepeat =
            beforeAnyByte && !self.kept.isDropped && (beforeAnyFlush || self.request?.isIdempotent == true)
        switch self.machine.upstreamLost(mayRepeat: mayRepeat) {
        case .retry:
            guard let route = self.match?.route else { return self.abort() }
            self.connect(route, fresh: true)
        case .answerReset: self.answer(wasAsked ? self.expectationError : self.resetError)
        case .abortCaller: self.cut()
        case .ignore: break
        }
        self.flush()
    }

    func upstreamInvalid(_ rule: WireRule) {
        self.fail(with: GatewayError(answerBreaks: rule))
    }

    func fail(with error: GatewayError) {
        let canAnswer = self.machine.upstreamFailed()
        self.releaseUpstream(reusable: false)
        guard canAnswer else {
            self.note(error)
            return self.cut()
        }
        self.answer(error)
        self.flush()
    }

    private var expectationError: GatewayError {
        GatewayError(
            .upstreamReset,
            "the upstream closed the connection when it was asked with Expect: 100-continue; expect: never of the route "
                + "has it asked no more"
        )
    }

    var resetError: GatewayError {
        GatewayError(
            .upstreamReset,
            "the upstream closed the connection before it answered; it may have seen the request"
        )
    }
}
