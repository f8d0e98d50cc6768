import HTTPWire
import NIOCore
import TokenModel

/// How an exchange ends: by an answer of its own, by the last byte, or by force.
extension Exchange {
    /// Called by the sweep: ends what has not moved for too long.
    func sweep() {
        guard let timeout = self.timeout, self.loop.tick.duration(since: self.lastProgress) > timeout.after else {
            return
        }
        self.fail(with: timeout.error)
    }

    var timeout: (after: Duration, error: GatewayError)? {
        guard self.request != nil, !self.isIdle else { return nil }
        let timeouts = self.route.plan.timeouts
        switch self.machine.phase {
        case .parked, .judging:
            return (.seconds(15), GatewayError(.refreshFailed, "no token came within 15 s"))
        case .connecting:
            return (timeouts.connect, GatewayError(.overloaded, "no upstream connection became free in time"))
        case .sending where !self.isRequestEnded:
            return (timeouts.idle, GatewayError(.bodyTimeout, "the request's body stopped coming"))
        case .sending:
            return (timeouts.response, GatewayError(.upstreamTimeout, "the upstream did not answer in time"))
        case .answering:
            return (timeouts.idle, GatewayError(.upstreamTimeout, "the answer stopped"))
        case .idle, .poisoned:
            return nil
        }
    }

    func answer(_ error: GatewayError) {
        var error = error
        if error.code != .noRoute, error.fault != .caller || error.code == .bodyTimeout {
            error.route = self.route.plan.name
            error.account = self.route.plan.account
        }
        let close = !self.isRequestEnded || self.request?.keepsAlive != true || self.loop.isDraining
        self.caller.write(
            error.answer(to: self.request?.method ?? .other, close: close, allocator: self.caller.allocator)
        )
        self.needsCallerFlush = true
        self.heldAnswer = nil
        self.finish(close: close)
    }

    /// The answer is whole; the next request may begin, or the connection ends.
    func finish(close: Bool) {
        let lingers = !self.isRequestEnded
        self.forget()
        if close {
            self.flush()
            self.caller.close(lingering: lingers)
        } else {
            self.caller.finished()
        }
    }

    /// Ends both sides so that neither can take what it has for whole.
    func abort() {
        self.machine.abandoned()
        self.releaseUpstream(reusable: false)
        self.forget()
        self.caller.abort()
    }

    func releaseUpstream(reusable: Bool) {
        guard let upstream = self.upstream else { return }
        self.upstream = nil
        if reusable { upstream.release() } else { upstream.close() }
    }

    func forget() {
        self.request = nil
        self.heldAnswer = nil
        self.sentToken = nil
        self.kept = KeptBody(limit: 0)
        self.isRequestEnded = true
    }

    /// Hands what was written to the kernel: once per burst of reads.
    func flush() {
        if self.needsUpstreamFlush {
            self.needsUpstreamFlush = false
            self.upstream?.flush()
        }
        if self.needsCallerFlush {
            self.needsCallerFlush = false
            self.caller.flush()
        }
    }
}
