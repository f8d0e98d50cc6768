import HTTPWire
import NIOCore
import TokenModel

/// Large bodies: the upstream is asked before one is sent, so that a dead token costs no upload and the request can be
/// sent again whatever its size.
///
/// Larger than the replay limit is what says so, and what turns out to be: a chunked body is weighed, which means kept
/// until it ends or the limit is passed. Neither wait is long, and a connection whose upstream has just taken the token
/// spares both.
extension Exchange {
    /// How long a body is held for the upstream's word, and at most to be weighed.
    private static let patience = Duration.seconds(1)

    /// The size of the body must be found out before the head can go.
    func mustWeigh(on route: Route) -> Bool {
        guard self.request?.body.isChunked == true, self.request?.expectsContinue == false else { return false }
        return self.mayExpect(on: route)
    }

    /// The upstream shall be asked before the body is sent.
    func expects(_ request: RequestHead, on route: Route) -> Bool {
        let isLarge =
            switch request.body {
            case .none, .untilClose: false
            case .length(let length): length > route.plan.replayBodyLimit
            // A caller that itself waits to be asked has something large to send.
            case .chunked: !self.isRequestEnded && (request.expectsContinue || !self.kept.hasRoom)
            }
        return isLarge && self.mayExpect(on: route)
    }

    private func mayExpect(on route: Route) -> Bool {
        guard route.plan.asksBeforeBodies, let pass = self.loop.gateway.slots[route.slot].pass else { return false }
        return self.loop.pools[route.pool].mayExpect(TokenMark(pass), slot: route.slot)
    }

    /// The head is out, and the body waits.
    func awaitContinue() {
        self.waitingSince = self.loop.tick
        // What comes is kept up to the limit meanwhile.
        self.caller.resume()
    }

    /// The upstream has said that it wants the body.
    func continueArrived() {
        guard self.machine.continued() == .sendBody else { return }
        self.lastProgress = self.loop.tick
        self.startBody()
    }

    /// Called by the sweep: a body does not wait for ever.
    func sweepWaitingBody() {
        let now = self.loop.tick
        switch self.machine.phase {
        case .expecting where now.duration(since: self.waitingSince) >= Self.patience:
            if let route = self.match?.route { self.loop.pools[route.pool].refusedExpectation() }
            self.continueArrived()
        case .collecting where self.isWeighing && self.hasWeighedEnough(now):
            self.collected()
        default: return
        }
        self.flush()
    }

    /// A body that comes in drops is being made while it is sent: who makes it may wait for an answer to the first.
    private func hasWeighedEnough(_ now: Tick) -> Bool {
        now.duration(since: self.waitingSince) >= Self.patience
            || now.duration(since: self.lastProgress) > Tick.period
    }
}
