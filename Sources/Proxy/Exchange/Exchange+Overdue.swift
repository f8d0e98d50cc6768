import HTTPWire
import Telemetry
import TokenModel

/// Callers that take too long for their part of a request.
extension Exchange {
    /// A head has begun, and does not come to its end.
    func headIsOverdue() {
        self.isRequestEnded = false
        self.record = RequestRecord(method: HTTPMethod.other.name, startedAt: .now)
        self.answer(
            GatewayError(.bodyTimeout, reason: "the request's head did not come in time; see limits.header_timeout")
        )
    }

    /// Called by the sweep: the body is waited for, and comes too slowly.
    func bodyIsOverdue() -> Bool {
        guard !self.isRequestEnded, self.wantsBody else { return false }
        switch self.machine.phase {
        case .sending, .collecting: break
        // Nothing waits for it, or not yet.
        case .parked, .connecting, .expecting, .examining, .judging, .answering, .tunnelling, .idle, .poisoned:
            return false
        }
        self.pace.waited()
        return self.pace.isTooSlow(self.record?.bytesIn ?? 0, by: self.loop.callerTimeouts)
    }

    var slowBodyError: GatewayError {
        GatewayError(.bodyTimeout, reason: "the request's body came too slowly; see limits.body_rate")
    }
}
