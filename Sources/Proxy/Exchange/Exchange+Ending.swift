import HTTPWire
import NIOCore
import Telemetry
import TokenModel

/// How an exchange ends: by an answer of its own, by the last byte, or by force.
extension Exchange {
    /// Called by the sweep: ends what has not moved for too long.
    func sweep() {
        self.sweepWaitingBody()
        guard !self.bodyIsOverdue() else { return self.fail(with: self.slowBodyError) }
        guard let limit = self.timeLimit, self.loop.tick.duration(since: self.lastProgress) > limit + Tick.period else {
            return
        }
        self.fail(with: self.timeoutError)
    }

    /// How long the machine may stay in its phase without anything moving.
    private var timeLimit: Duration? {
        guard let timeouts = self.match?.route.plan.timeouts else { return nil }
        return switch self.machine.phase {
        case .parked, .judging: self.loop.passTimeout
        case .collecting: timeouts.idle
        // A dial has this limit itself, and knows better what failed.
        // Those whom one pass released come all at once: they wait for their turn as for an answer.
        case .connecting: self.isReleased ? timeouts.response : timeouts.connect
        case .sending: self.isRequestEnded ? timeouts.response : timeouts.idle
        case .examining, .answering, .tunnelling: timeouts.idle
        // Its wait ends by itself.
        case .expecting, .idle, .poisoned: nil
        }
    }

    private var timeoutError: GatewayError {
        switch self.machine.phase {
        case .parked, .judging:
            GatewayError(.refreshFailed, "no token came in time")
        case .connecting:
            GatewayError(.overloaded, "no upstream connection became free in time")
        case .collecting:
            GatewayError(.bodyTimeout, "the request's body stopped coming")
        case .sending where !self.isRequestEnded && self.upstream?.isWritable == true:
            GatewayError(.bodyTimeout, "the request's body stopped coming")
        case .sending where !self.isRequestEnded:
            GatewayError(.upstreamTimeout, "the upstream stopped taking the request's body")
        case .sending, .expecting, .examining, .answering, .tunnelling, .idle, .poisoned:
            GatewayError(.upstreamTimeout, "the upstream did not answer in time")
        }
    }

    func answer(_ error: GatewayError) {
        var error = error
        if let plan = self.match?.route.plan {
            error.route = plan.name
            error.account = plan.account
        }
        self.record?.status = error.status.code
        self.note(error)
        // What is no valid request leaves no doubt-free place for the next one to begin.
        let isMalformed = error.code == .badRequest
        let close =
            isMalformed || !self.isRequestEnded || self.request?.keepsAlive != true || self.loop.isDraining
        let answer = error.answer(
            to: self.request?.method ?? .other,
            close: close,
            keepAlive: !close && self.request?.minorVersion == 0,
            allocator: self.caller.allocator
        )
        self.record?.bytesOut += answer.bodyLength
        self.caller.write(answer.bytes(with: self.loop.dateLine))
        self.needsCallerFlush = true
        self.finish(close: close)
        // It goes at once: a caller that has ended its side is gone before the tick is over, and nothing waits for more.
        self.flush()
    }

    /// The answer is whole; the next request may begin, or the connection ends.
    func finish(close: Bool) {
        let lingers = !self.isRequestEnded
        self.record?.isWhole = true
        self.forget()
        if close {
            self.flush()
            self.caller.close(lingering: lingers)
        } else {
            self.caller.finished()
        }
    }

    /// Ends a response that can't be whole any more. What has come of it goes on; then the end tells of the cut where its
    /// framing does, and a reset where nothing else could (RFC 9112 §8).
    func cut() {
        guard self.answerEncoder.showsCut else { return self.abort() }
        let lingers = !self.isRequestEnded
        self.machine.abandoned()
        self.releaseUpstream(reusable: false)
        self.forget()
        self.flush()
        self.caller.close(lingering: lingers)
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
        let reusable = reusable && self.request?.mayMisleadItsAnswer != true
        if reusable, self.needsUpstreamFlush {
            // An answer in one read with the word that the body is wanted: that is written, and has not gone yet.
            self.needsUpstreamFlush = false
            upstream.flush(on: self.loop)
            guard self.upstream === upstream else { return }
        }
        self.upstream = nil
        if reusable { upstream.release() } else { upstream.close() }
    }

    func forget() {
        self.count()
        if self.wait != nil { self.loop.stopsWaiting(self) }
        self.request = nil
        self.match = nil
        self.heldAnswer = nil
        self.heldBody = nil
        self.isWeighing = false
        self.sentToken = nil
        self.sentOrigin = nil
        self.refusedToken = nil
        self.kept = KeptBody(limit: 0)
        self.answerEncoder = BodyEncoder(.none)
        self.requestTrailers = nil
        self.isRequestEnded = true
    }

    /// Hands what was written to the kernel when the loop has gone through all that is there to be read now.
    ///
    /// Whoever is written to wakes up, answers, and goes to sleep again; to wake it costs more than to write. Writes that
    /// follow each other closely find it awake. What fills a connection goes at once, so that reads need not stop for it, and
    /// so does what is large, since it costs more to copy than its reader to wake.
    func flushSoon() {
        guard self.needsUpstreamFlush || self.needsCallerFlush else { return }
        guard self.caller.isWritable, self.upstream?.isWritable != false else { return self.flush() }
        guard !self.caller.hasMuchToFlush, self.upstream?.hasMuchToFlush != true else { return self.flush() }
        guard !self.isFlushDue else { return }
        self.isFlushDue = true
        self.loop.flushSoon(self)
    }

    /// Hands what was written to the kernel.
    func flush() {
        if self.needsUpstreamFlush {
            self.needsUpstreamFlush = false
            self.upstream?.flush(on: self.loop)
        }
        if self.needsCallerFlush {
            self.needsCallerFlush = false
            self.caller.flush()
        }
    }
}
