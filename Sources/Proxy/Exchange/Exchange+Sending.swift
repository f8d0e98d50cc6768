import HTTPWire
import NIOCore
import Telemetry
import TokenModel

/// The way to the upstream: a credential, a connection, the head with the token, the body.
extension Exchange {
    /// The request waits for a credential.
    func awaitCredential(_ match: RouteTable.Match, rejected: TokenVersion?) {
        self.lastProgress = self.loop.coarseNow
        self.loop.requestCredential(for: self, slot: match.slot, refused: rejected)
    }

    func credentialArrived(_ credential: UpstreamCredential) {
        guard let match = self.match else { return }
        switch self.attempt.credentialArrived(isNewer: TokenVersion(credential) != self.rejectedToken) {
        case .connect:
            if !self.answersFromCacheAfterAll(by: match) { self.connect(match.route) }
        case .replay:
            self.record?.replay = .sent
            // Flush the end of the request now: nothing flushes a connection that waits for its next request.
            self.flushUpstream()
            if self.head?.mayGetUnexpectedBody == true {
                self.upstream?.cancel()
            } else {
                self.upstream?.discardResponse()
            }
            self.upstream = nil
            self.request.rewind()
            self.discardResponse()
            self.connect(match.route)
        case .passHeld:
            self.passHeld()
        case .ignore: break
        }
        self.flush()
    }

    /// Forgets the response that is held or was inspected. The request is sent again, and nothing of the old response
    /// may follow the next head.
    func discardResponse() {
        self.heldHead = nil
        self.heldBody = nil
        self.response.discard()
    }

    func credentialRefused(_ error: CredentialError) {
        guard self.attempt.isPending else { return }
        self.releaseUpstream(reusable: false)
        self.reply(GatewayError(error))
    }

    func connect(_ route: Route, fresh: Bool = false) {
        self.lastProgress = self.loop.coarseNow
        self.loop.pools[route.pool].acquire(for: self, fresh: fresh)
    }

    /// A connection is being made for the request. The time that the request waited in the pool's queue does not count
    /// towards the timeout.
    func dialling() {
        self.lastProgress = self.loop.coarseNow
    }

    func connectFailed(_ error: GatewayError) {
        guard self.attempt.isPending else { return }
        self.reply(error)
    }

    /// A connection is ready. The token is added and the head is sent, in this tick.
    ///
    /// - Returns: whether the exchange takes the connection; otherwise another exchange may have it.
    func connected(_ upstream: Upstream) -> Bool {
        guard self.attempt.phase == .connecting, let head = self.head, let match = self.match else { return false }
        let route = match.route
        let framing = self.framing(of: head, on: route)
        let asks = self.asks(head, by: match)
        let bytes = upstream.head(
            for: head,
            match,
            framing: framing,
            asks: asks,
            validators: self.validatorLines(by: match),
            hop: route.rewrite.appendsForwarded ? self.downstream.hop : nil,
            reusing: self.loop.requestHeads.take()
        )
        guard let authorized = self.loop.gateway.authorize(consume bytes, match, refused: self.rejectedToken) else {
            self.credentialLapsed(match)
            return false
        }
        let token = authorized.token
        self.sentToken = token
        self.sentOrigin = authorized.origin
        self.cacheTurn?.sent(as: self.loop.gateway.slots[match.slot].cacheOwner)
        self.loop.meter.injected(route: route.number)
        self.loop.used(token, slot: match.slot)
        self.attempt.sent(onReused: upstream.isReused, asks: asks)
        self.upstream = upstream
        self.lastProgress = self.loop.coarseNow
        upstream.begin(authorized, of: self, method: head.method, framing: framing)
        self.needsUpstreamFlush = true
        if asks {
            self.expectSentAt = self.loop.coarseNow
            // Meanwhile the body is read and kept, up to the limit.
            self.downstream.resume()
        } else {
            self.startBody()
        }
        return true
    }

    /// How the body is sent. A chunked body goes to an HTTP/1.0 upstream with its length, if all of it is here.
    private func framing(of head: RequestHead, on route: Route) -> BodyFraming {
        guard head.body.isChunked, self.request.isWhole, !self.kept.isDropped,
            self.loop.pools[route.pool].speaksHTTP10
        else { return head.body }
        return .length(self.kept.count)
    }

    /// Whether the request can be framed for the upstream once more: an HTTP/1.0 upstream knows no chunks.
    func canBeFramed(on route: Route) -> Bool {
        self.head?.body.isChunked != true || self.request.isWhole || !self.loop.pools[route.pool].speaksHTTP10
    }

    /// Whether to ask the upstream before the body is sent (RFC 9110 §10.1.1). This is done for a body whose length is
    /// above the replay limit: a rejected token then costs no upload, and the request can be sent again whatever its
    /// size. It is not done where the upstream has just accepted the token.
    private func asks(_ head: RequestHead, by match: RouteTable.Match) -> Bool {
        let route = match.route
        guard case .length(let length) = head.body, length > route.plan.replayBodyLimit,
            route.plan.asksBeforeBodies, let credential = self.loop.gateway.slots[match.slot].credential
        else { return false }
        return self.loop.pools[route.pool].mayExpect(TokenVersion(credential), slot: match.slot)
    }

    private func credentialLapsed(_ match: RouteTable.Match) {
        switch self.attempt.lapsed() {
        case .wait: self.awaitCredential(match, rejected: self.rejectedToken)
        case .fail:
            self.reply(
                self.loop.gateway.obstacle(slot: match.slot).map { GatewayError($0) }
                    ?? GatewayError(
                        .refreshFailed,
                        "every token expired before it could be used; the token lifetime is too short"
                    )
            )
        }
    }

    /// The upstream has said that it wants the body, or its time to say so is over.
    func continued() {
        guard self.attempt.continued() else { return }
        self.lastProgress = self.loop.coarseNow
        self.startBody()
    }

    /// Sends the part of the body that is here, and reads the rest from the caller.
    func startBody() {
        self.request.start()
        if let kept = self.kept.bytes { self.send(kept) }
        self.kept.trim()
        if self.request.isWhole {
            self.sendEnd()
        } else {
            if self.head?.expectsContinue == true, self.kept.isEmpty { self.sendContinue() }
            self.downstream.resume()
        }
    }

    /// Sends `100 Continue`, once per request: at a second attempt the caller is already sending.
    func sendContinue() {
        guard !self.hasSentContinue else { return }
        self.hasSentContinue = true
        self.downstream.proceed()
        self.needsDownstreamFlush = true
    }

    func send(_ bytes: ByteBuffer) {
        guard let upstream = self.upstream else { return }
        guard upstream.body(bytes) else { return self.abort() }
        self.needsUpstreamFlush = true
    }

    func sendEnd() {
        guard let upstream = self.upstream else { return }
        guard upstream.end(self.trailers, by: self.match?.route.rewrite) else { return self.abort() }
        self.needsUpstreamFlush = true
    }
}
