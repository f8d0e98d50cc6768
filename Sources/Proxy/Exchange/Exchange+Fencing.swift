import Telemetry
import TokenModel

/// How far a kill, or the end of the lease, concerns an exchange.
package struct FencingReach: Equatable, Sendable {
    /// Its upstream connection carries a token that is dead now.
    package var carriesDead: Bool
    /// With that it may go on to its end, since the head has left.
    package var mayEnd: Bool
    /// No token may come for its account.
    package var isKilled: Bool

    package init(carriesDead: Bool, mayEnd: Bool, isKilled: Bool) {
        self.carriesDead = carriesDead
        self.mayEnd = mayEnd
        self.isKilled = isKilled
    }

    package enum Consequence: Equatable, Sendable {
        /// The upstream connection goes, where there is one, and the caller is told.
        case reply
        /// The upstream connection goes, and the response that was held back with it; another token may come yet.
        case loseHeld
        /// Response bytes went out: both connections are reset, so that the caller sees that the response is not whole.
        case abort
        /// The response is whole: the rest of the request stays here.
        case stopRequest
        case drain
        case ignore
    }

    /// What it means for an exchange that stands so.
    package func consequence(_ attempt: Attempt.Phase, _ response: ResponseStream.Phase) -> Consequence {
        guard attempt != .poisoned else { return .abort }
        let isWithUpstream = attempt == .asked || attempt == .sent || response.isThere
        guard isWithUpstream else {
            // No token is with any connection: it waits for one, or will find its slot empty.
            return self.isKilled ? .reply : .ignore
        }
        // It waits for another token, and in vain if there may be none.
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

/// A request under way whose token, or account, was killed.
extension Exchange {
    /// Does what ``FencingReach`` says, in this tick.
    ///
    /// - Parameter killed: slots for whose accounts no token may come.
    func fence(killed: Set<Int>) -> FencedExchanges {
        guard let slot = self.match?.route.slot else { return FencedExchanges() }
        let requestID = self.requestID
        let mayEnd = self.carriesDead(slot) && self.mayEndWithIt(slot) && self.isHeadOut
        // Looking may have lost its connection, and so have ended the exchange. What has begun since is of after the kill.
        guard self.requestID == requestID, self.match != nil else { return FencedExchanges() }
        let carriesDead = self.carriesDead(slot)
        let reach = FencingReach(carriesDead: carriesDead, mayEnd: mayEnd, isKilled: killed.contains(slot))
        let error: CredentialError = carriesDead ? .tokenKilled : .accountKilled
        return switch self.apply(reach, GatewayError(error), cause: .killed) {
        case .ignore: FencedExchanges()
        case .drain: FencedExchanges(draining: 1)
        case .reply, .loseHeld, .abort, .stopRequest: FencedExchanges(closed: carriesDead ? 1 : 0)
        }
    }

    /// No token may leave any more: what the kernel does not have of a head by now must not go out later, when a kill has
    /// stopped waiting for this process.
    func leaseEnded() {
        guard self.sentOrigin != nil, self.upstream != nil, !self.isHeadOut, self.upstream != nil else { return }
        let reach = FencingReach(carriesDead: true, mayEnd: false, isKilled: false)
        _ = self.apply(reach, GatewayError(CredentialError.leaseEnded), cause: .storeLost)
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

    /// An upstream connection has its token, or will get it at the tick's end, and that is dead.
    private func carriesDead(_ slot: Int) -> Bool {
        guard self.upstream != nil, let origin = self.sentOrigin else { return false }
        return !self.loop.gateway.isLive(origin, slot: slot)
    }

    /// Each kill that is about its token lets requests under way go on to their end.
    private func mayEndWithIt(_ slot: Int) -> Bool {
        self.sentOrigin.map { self.loop.gateway.mayEnd($0, slot: slot) } ?? false
    }

    /// The kernel has all of the head.
    private var isHeadOut: Bool {
        guard let upstream = self.upstream, upstream.hasFlushed else { return false }
        // So that what waits here is not taken for what has gone.
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

/// What became of the requests under way that carried a killed token.
package struct FencedExchanges: Equatable, Sendable {
    /// Their connections are gone.
    package var closed: Int
    /// Their heads had left, and they may end.
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
