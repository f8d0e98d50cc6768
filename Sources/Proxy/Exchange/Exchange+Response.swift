import HTTPWire
import NIOCore
import Telemetry
import TokenModel

/// The way back: a response is judged, passed, held, or lost with its connection.
extension Exchange {
    func responded(_ head: ResponseHead) {
        self.lastProgress = self.loop.coarseNow
        guard let match = self.match else { return self.abort() }
        self.loop.pools[match.route.pool].responded(minorVersion: head.minorVersion)
        guard !head.isInterim else { return self.respondedInterim(head) }
        guard !self.isFarewell(head, on: match.route) else { return self.sendAgain(by: match) }
        switch TokenRejection.evidence(of: head, signs: match.route.plan.retryOn) {
        case .rejected: self.judge(head, by: match, rejectsToken: true)
        case .accepted: self.judge(head, by: match, rejectsToken: false)
        case .inBody:
            self.response.inspect()
            self.heldHead = head
            self.heldBody = ByteBuffer()
        }
    }

    /// Whether the upstream has closed a connection that was idle, and says so (RFC 9110 §15.5.9): it has not seen the
    /// request, which can be sent again.
    private func isFarewell(_ head: ResponseHead, on route: Route) -> Bool {
        guard head.status == 408, !head.keepsAlive, !self.response.hasPassedInterim else { return false }
        let mayRepeat = self.isKept && self.head?.isIdempotent == true && self.canBeFramed(on: route)
        return self.attempt.lost(mayRepeat: mayRepeat)
    }

    private func sendAgain(by match: RouteTable.Match) {
        self.releaseUpstream(reusable: false)
        self.request.rewind()
        self.connect(match.route, fresh: true)
        self.flush()
    }

    /// Decides what a response means for the request, and acts on it.
    private func judge(_ head: ResponseHead, by match: RouteTable.Match, rejectsToken: Bool) {
        let route = match.route
        let isKept = self.isKept
        let judgement = self.attempt.judge(
            Attempt.Response(
                rejectsToken: rejectsToken,
                isRepeatable: isKept && !self.response.hasPassedInterim && self.canBeFramed(on: route),
                refusesExpectation: head.status == 417 && isKept
            )
        )
        // A refused expectation says nothing about the token: the upstream may have checked the expectation first.
        if let token = self.sentToken, judgement != .sendAgain {
            if rejectsToken {
                self.loop.pools[route.pool].refused(token, slot: match.slot)
            } else if head.status != 401 {
                self.loop.accepted(token, slot: match.slot)
                self.loop.pools[route.pool].took(token, slot: match.slot)
            }
        }
        self.note(judgement)
        switch judgement {
        case .pass: self.pass(head)
        case .passMarkedReplayed:
            if let token = self.sentToken { self.loop.refusedAgain(token, slot: match.slot) }
            self.pass(head, isReplayed: true)
        case .passAndRefresh:
            self.loop.refreshInBackground(slot: match.slot, refused: self.sentToken)
            self.pass(head)
        case .hold:
            self.response.hold()
            self.heldHead = head
            self.upstream?.holdResponse()
            self.rejectedToken = self.sentToken
            self.awaitCredential(match, rejected: self.sentToken)
        case .sendAgain:
            self.loop.pools[route.pool].refusedExpectation()
            self.releaseUpstream(reusable: false)
            self.discardResponse()
            self.connect(route)
            // The connection that the response came on no longer belongs to the exchange, and flushes nothing for it.
            self.flush()
        case .fail: self.abort()
        }
    }

    /// Handles a 1xx response. Only the gateway sends 100; 101 ends HTTP if an upgrade was requested; the rest pass.
    private func respondedInterim(_ head: ResponseHead) {
        guard self.response.countInterim() else { return self.upstreamInvalid(.tooManyInterimAnswers) }
        switch head.status {
        case 100: self.continued()
        case 101: self.switchProtocols(head)
        default:
            guard self.downstream.interim(head, by: self.match?.route, passesCookies: self.passesCookies(of: head))
            else { return }
            self.needsDownstreamFlush = true
            self.response.passedInterim()
        }
    }

