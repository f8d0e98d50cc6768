import HTTPCaching
import Telemetry
import TokenModel

/// How a kill, the end of the lease or the lock affects an exchange.
package struct FencingReach: Equatable, Sendable {
    /// The upstream connection carries a token that is dead now.
    package var carriesDead: Bool
    /// The exchange may finish with that token: the head has left, and the kill allows it.
    package var mayEnd: Bool
    /// A kill or the lock forbids any token for the account.
    package var isKilled: Bool

    package init(carriesDead: Bool, mayEnd: Bool, isKilled: Bool) {
        self.carriesDead = carriesDead
        self.mayEnd = mayEnd
        self.isKilled = isKilled
    }

    package enum Consequence: Equatable, Sendable {
        /// Close the upstream connection, if there is one, and send a local reply.
        case reply
        /// Close the upstream connection and lose the held response; another token may still come.
        case loseHeld
        /// Reset both connections: response bytes went out, so the caller must see that the response is incomplete.
        case abort
        /// Don't send the rest of the request; the response is complete.
        case stopRequest
        case drain
        case ignore
    }

    /// The consequence for an exchange in these phases.
    package func consequence(_ attempt: Attempt.Phase, _ response: ResponseStream.Phase) -> Consequence {
        guard attempt != .poisoned else { return .abort }
        let isWithUpstream = attempt == .asked || attempt == .sent || response.isThere
        guard isWithUpstream else {
            // No connection has the token: the request waits for one, or will find its slot empty.
            return self.isKilled ? .reply : .ignore
        }
        // The request waits for another token, and none may come for a killed account.
        if response == .held, self.isKilled { return .reply }
        guard self.carriesDead else { return .ignore }
        guard !self.mayEnd else { return .drain }
        return switch response {
        case .none, .inspecting: .reply
        case .held: .loseHeld
        case .passing: .abort
        case .ended: .stopRequest
        }
    }
}

extension ResponseStream.Phase {
    fileprivate var isThere: Bool { self != .none }
}

/// Requests in progress whose token or account was killed.
extension Exchange {
    /// Applies the consequence of ``FencingReach``, in this tick.
    ///
    /// - Parameter isKilled: whether a slot's account may get no token.
    func fence(isKilled: (Int) -> Bool) -> FencedExchanges {
        guard let slot = self.match?.slot else { return FencedExchanges() }
        let requestID = self.requestID
        let mayEnd = self.carriesDead(slot) && self.mayEndWithIt(slot) && (self.served != nil || self.isHeadOut)
        // `isHeadOut` flushes, which may have lost the connection and ended the exchange. A request that has begun
        // since then came after the kill.
        guard self.requestID == requestID, self.match != nil else { return FencedExchanges() }
        let carriesDead = self.carriesDead(slot)
        let reach = FencingReach(carriesDead: carriesDead, mayEnd: mayEnd, isKilled: isKilled(slot))
        let error: CredentialError = carriesDead ? .tokenKilled : .accountKilled
        return switch self.apply(reach, GatewayError(error), cause: .killed) {
        case .ignore: FencedExchanges()
        case .drain: FencedExchanges(draining: 1)
        case .reply, .loseHeld, .abort, .stopRequest: FencedExchanges(closed: carriesDead ? 1 : 0)
        }
    }

    /// Ends an exchange whose head the kernel does not have completely. No token may leave after the lease's end: a
    /// kill does not wait for this process any longer, so the head must not go out later.
    func leaseEnded() {
        guard self.sentOrigin != nil, self.upstream != nil, !self.isHeadOut, self.upstream != nil else { return }
        let reach = FencingReach(carriesDead: true, mayEnd: false, isKilled: false)
        _ = self.apply(reach, GatewayError(CredentialError.leaseEnded), cause: .storeLost)
    }

    /// Ends a request whose head has not left, or that has none to send yet: no token may leave any more. A request whose
    /// head has left finishes, but what it brings is not stored.
    func lock() {
        guard self.match != nil else { return }
        let requestID = self.requestID
        let isUnsent = self.sentOrigin != nil && self.upstream != nil && !self.isHeadOut
        // As in `fence(isKilled:)`.
        guard self.requestID == requestID, self.match != nil else { return }
        let reach = FencingReach(carriesDead: isUnsent && self.upstream != nil, mayEnd: false, isKilled: true)
        let consequence = self.apply(reach, GatewayError(CredentialError.locked), cause: .locked)
        if consequence == .ignore { self.cacheTurn?.failed() }
    }

    private func apply(
        _ reach: FencingReach,
        _ error: GatewayError,
        cause: GatewayError.Code
    ) -> FencingReach.Consequence {
        let consequence = reach.consequence(self.attempt.phase, self.response.phase)
        switch consequence {
        case .ignore, .drain: break
        case .reply:
            self.sever()
            self.reply(error)
        case .loseHeld:
            self.sever()
            self.response.loseHeld()
        case .abort:
            self.record?.error = cause.rawValue
            self.record?.reason = error.message
            self.sever()
            self.abort()
        case .stopRequest:
            self.sever()
            self.stopRequest()
        }
        return consequence
    }

    /// An upstream connection has the request's token, or will get it at the tick's end, and the token is dead; or a
    /// stored response is being sent whose token is dead.
    private func carriesDead(_ slot: Int) -> Bool {
        if let served = self.served { return !self.loop.gateway.isLive(served.stored.owner, slot: slot) }
        guard self.upstream != nil, let origin = self.sentOrigin else { return false }
        return !self.loop.gateway.isLive(origin, slot: slot)
    }

    /// Every kill that covers the token lets requests in progress finish.
    private func mayEndWithIt(_ slot: Int) -> Bool {
        let origin = self.served.map { self.loop.gateway.slots[slot].origin(of: $0.stored.owner) } ?? self.sentOrigin
        return origin.map { self.loop.gateway.mayEnd($0, slot: slot) } ?? false
    }

    /// The kernel has all of the request head.
    private var isHeadOut: Bool {
        guard let upstream = self.upstream, upstream.hasFlushed else { return false }
        // Flush first, so that bytes that still wait here do not count as sent.
        self.needsUpstreamFlush = false
        upstream.flush(on: self.loop)
        return self.upstream == upstream && upstream.isHeadOut
    }

    private func sever() {
        self.needsUpstreamFlush = false
        self.upstream?.sever()
        self.upstream = nil
    }
}

/// How many requests in progress carried a killed token, by outcome.
package struct FencedExchanges: Equatable, Sendable {
    /// Exchanges whose connections were closed.
    package var closed: Int
    /// Exchanges whose heads had left, and which may finish.
    package var draining: Int

    package init(closed: Int = 0, draining: Int = 0) {
        self.closed = closed
        self.draining = draining
    }

    package static func += (left: inout FencedExchanges, right: FencedExchanges) {
        left.closed += right.closed
        left.draining += right.draining
    }
}
