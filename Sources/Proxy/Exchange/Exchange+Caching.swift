import HTTPCaching
import HTTPWire
import NIOCore
import Telemetry
import TokenModel

/// The exchange asks its route's response cache in two places: before it dials (``answersFromCache(_:by:)``), and when
/// the head of a response is about to pass (``takesForCache(_:by:)``). `HTTPCaching` decides.
extension Exchange {
    /// How long a request waits for the response to another one before it goes upstream itself. With the sweep's
    /// tolerance that is below 5 s.
    private static let collapseLimit = Duration.milliseconds(4_250)
    /// How often a lookup is repeated because something was stored meanwhile.
    private static let lookupLimit = 4
}

// MARK: - Before it dials

extension Exchange {
    /// Looks up the response to the request that has just begun.
    ///
    /// - Returns: whether the request needs nothing more now: it was answered, or waits for the response to another
    ///   request. Otherwise it goes upstream.
    func answersFromCache(_ cache: RouteCache, by match: RouteTable.Match) -> Bool {
        guard let head = self.head else { return false }
        let directives = RequestDirectives(head)
        if let reason = CacheDecision.exclusion(head, directives), !directives.onlyIfCached {
            self.cacheTurn = CacheTurn(cache, key: nil, directives, reason: reason)
            return false
        }
        let key = cache.key(
            for: head,
            prefix: match.prefix,
            account: self.loop.gateway.account(of: match),
            caller: self.unverified.sender?.name
        )
        guard let key else {
            self.cacheTurn = CacheTurn(cache, key: nil, directives, reason: .bypass)
            return false
        }
        return self.looksUp(key, directives, in: cache, by: match)
    }

    private func looksUp(
        _ key: CacheKey,
        _ directives: RequestDirectives,
        in cache: RouteCache,
        by match: RouteTable.Match
    ) -> Bool {
        guard let head = self.head else { return false }
        let now = BootInstant.now
        for _ in 0..<Self.lookupLimit {
            let found = self.loop.gateway.cacheOwner(slot: match.slot, at: now)
                .map { cache.responses.find(key, for: $0, matching: head) }
            let stored = found?.stored.flatMap { self.mayServe($0, by: match) ? $0 : nil }
            let decision = CacheDecision(
                head,
                directives,
                stored: stored,
                otherVariants: found?.hasOtherVariants ?? false,
                at: now
            )
            let turn: CacheTurn
            switch decision {
            case .serve(let ttl), .serveAndRevalidate(let ttl):
                guard let stored, let found else { return false }
                if case .serveAndRevalidate = decision {
                    self.revalidateInBackground(stored, found, key, directives, in: cache, at: now)
                }
                self.serve(stored, self.cacheTurn?.collapsedStatus ?? .hit(ttl: ttl), directives, at: now)
                return true
            case .refuse:
                self.cacheTurn = CacheTurn(cache, key: key, directives, reason: nil)
                self.reply(
                    GatewayError(.upstreamTimeout, reason: "only-if-cached, and nothing stored may answer the request")
                )
                return true
            case .revalidate(let reason), .forward(let reason):
                if let begun = self.cacheTurn {
                    turn = begun
                } else {
                    turn = CacheTurn(cache, key: key, directives, reason: reason)
                    turn.isBlind = found == nil
                    self.cacheTurn = turn
                }
                turn.reason = reason
                turn.stored = stored
                if case .revalidate = decision { turn.isRevalidation = true } else { turn.isRevalidation = false }
            }
            guard let found, head.method == .get, !directives.noStore,
                turn.isRevalidation || directives.conditions.isEmpty
            else { return false }
            switch cache.responses.begin(key, having: found, waiter: self.waiter(for: turn), now: now) {
            case .leads(let fill):
                turn.fill = fill
                return false
            case .waits(let ticket):
                turn.ticket = ticket
                if turn.waitingSince == nil { turn.waitingSince = self.loop.coarseNow }
                return true
            case .alone: return false
            case .changed: continue
            }
        }
        return false
    }

    /// Looks again if there was no authorization before: many requests may have waited for the same token.
    ///
    /// - Returns: whether the request needs no connection now.
    func answersFromCacheAfterAll(by match: RouteTable.Match) -> Bool {
        guard let turn = self.cacheTurn, turn.isBlind, let key = turn.key else { return false }
        // Once: a token that lapses again and again must not hide how often.
        turn.isBlind = false
        self.attempt.reset()
        if !self.looksUp(key, turn.directives, in: turn.cache, by: match) { self.proceed(by: match) }
        return true
    }

    /// Who waits if another request for the key is under way. A request that wants a response from the upstream does not
    /// wait for one that was asked for earlier, and none waits longer than the limit in all. Nor does it wait for a
    /// response that each request must have confirmed.
    private func waiter(for turn: CacheTurn) -> CollapsedRequest? {
        guard turn.reason != .request, turn.stored?.isForOneRequest != true, turn.waitingSince.map(self.mayWait) ?? true
        else { return nil }
        return CollapsedRequest(self)
    }

    private func mayWait(since start: CoarseTime) -> Bool {
        self.loop.coarseNow.duration(since: start) < Self.collapseLimit
    }

    /// The request that this one waits for has a response, or has none.
    func collapseSettled(_ outcome: CollapseOutcome, of requestID: UInt64) {
        guard self.requestID == requestID, let turn = self.cacheTurn, turn.ticket.take() != nil,
            let key = turn.key, let match = self.match
        else { return }
        switch outcome {
        case .stored, .retry:
            if !self.looksUp(key, turn.directives, in: turn.cache, by: match) { self.proceed(by: match) }
        case .goAlone:
            self.proceed(by: match)
        }
        self.flush()
    }

