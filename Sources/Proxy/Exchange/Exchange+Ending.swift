import HTTPWire
import NIOCore
import Telemetry
import TokenModel

/// The ends of an exchange: the last byte, a local reply, a timeout or a forced close.
extension Exchange {
    /// Ends an exchange whose streams are both over: the next request may begin, or the connection ends.
    ///
    /// - Parameter isReusable: the upstream connection can serve another request.
    func finish(isReusable: Bool) {
        let requestID = self.requestID
        if self.isTunnel {
            // Each connection closes after the bytes already written to it.
            if let idle = self.match?.route.plan.timeouts.idle { self.upstream?.closeWhenWritten(within: idle) }
            self.upstream = nil
        } else {
            self.releaseUpstream(reusable: isReusable)
        }
        // Flushing may have found the connection gone. Then the exchange was ended there, and the next one may have
        // begun.
        guard self.requestID == requestID, self.match != nil else { return }
        self.endDownstream()
    }

    private func endDownstream() {
        let isWhole = self.request.isWhole
        self.record?.isWhole = true
        self.forget()
        self.downstream.finished(isWhole: isWhole)
    }

    /// Ends the exchange with a local reply.
    func reply(_ error: GatewayError) {
        if self.cacheTurn != nil, self.servesStale(insteadOf: error.status.code) { return self.flush() }
        var error = error
        if let match = self.match {
            error.route = match.route.plan.name
            error.account = self.loop.gateway.account(of: match)
        }
        self.record?.status = error.status.code
        self.note(error)
        self.cacheTurn?.failed()
        let cacheLines = self.cacheLines(for: nil)
        // After a malformed request we can't tell where the next one starts.
        self.reply(closes: error.code == .badRequest) { method, close, keepAlive in
            error.reply(to: method, close: close, keepAlive: keepAlive, cacheLines: cacheLines)
        }
    }

    /// Answers an OPTIONS request that goes no further (RFC 9110 §7.6.2).
    func replyOptions() {
        self.record?.status = 200
        self.reply(closes: false) { _, close, keepAlive in .options(close: close, keepAlive: keepAlive) }
    }

    private func reply(
        closes: Bool,
        _ make: (_ method: HTTPMethod, _ close: Bool, _ keepAlive: Bool) -> LocalReply
    ) {
        let closes = closes || !self.request.isWhole
        self.record?.bytesOut += self.downstream.localReply(closes: closes, make)
        self.needsDownstreamFlush = true
        self.endDownstream()
        // Flush at once: a caller that has ended its side is gone before the tick's end, and no more output follows.
        self.flush()
    }

    /// Ends an exchange that the upstream or the caller has broken or let time out. The caller is told where that is
    /// possible.
    func fail(with error: GatewayError) {
        self.releaseUpstream(reusable: false)
        guard self.response.hasBegun else { return self.reply(error) }
        if self.response.phase == .passing { self.note(error) }
        self.endBegun()
    }

    /// Ends an exchange whose request can't go on and whose response has begun. An incomplete response is cut.
    func endBegun() {
        if self.response.phase == .ended { self.stopRequest() } else { self.cut() }
    }

    /// Ends an exchange whose response is complete while the rest of its request can't be sent. A tunnel is cut.
    func stopRequest() {
        guard !self.isTunnel else { return self.cut() }
        self.request.stop()
        self.finish(isReusable: false)
    }

    /// Ends a response that can't be completed. The part that has come is still sent. Then its framing shows the caller
    /// the cut, or a reset does where the framing can't (RFC 9112 §8).
    func cut() {
        guard self.downstream.showsCut else { return self.abort() }
        let isWhole = self.request.isWhole
        self.releaseUpstream(reusable: false)
        self.forget()
        self.downstream.cut(isWhole: isWhole)
    }

    /// Ends both connections so that neither peer can take an incomplete message for a complete one.
    func abort() {
        self.releaseUpstream(reusable: false)
        self.forget()
        self.downstream.reset()
    }

    func releaseUpstream(reusable: Bool) {
        guard let upstream = self.upstream else { return }
        let isReusable = reusable && upstream.hasSentAll && self.head?.mayGetUnexpectedBody != true
        if isReusable, self.needsUpstreamFlush {
            // The response came in one read with `100 Continue`: the body has been written, but not flushed yet.
            self.flushUpstream()
            guard self.upstream == upstream else { return }
        }
        self.upstream = nil
        if isReusable { upstream.release() } else { upstream.cancel() }
    }

