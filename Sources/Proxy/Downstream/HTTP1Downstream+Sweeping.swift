import HTTPWire
import NIOCore

/// What the loop ends: connections and requests that are waited for too long, heads that take too much, and all of them
/// when the gateway stops.
extension HTTP1Downstream {
    /// In which order unfinished heads are refused: the largest last in this order, a stranger's behind all others.
    var headWeight: Int { self.isKnown || self.headBytes == 0 ? self.headBytes : self.headBytes + (1 << 40) }

    /// Refuses a head that is still coming. One that has come whole since it was weighed is none any more.
    func refuseHead() {
        guard !self.isProcessing, case .open = self.state, let exchange = self.exchange, exchange.isIdle else { return }
        exchange.requestFailed(
            WireError(.headTooLarge, "the heads that are still coming take too much memory; see limits.head_memory")
        )
    }

    /// Whether a request is in progress.
    var isBusy: Bool { self.exchange?.isIdle == false }

    /// Cuts a tunnel if the configuration no longer has its caller, no longer accepts the caller's proof, or no longer
    /// allows the caller the tunnel's route. Other requests in progress end as they began; their callers authenticate
    /// again with the next request.
    func reload(_ gateway: Gateway) {
        guard self.isTunnelling, let exchange = self.exchange, let match = exchange.match else { return }
        if !gateway.stillServes(exchange.unverified, by: match) { self.closeNow() }
    }

    /// Ends a connection or request that has been waited for too long.
    func sweep() {
        guard let exchange = self.exchange else { return }
        let now = self.loop.coarseNow
        let limits = self.loop.callerTimeouts
        switch self.state {
        case .handshaking:
            guard now.duration(since: self.waitingSince) > limits.handshake else { break }
            self.state = .closed
            self.loop.handshakeFailed(.timedOut)
            self.closeNow()
        case .open where exchange.isIdle:
            // It is the gateway that is late.
            guard !self.awaitsTurn else { break }
            let isHeadComing = self.isWritable && self.reader.hasBegun
            if now.duration(since: self.waitingSince) > (isHeadComing ? limits.head : limits.idle) {
                if isHeadComing { exchange.headIsOverdue() } else { self.closeNow() }
            } else if self.loop.isDraining {
                self.drain()
            }
        case .open, .tunnelling:
            exchange.sweep()
        case .ending(let ending):
            if ending.isOver(at: now, unread: limits.idle) { self.closeNow() }
        case .closed: break
        }
    }

    /// Closes a connection without a request while the gateway stops: now, or when none has come for ``keptTime``.
    func drain() {
        guard case .open = self.state, self.exchange?.isIdle == true, !self.reader.hasBegun,
            self.loop.coarseNow.duration(since: self.waitingSince) > Self.keptTime
        else { return }
        self.close(lingering: false)
    }

    /// Ends the connection in any state. A tunnel or a response that is not out is reset, since nothing else shows that
    /// it was cut.
    func closeNow() {
        switch self.state {
        case .tunnelling: self.reset()
        case .open where self.exchange?.isIdle == false: self.reset()
        case .ending(let ending) where !ending.isResponseOut: self.reset()
        case .handshaking, .open, .ending, .closed: self.context?.close(promise: nil)
        }
    }
}