    /// Ends a wait that has become too long.
    ///
    /// - Returns: whether the request waits for another one's response, or has waited until now.
    func sweepCollapse() -> Bool {
        guard let turn = self.cacheTurn, let ticket = turn.ticket, let since = turn.waitingSince else { return false }
        // A waiter that is being told now gets its outcome as a task of the loop.
        guard !self.mayWait(since: since), ticket.expire(), let match = self.match else { return true }
        turn.ticket = nil
        self.proceed(by: match)
        self.flush()
        return true
    }

    /// Asks upstream whether the stored response is still good; `nil` where the request goes as it came.
    ///
    /// The request may have waited for its token since the lookup, and the token may be of another authorization.
    func validatorLines(by match: RouteTable.Match) -> [UInt8]? {
        guard let turn = self.cacheTurn, let stored = turn.stored else { return nil }
        guard self.mayServe(stored, by: match) else {
            turn.forgetStored()
            return nil
        }
        return turn.isRevalidation ? stored.validators.lines() : nil
    }

    /// Whether a stored response may be used now: its authorization stands, and it has not been removed since the lookup.
    private func mayServe(_ stored: StoredResponse, by match: RouteTable.Match) -> Bool {
        !stored.isWithdrawn && self.loop.gateway.mayServe(stored.owner, slot: match.slot)
    }

    private func proceed(by match: RouteTable.Match) {
        self.proceed(hasCredential: self.loop.gateway.slots[match.slot].hasCredential, by: match)
    }
}

// MARK: - From memory

extension Exchange {
    /// Sends a stored response to the caller.
    func serve(
        _ stored: StoredResponse,
        _ status: CacheStatus,
        _ directives: RequestDirectives,
        at now: BootInstant
    ) {
        if case .nobody(let revalidation) = self.downstream { return revalidation.stop() }
        guard let request = self.head, let match = self.match else { return self.abort() }
        let served = ServedResponse(stored, to: request, directives)
        self.leaveUpstream()
        guard self.response.pass() else { return self.abort() }
        self.record?.status = served.head.status
        // Who waited for another request's response has asked nothing.
        self.record?.cache = status.isCollapsed ? .hit : self.cacheTurn?.outcome ?? .hit
        let isWritten = self.downstream.head(
            served.head,
            by: match.route,
            closing: false,
            isReplayed: false,
            passesCookies: false,
            cacheLines: status.lines(age: stored.freshness.age(at: now))
        )
        guard isWritten else { return self.abort() }
        self.needsDownstreamFlush = true
        self.served = ServedBody(stored: stored, rest: served.body)
        self.serveMore()
    }

    /// Ends everything that the request has begun on its way to the upstream.
    private func leaveUpstream() {
        self.releaseUpstream(reusable: false)
        if self.wait != nil { self.loop.stopsWaiting(self) }
        self.attempt.reset()
        self.discardResponse()
    }

    /// Sends as much of the stored body as the caller takes now.
    func serveMore() {
        while self.served != nil, self.downstream.isWritable, let piece = self.served?.next() {
            self.responseBytes(piece)
            if self.downstream.hasMuchToFlush { self.flush() }
        }
        guard self.served?.rest.isEmpty == true, self.response.end() else { return }
        self.served = nil
        self.downstream.end(nil)
        self.finish(isReusable: false)
    }

    /// Sends a stale response in place of an error, where that is allowed (RFC 5861 §4).
    ///
    /// - Parameter status: of the error.
    /// - Returns: whether it was sent.
    func servesStale(insteadOf status: Int) -> Bool {
        guard let turn = self.cacheTurn, let stored = turn.stored, let match = self.match,
            !self.response.hasBegun, StoredResponse.isError(status), self.mayServe(stored, by: match)
        else { return false }
        let now = BootInstant.now
        guard stored.mayServeOnError(turn.directives, turn.cache.rules, at: now) else { return false }
        turn.failed()
        var answer = turn.status(upstream: self.upstream == nil ? nil : status)
        answer.ttl = stored.freshness.ttl(at: now)
        answer.detail = "stale-if-error"
        self.serve(stored, answer, turn.directives, at: now)
        return true
    }

    /// Asks upstream whether a stale response is still good, while the caller gets it already (RFC 5861 §3).
    private func revalidateInBackground(
        _ stored: StoredResponse,
        _ found: FoundResponse,
        _ key: CacheKey,
        _ directives: RequestDirectives,
        in cache: RouteCache,
        at now: BootInstant
    ) {
        guard let head = self.head, head.method == .get, let match = self.match, self.loop.mayRevalidate,
            case .leads(let fill) = cache.responses.begin(key, having: found, waiter: nil, now: now)
        else { return }
        let turn = CacheTurn(cache, key: key, directives, reason: .stale)
        turn.stored = stored
        turn.isRevalidation = true
        turn.fill = fill
        let hop = match.route.rewrite.appendsForwarded ? self.downstream.hop : nil
        Revalidation(loop: self.loop, hop: hop).begin(head, match, turn, from: self.unverified)
    }

    /// Begins a request that no caller waits for.
    func revalidate(_ head: RequestHead, _ match: RouteTable.Match, _ turn: CacheTurn) {
        self.head = head
        self.match = match
        self.cacheTurn = turn
        self.request.begin(hasBody: false)
        self.kept = KeptBody(limit: match.route.plan.replayBodyLimit, memory: self.loop.limits.replayMemory)
        self.proceed(by: match)
        self.flush()
    }
}
