import Telemetry
import TokenModel

/// A request under way whose token, or account, was killed.
extension Exchange {
    /// Does what ``ExchangeMachine/fenced(_:)`` says, in this tick.
    ///
    /// - Parameter killed: slots for whose accounts no token may come.
    func fence(killed: Set<Int>) -> FencedExchanges {
        guard let slot = self.match?.route.slot else { return FencedExchanges() }
        let mayEnd = self.carriesDead(slot) && self.mayEndWithIt(slot) && self.isHeadOut
        // Looking may have lost its connection.
        let carriesDead = self.carriesDead(slot)
        switch self.machine.fenced(
            .init(carriesDead: carriesDead, mayEnd: mayEnd, isKilled: killed.contains(slot))
        ) {
        case .ignore: return FencedExchanges()
        case .drain: return FencedExchanges(draining: 1)
        case .answer:
            self.sever()
            self.answer(GatewayError(carriesDead ? .tokenKilled : PassError.accountKilled))
        case .loseHeldAnswer:
            self.sever()
        case .abort:
            self.record?.error = GatewayError.Code.killed.rawValue
            self.record?.reason = PassError.tokenKilled.message
            self.sever()
            self.abort()
        }
        return FencedExchanges(closed: carriesDead ? 1 : 0)
    }

    /// No token may leave any more: what the kernel does not have of a head by now must not go out later, when a kill has
    /// stopped waiting for this process.
    func leaseEnded() {
        guard self.sentOrigin != nil, self.upstream != nil, !self.isHeadOut, self.upstream != nil else { return }
        switch self.machine.fenced(.init(carriesDead: true, mayEnd: false, isKilled: false)) {
        case .ignore, .drain: return
        case .answer:
            self.sever()
            self.answer(GatewayError(PassError.leaseEnded))
        case .loseHeldAnswer:
            self.sever()
        case .abort:
            self.record?.error = GatewayError.Code.storeLost.rawValue
            self.sever()
            self.abort()
        }
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
        return self.upstream === upstream && upstream.isHeadOut
    }

    private func sever() {
        self.needsUpstreamFlush = false
        self.upstream?.sever()
        self.upstream = nil
    }
}
