import HTTPWire
import NIOCore
import Telemetry
import TokenModel

/// The ends of an exchange: by the last byte, by a local reply, by time or by force.
extension Exchange {
    /// Both streams are over: the next request may begin, or the connection ends.
    ///
    /// - Parameter isReusable: the upstream connection is clean for another request.
    func finish(isReusable: Bool) {
        let requestID = self.requestID
        if self.isTunnel {
            // Both connections end behind what each was sent.
            if let idle = self.match?.route.plan.timeouts.idle { self.upstream?.closeWhenWritten(within: idle) }
            self.upstream = nil
        } else {
            self.releaseUpstream(reusable: isReusable)
        }
        // The last that was sent may have found the connection gone; then this was ended there, and the next may have begun.
        guard self.requestID == requestID, self.match != nil else { return }
        self.endDownstream()
    }

    private func endDownstream() {
        let isWhole = self.request.isWhole
        self.record?.isWhole = true
        self.forget()
        self.downstream.finished(isWhole: isWhole)
    }

    /// A response of the gateway's own.
    func reply(_ error: GatewayError) {
        var error = error
        if let plan = self.match?.route.plan {
            error.route = plan.name
            error.account = plan.account
        }
        self.record?.status = error.status.code
        self.note(error)
        self.record?.bytesOut += self.downstream.localReply(error, isWhole: self.request.isWhole)
        self.needsDownstreamFlush = true
        self.endDownstream()
        // It goes at once: a caller that has ended its side is gone before the tick is over, and nothing waits for more.
        self.flush()
    }

    /// Ends what the upstream or the caller has broken, or let take too long: the caller is told where that can be done.
    func fail(with error: GatewayError) {
        self.releaseUpstream(reusable: false)
        guard self.response.hasBegun else { return self.reply(error) }
        if self.response.phase == .passing { self.note(error) }
        self.endBegun()
    }

    /// Ends an exchange whose request can't go on, and whose response has begun: it is cut, or whole already.
    func endBegun() {
        if self.response.phase == .ended { self.stopRequest() } else { self.cut() }
    }

    /// The response is whole, and the rest of the request has nowhere to go. A tunnel is cut.
    func stopRequest() {
        guard !self.isTunnel else { return self.cut() }
        self.request.stop()
        self.finish(isReusable: false)
    }

    /// Ends a response that can't be whole any more. What has come of it goes on; then the end tells of the cut where its
    /// framing does, and a reset where nothing else could (RFC 9112 §8).
    func cut() {
        guard self.downstream.showsCut else { return self.abort() }
        let isWhole = self.request.isWhole
        self.releaseUpstream(reusable: false)
        self.forget()
        self.downstream.cut(isWhole: isWhole)
    }

    /// Ends both sides so that neither can take what it has for whole.
    func abort() {
        self.releaseUpstream(reusable: false)
        self.forget()
        self.downstream.reset()
    }

    func releaseUpstream(reusable: Bool) {
        guard let upstream = self.upstream else { return }
        let isReusable = reusable && upstream.hasSentAll && self.head?.mayMisleadItsAnswer != true
        if isReusable, self.needsUpstreamFlush {
            // A response in one read with the word that the body is wanted: that is written, and has not gone yet.
            self.flushUpstream()
            guard self.upstream == upstream else { return }
        }
        self.upstream = nil
        if isReusable { upstream.release() } else { upstream.cancel() }
    }

    /// Nothing of the request stays, but its number.
    func forget() {
        if let record = self.record.take() { self.loop.meter.ended(record, at: .now) }
        if self.wait != nil { self.loop.stopsWaiting(self) }
        self.request.reset()
        self.settle()
        self.trailers = nil
        self.response.reset()
        self.attempt.reset()
        self.head = nil
        self.match = nil
        self.heldHead = nil
        self.heldBody = nil
        self.sentToken = nil
        self.sentOrigin = nil
        self.rejectedToken = nil
    }
}

// MARK: - Time

extension Exchange {
    /// How long a body is held for the upstream's word.
    private static let patience = Duration.seconds(1)

    /// Called by the sweep: ends what has not moved for too long.
    func sweep() {
        let now = self.loop.coarseNow
        if self.attempt.phase == .asked, self.response.phase == .none,
            now.duration(since: self.askedSince) >= Self.patience
        {
            if let route = self.match?.route { self.loop.pools[route.pool].refusedExpectation() }
            self.continued()
            self.flush()
        }
        guard !self.isBodyTooSlow() else {
            return self.fail(
                with: GatewayError(
                    .bodyTimeout,
                    reason: "the request's body came too slowly; see limits.body_rate"
                )
            )
        }
        guard let limit = self.timeLimit, now.duration(since: self.lastProgress) > limit + CoarseTime.period else {
            return
        }
        self.fail(with: self.timeoutError)
    }