    /// Clears everything about the request except its number.
    func forget() {
        if let record = self.record.take() { self.loop.meter.ended(record, at: .now) }
        if self.wait != nil { self.loop.stopsWaiting(self) }
        self.endOpenBody()
        self.request.reset()
        self.settle()
        self.trailers = nil
        self.response.reset()
        self.attempt.reset()
        self.head = nil
        self.match = nil
        self.heldHead = nil
        self.heldBody = nil
        self.cacheTurn.take()?.end()
        self.served = nil
        self.sentToken = nil
        self.sentOrigin = nil
        self.rejectedToken = nil
    }
}

// MARK: - Time

extension Exchange {
    /// How long a body waits for the upstream's `100 Continue`.
    private static let patience = Duration.seconds(1)

    /// Called by the sweep: ends an exchange that has not moved for too long.
    func sweep() {
        guard self.cacheTurn == nil || !self.sweepCollapse() else { return }
        let now = self.loop.coarseNow
        if self.attempt.phase == .asked, self.response.phase == .none,
            now.duration(since: self.expectSentAt) >= Self.patience
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

    /// How long the exchange may stay in its present state without anything moving; `nil` for no limit.
    private var timeLimit: Duration? {
        guard let match = self.match else { return nil }
        let timeouts = match.route.plan.timeouts
        guard self.response.phase == .none || self.response.phase == .held else { return timeouts.idle }
        return switch self.attempt.phase {
        case .waiting: self.loop.credentialTimeout(slot: match.slot)
        // A dial enforces this limit itself, and reports more exactly what failed.
        // One credential releases its requests all at once, so they wait in the pool's queue as for a response.
        case .connecting: self.isReleased ? timeouts.response : timeouts.connect
        case .sent: self.request.isWhole ? timeouts.response : timeouts.idle
        // A body that must be whole is still being read.
        case .idle: timeouts.idle
        // `asked` ends after ``patience``.
        case .asked, .settled, .poisoned: nil
        }
    }

    private var timeoutError: GatewayError {
        let isBodyAwaited = !self.request.isWhole && self.response.phase == .none
        switch self.attempt.phase {
        case .waiting:
            return self.match.flatMap { self.loop.gateway.obstacle(slot: $0.slot) }.map { GatewayError($0) }
                ?? GatewayError(.refreshFailed, "no token came in time")
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

    /// The exchange waits for a body of known length, and that comes too slowly. One without a length may come as it is
    /// made. Once a response has begun, both sides may be in a dialogue, and only silence counts.
    private func isBodyTooSlow() -> Bool {
        guard !self.request.isWhole, self.head?.body.isChunked == false, self.response.phase == .none, self.wantsBody
        else { return false }
        guard self.attempt.phase == .sent || self.request.awaitsWhole else { return false }
        self.pace.waited()
        return self.pace.isTooSlow(self.record?.bytesIn ?? 0, by: self.loop.callerTimeouts)
    }

    /// A request head has begun, but was not completed in time.
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
    /// Hands the written bytes to the kernel after the loop has handled all that can be read now.
    ///
    /// A peer that is written to wakes up, replies, and goes to sleep again. Waking it costs more than the write, and
    /// writes in close succession find it awake. Two kinds of output are flushed at once: output that fills a
    /// connection, so that reads need not stop for it, and large output, because copying it costs more than waking its
    /// reader.
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

    /// Hands the written bytes to the kernel.
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

// MARK: - Metrics and the access log

extension Exchange {
    /// Records how a response was judged.
    func note(_ judgement: Attempt.Judgement) {
        switch judgement {
        case .hold: self.record?.replay = .held
        case .passAndRefresh: self.record?.replay = .impossible
        case .passMarkedReplayed: self.record?.replay = .refused
        case .pass where self.record?.replay.hasBeenSent == true: self.record?.replay = .answered
        case .pass, .sendAgain, .fail: break
        }
    }

    /// Records why the caller gets a local reply or an incomplete response.
    func note(_ error: GatewayError) {
        self.record?.error = error.code.rawValue
        self.record?.reason = error.message
        if error.fault == .upstream { self.record?.origin = self.match?.route.plan.upstream.origin }
    }
}

extension HTTPMethod {
    /// The name that logs show.
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