    /// Whether the route lets cookies through. Dropped cookies are reported.
    private func passesCookies(of head: ResponseHead) -> Bool {
        guard let route = self.match?.route else { return false }
        if !route.plan.passesCookies, head.setsCookies { self.loop.dropped(.response, on: route) }
        return route.plan.passesCookies
    }

    /// Sends the head to the caller, with what was read of the body. The request is not sent again from here on.
    private func pass(_ head: ResponseHead, isReplayed: Bool = false) {
        if self.cacheTurn != nil, let match = self.match, self.takesForCache(head, by: match) { return }
        guard self.response.pass() else { return self.abort() }
        self.heldHead = nil
        self.goOnWithRequest(behind: head)
        // Sending the body may have found the upstream gone.
        guard self.response.phase == .passing else { return }
        self.record?.status = head.status
        guard
            self.downstream.head(
                head,
                by: self.match?.route,
                closing: self.request.phase == .stopped && !self.request.isWhole,
                isReplayed: isReplayed,
                passesCookies: self.passesCookies(of: head),
                cacheLines: self.cacheLines(for: head.status)
            )
        else { return self.replyInsteadOfUnframed() }
        self.needsDownstreamFlush = true
        // The rest of a stopped request is read and discarded, so that a caller that is still sending comes to read.
        if self.request.phase == .stopped { self.downstream.resume() }
        self.passInspected()
    }

    /// Continues the upload behind the response head. An error response stops it if the upstream will close the
    /// connection, or was asked for the body (`Expect: 100-continue`).
    private func goOnWithRequest(behind head: ResponseHead) {
        let continued = self.request.passedResponse(
            isError: head.status >= 400,
            hasConnection: self.upstream != nil,
            keepsAlive: head.keepsAlive
        )
        if continued == .start { self.startBody() }
        self.settle()
    }

    /// Sends the rest of an inspected response behind its head.
    private func passInspected() {
        guard let body = self.heldBody.take() else { return }
        self.responseBytes(body)
        self.responseEnded(nil, isReusable: false)
    }

    /// Sends the held response to the caller, because no other token came.
    func passHeld() {
        let upstream = self.upstream
        guard let head = self.heldHead, !self.response.isHeldLost else { return self.reply(.upstreamReset()) }
        self.pass(head)
        upstream?.resumeResponse()
        self.downstream.resume()
    }

    /// Replaces a response without a length for an HTTP/1.0 caller on a Unix socket. Only a reset could show that
    /// caller that the response was cut, and a Unix socket has no reset.
    private func replyInsteadOfUnframed() {
        self.releaseUpstream(reusable: false)
        self.reply(
            GatewayError(
                .versionUnsupported,
                "the response has no length: over a Unix socket it takes HTTP/1.1 to tell whether it is whole"
            )
        )
    }

    func responseBytes(_ bytes: ByteBuffer) {
        self.lastProgress = self.loop.coarseNow
        guard self.response.phase != .inspecting else {
            self.heldBody?.writeImmutableBuffer(bytes)
            return
        }
        self.record?.bytesOut += bytes.readableBytes
        self.store(bytes)
        guard self.downstream.body(bytes) else { return self.cut() }
        self.needsDownstreamFlush = true
    }

    /// - Parameter isReusable: the connection can serve another request, as far as the response shows.
    func responseEnded(_ trailers: Trailers?, isReusable: Bool) {
        guard self.response.phase != .inspecting else { return self.judgeInspected(isReusable: isReusable) }
        // TLS and TCP may both report that a tunnel's upstream has ended its side.
        guard !self.isTunnel || self.response.phase != .ended else { return }
        guard self.response.end() else { return self.abort() }
        if self.cacheTurn != nil, let slot = self.match?.slot { self.endStoring(slot: slot) }
        if self.isTunnel { self.flush() }
        if self.isTunnel, self.request.isOver { return self.finish(isReusable: false) }
        self.downstream.end(trailers)
        self.needsDownstreamFlush = true
        if self.request.isOver {
            self.finish(isReusable: isReusable)
        } else if isReusable || self.isTunnel {
            // The upstream still reads the request.
            self.lastProgress = self.loop.coarseNow
            self.upstream?.responseEnded()
        } else {
            self.stopRequest()
        }
    }

