import HTTPCaching
import HTTPWire
import NIOCore
import Telemetry
import TokenModel

/// What a route's response cache does with the responses that come from the upstream.
extension Exchange {
    /// What the cache does with a response before its head passes.
    ///
    /// - Returns: whether the caller gets a stored response in place of this one.
    func takesForCache(_ head: ResponseHead, by match: RouteTable.Match) -> Bool {
        guard let turn = self.cacheTurn, let request = self.head else { return false }
        self.record?.cache = turn.outcome
        if Invalidation.applies(to: request, status: head.status) {
            turn.cache.responses.invalidate(
                resourceOf: turn.cache.resource(of: request, prefix: self.match?.prefix ?? 0)
            )
            for target in Invalidation.targets(of: head, to: request, by: match.route.targets) {
                turn.cache.responses.invalidate(resourceOf: turn.cache.resource(target))
            }
        }
        if self.servesStale(insteadOf: head.status) { return true }
        guard let owner = turn.owner, let key = turn.key else {
            turn.failed()
            return false
        }
        let now = Timepiece.system.now
        let times = ExchangeTimes(requestedAt: turn.requestedAt, receivedAt: now.boot, receivedAtWall: now.wall)
        if let stored = turn.stored, turn.isRevalidation, head.status == 304 {
            self.revalidated(stored, by: head, turn, key, owner, times, slot: match.slot)
            return true
        }
        if let stored = turn.stored, request.method == .head {
            self.freshen(stored, byHEAD: head, to: request, turn, key, owner, times)
        }
        if turn.fill != nil, self.stores(head, turn, owner, times) { return false }
        self.supersedes(turn, key, by: head)
        return self.endsNeedless(head)
    }

    /// Begins to store the response, if it can be stored.
    private func stores(_ head: ResponseHead, _ turn: CacheTurn, _ owner: CacheOwner, _ times: ExchangeTimes) -> Bool {
        guard let request = self.head, let fill = turn.fill else { return false }
        do throws(Storability.Refusal) {
            // A cut of a body that ends with the connection can't be told from its end.
            guard !head.body.isUntilClose else { throw .streaming }
            let storable = try StorableResponse(
                head,
                to: request,
                turn.directives,
                times,
                turn.cache.rules,
                turn.cache.sentFields,
                owner: owner
            )
            guard
                fill.start(
                    length: storable.bodyLength,
                    headSize: storable.size,
                    isShared: storable.isFresh,
                    now: times.receivedAt
                )
            else { throw .tooLarge }
            turn.storable = storable
            return true
        } catch {
            turn.refusal = error.detail
            turn.fill = nil
            // After an error, the next response may well be one that others can wait for.
            fill.abandon(.goAlone, remember: !head.isPassing, now: times.receivedAt)
            return false
        }
    }

    /// The upstream has another response now, which is not stored: the next caller must not get the older one.
    private func supersedes(_ turn: CacheTurn, _ key: CacheKey, by head: ResponseHead) {
        guard let stored = turn.stored, self.head?.method == .get, !head.isPassing else { return }
        switch head.status {
        // A part, or the caller's own condition.
        case 206, 304, 412, 416: break
        default: turn.cache.responses.remove(stored, at: key)
        }
    }

    /// Ends a request that nobody waits for and whose response is not stored, unless little of that is left: the
    /// connection can serve another request then.
    ///
    /// - Returns: whether it has ended.
    private func endsNeedless(_ head: ResponseHead) -> Bool {
        guard case .nobody(let revalidation) = self.downstream else { return false }
        if case .length(let length) = head.body, length <= 64 << 10 { return false }
        revalidation.stop()
        return true
    }

    /// The stored response is still good (RFC 9111 §4.3.4). If the answer does not allow it to be kept, it serves this
    /// request only.
    private func revalidated(
        _ stored: StoredResponse,
        by head: ResponseHead,
        _ turn: CacheTurn,
        _ key: CacheKey,
        _ owner: CacheOwner,
        _ times: ExchangeTimes,
        slot: Int
    ) {
        guard let request = self.head else { return self.abort() }
        let confirmed = stored.confirmed(
            by: head,
            to: request,
            times,
            turn.cache.rules,
            turn.cache.sentFields,
            owner: owner
        )
        // A 304 has no body: the connection can serve another request.
        let requestID = self.requestID
        self.flushUpstream()
        // Flushing may have found the connection gone, and ended the request.
        guard self.requestID == requestID, self.match != nil else { return }
        self.upstream?.holdResponse()
        self.upstream?.discardResponse()
        self.upstream = nil
        var status = turn.status(upstream: 304)
        if let confirmed, self.loop.gateway.mayServe(owner, slot: slot) {
            let isShared = confirmed.isFresh(at: times.receivedAt)
            let isStored =
                turn.fill.take()?.revalidated(stored, as: confirmed, isShared: isShared)
                ?? turn.cache.responses.replace(stored, by: confirmed, at: key)
            status.isStored = isStored
            status.ttl = confirmed.freshness.ttl(at: times.receivedAt)
        } else {
            turn.fill.take()?.abandon(.goAlone, remember: false)
            turn.cache.responses.remove(stored, at: key)
        }
        self.serve(confirmed ?? stored, status, turn.directives, at: times.receivedAt)
    }

    /// A response to HEAD may show whether the stored response to GET is still good (RFC 9111 §4.3.5).
    private func freshen(
        _ stored: StoredResponse,
        byHEAD head: ResponseHead,
        to request: RequestHead,
        _ turn: CacheTurn,
        _ key: CacheKey,
        _ owner: CacheOwner,
        _ times: ExchangeTimes
    ) {
        guard let isSame = stored.isFreshened(byHEAD: head) else { return }
        let confirmed = stored.confirmed(
            by: head,
            to: request,
            times,
            turn.cache.rules,
            turn.cache.sentFields,
            owner: owner
        )
        if isSame, let confirmed {
            _ = turn.cache.responses.replace(stored, by: confirmed, at: key)
        } else {
            turn.cache.responses.remove(stored, at: key)
        }
    }

    /// The `Cache-Status` line of a response that passes; empty on routes without a cache.
    ///
    /// - Parameter status: of the upstream's response; `nil` if the gateway answers itself.
    func cacheLines(for status: Int?) -> [UInt8] {
        guard let turn = self.cacheTurn else { return [] }
        return turn.status(upstream: status).lines()
    }

    /// A piece of a response that is being stored.
    func store(_ bytes: ByteBuffer) {
        guard let turn = self.cacheTurn, let fill = turn.fill, turn.storable != nil else { return }
        if !fill.append(bytes) { turn.fill = nil }
    }

    /// A response that was being stored is complete.
    func endStoring(slot: Int) {
        guard let turn = self.cacheTurn, let storable = turn.storable, let owner = turn.owner,
            let fill = turn.fill.take()
        else { return }
        if self.loop.gateway.mayServe(owner, slot: slot) {
            _ = fill.finish { storable.with($0) }
        } else {
            fill.abandon(.retry, remember: false)
        }
    }
}

extension ResponseHead {
    /// An error that may be over soon: it says nothing of the resource.
    fileprivate var isPassing: Bool { self.status >= 500 || self.status == 429 }
}
