import HTTPWire
import NIOCore
import Telemetry

/// A connection that went over to WebSocket: bytes both ways, unread, until both sides have ended theirs.
///
/// The exchange still owns both connections, so whatever ends exchanges ends this too. What is told of each side's bytes
/// holds here as for bodies: reads on one side stop while the other side takes nothing.
extension Exchange {
    /// A 101 has come. What the caller sent behind its head has waited for this; what the upstream sent behind its own
    /// follows from its handler.
    func switchProtocols(_ answer: ResponseHead) {
        guard let match = self.match, self.request?.asksForWebSocket == true, answer.switchesToWebSocket else {
            return self.upstreamInvalid(.upgradeNotAsked)
        }
        // Its caller, or the route, may have been taken out since it asked, when it was no tunnel that could be cut.
        guard self.loop.gateway.stillServes(self.unverified, by: match.route) else { return self.abort() }
        guard self.machine.switched() == .tunnel else { return self.abort() }
        if let token = self.sentToken { self.loop.accepted(token, slot: match.route.slot) }
        if self.record?.isReplayed == true { self.record?.replay = .answered }
        self.record?.status = answer.status
        self.caller.write(self.head(of: answer))
        self.needsCallerFlush = true
        // It may stay for days: what it began with is not kept so long.
        self.request = nil
        self.kept = KeptBody(limit: 0)
        self.requestEncoder = BodyEncoder(.untilClose)
        self.answerEncoder = BodyEncoder(.untilClose)
        self.upstream?.tunnel()
        self.caller.tunnel()
    }

    /// The caller has ended its side of the tunnel.
    func callerEnded() {
        self.lastProgress = self.loop.tick
        self.flush()
        switch self.machine.tunnelEnded(.caller) {
        case .passOn: self.upstream?.endOutput()
        case .finish: self.finishTunnel()
        case .ignore: break
        }
    }

    /// The upstream has ended its side of the tunnel.
    func upstreamEnded() {
        self.lastProgress = self.loop.tick
        self.flush()
        switch self.machine.tunnelEnded(.upstream) {
        case .passOn: self.caller.endOutput()
        case .finish: self.finishTunnel()
        case .ignore: break
        }
    }

    /// Both have: their connections end behind what each was sent.
    private func finishTunnel() {
        if let idle = self.match?.route.plan.timeouts.idle { self.upstream?.closeWhenWritten(within: idle) }
        self.upstream = nil
        self.finish(close: true)
    }
}