    /// Judges a response by its body, which may say that the token is rejected. The response is complete, so its
    /// connection is released in any case.
    private func judgeInspected(isReusable: Bool) {
        guard let match = self.match, let head = self.heldHead, let body = self.heldBody else {
            return self.abort()
        }
        self.releaseUpstream(reusable: isReusable)
        // Releasing it may have flushed the end of the request and found the connection lost.
        guard self.response.phase == .inspecting else { return }
        self.judge(head, by: match, rejectsToken: match.route.plan.retryOn.contains { $0.isShown(by: head, body) })
    }

    /// - Parameters:
    ///   - beforeAnyByte: no byte of a response has come.
    ///   - beforeAnyFlush: nothing of the request was handed to the kernel.
    func upstreamLost(beforeAnyByte: Bool, beforeAnyFlush: Bool) {
        self.upstream = nil
        let wasAsked = self.attempt.phase == .asked
        if wasAsked, let route = self.match?.route {
            // A stale connection is unlikely, since a request with a body checks for that first. So the upstream
            // probably does not accept the expectation.
            self.loop.pools[route.pool].refusedExpectation()
        }
        switch self.response.lost() {
        case .unanswered:
            let mayRepeat =
                beforeAnyByte && self.isKept && (beforeAnyFlush || self.head?.isIdempotent == true)
            guard let route = self.match?.route, self.attempt.lost(mayRepeat: mayRepeat) else {
                return self.reply(.upstreamReset(wasAsked: wasAsked))
            }
            self.request.rewind()
            self.connect(route, fresh: true)
        case .failed: self.reply(.upstreamReset())
        case .nothing: break
        case .cut: self.cut()
        case .stopRequest: self.stopRequest()
        }
        self.flush()
    }

    func upstreamInvalid(_ rule: WireRule) {
        self.fail(with: GatewayError(answerBreaks: rule))
    }
}

// MARK: - A tunnel

extension Exchange {
    /// HTTP is over: bytes from either side go to the other unchanged, until both sides have ended.
    var isTunnel: Bool { self.downstream.isTunnelling }

    /// Starts the tunnel after a 101. What the caller sent behind its request head has waited for the 101. What the
    /// upstream sent behind the 101 follows from the upstream's connection.
    private func switchProtocols(_ head: ResponseHead) {
        guard let match = self.match, self.head?.asksForWebSocket == true, head.switchesToWebSocket else {
            return self.upstreamInvalid(.upgradeNotAsked)
        }
        // The caller or the route may have been removed since the request: before the 101 there was no tunnel to cut.
        guard self.loop.gateway.stillServes(self.unverified, by: match) else { return self.abort() }
        self.attempt.switched()
        guard self.attempt.phase == .settled, self.response.pass() else { return self.abort() }
        if let token = self.sentToken { self.loop.accepted(token, slot: match.slot) }
        if self.record?.isReplayed == true { self.record?.replay = .answered }
        self.record?.status = head.status
        // A tunnel may last for days, so the request head is not kept.
        self.head = nil
        self.request.reset()
        self.request.begin(hasBody: true)
        self.settle()
        self.request.start()
        self.upstream?.tunnel()
        self.needsDownstreamFlush = true
        self.downstream.switchProtocols(head, by: match.route, passesCookies: self.passesCookies(of: head))
    }
}

extension GatewayError {
    /// - Parameter wasAsked: the request was sent with `Expect: 100-continue`.
    fileprivate static func upstreamReset(wasAsked: Bool = false) -> GatewayError {
        wasAsked
            ? GatewayError(
                .upstreamReset,
                "the upstream closed the connection when it was asked with Expect: 100-continue; expect: never of the "
                    + "route has it asked no more"
            )
            : GatewayError(
                .upstreamReset,
                "the upstream closed the connection before it answered; it may have seen the request"
            )
    }
}