    /// How long the exchange may stay as it is without anything moving.
    private var timeLimit: Duration? {
        guard let timeouts = self.match?.route.plan.timeouts else { return nil }
        guard self.response.phase == .none || self.response.phase == .held else { return timeouts.idle }
        return switch self.attempt.phase {
        case .waiting: self.loop.credentialTimeout
        // A dial has this limit itself, and knows better what failed.
        // Requests that one credential released come all at once: they wait for their turn as for a response.
        case .connecting: self.isReleased ? timeouts.response : timeouts.connect
        case .sent: self.request.isWhole ? timeouts.response : timeouts.idle
        // A body that must be whole is waited for.
        case .idle: timeouts.idle
        // Its wait ends by itself.
        case .asked, .settled, .poisoned: nil
        }
    }

    private var timeoutError: GatewayError {
        let isBodyAwaited = !self.request.isWhole && self.response.phase == .none
        switch self.attempt.phase {
        case .waiting:
            return GatewayError(.refreshFailed, "no token came in time")
        case .connecting:
            return GatewayError(.overloaded, "no upstream connection became free in time")
        case .idle,
            .sent where isBodyAwaited && self.wantsBody:
            return GatewayError(.bodyTimeout, "the request's body stopped coming")
        case .sent where isBodyAwaited:
            return GatewayError(.upstreamTimeout, "the upstream stopped taking the request's body")
        case .sent, .asked, .settled, .poisoned:
            return GatewayError(.upstreamTimeout, "the upstream did not answer in time")
        }
    }

    /// The body is waited for, and comes too slowly. Once a response is on its way the two sides may be talking, and only
    /// silence counts.
    private func isBodyTooSlow() -> Bool {
        guard !self.request.isWhole, self.response.phase == .none, self.wantsBody else { return false }
        guard self.attempt.phase == .sent || self.request.awaitsWhole else { return false }
        self.pace.waited()
        return self.pace.isTooSlow(self.record?.bytesIn ?? 0, by: self.loop.callerTimeouts)
    }

    /// A head has begun, and does not come to its end.
    func headIsOverdue() {
        self.request.fail()
        self.record = RequestRecord(method: HTTPMethod.other.name, startedAt: .now)
        self.reply(
            GatewayError(.bodyTimeout, reason: "the request's head did not come in time; see limits.header_timeout")
        )
    }
}

// MARK: - Flushing

extension Exchange {
    /// Hands what was written to the kernel when the loop has gone through all that is there to be read now.
    ///
    /// Whoever is written to wakes up, answers, and goes to sleep again; to wake it costs more than to write. Writes that
    /// follow each other closely find it awake. What fills a connection goes at once, so that reads need not stop for it, and
    /// so does what is large, since it costs more to copy than its reader to wake.
    func flushSoon() {
        guard self.needsUpstreamFlush || self.needsDownstreamFlush else { return }
        let upstream = self.upstream
        guard self.downstream.isWritable, upstream?.isWritable != false, !self.downstream.hasMuchToFlush,
            upstream?.hasMuchToFlush != true
        else { return self.flush() }
        guard !self.isFlushDue else { return }
        self.isFlushDue = true
        self.loop.flushSoon(self)
    }

    /// Hands what was written to the kernel.
    func flush() {
        self.flushUpstream()
        if self.needsDownstreamFlush {
            self.needsDownstreamFlush = false
            self.downstream.flush()
        }
    }

    func flushUpstream() {
        guard self.needsUpstreamFlush else { return }
        self.needsUpstreamFlush = false
        self.upstream?.flush(on: self.loop)
    }
}

// MARK: - What is counted

extension Exchange {
    /// A response was judged.
    func note(_ judgement: Attempt.Judgement) {
        switch judgement {
        case .hold: self.record?.replay = .held
        case .passAndRefresh: self.record?.replay = .impossible
        case .passMarkedReplayed: self.record?.replay = .refused
        case .pass where self.record?.replay.hasBeenSent == true: self.record?.replay = .answered
        case .pass, .sendAgain, .fail: break
        }
    }

    /// Why the caller gets a local reply, or no whole response of the upstream's.
    func note(_ error: GatewayError) {
        self.record?.error = error.code.rawValue
        self.record?.reason = error.message
        if error.fault == .upstream { self.record?.origin = self.match?.route.plan.upstream.origin }
    }
}

extension HTTPMethod {
    /// As logs show it.
    var name: StaticString {
        switch self {
        case .get: "GET"
        case .head: "HEAD"
        case .post: "POST"
        case .put: "PUT"
        case .delete: "DELETE"
        case .options: "OPTIONS"
        case .patch: "PATCH"
        case .other: "other"
        }
    }
}
