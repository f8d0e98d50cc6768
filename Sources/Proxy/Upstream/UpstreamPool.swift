import NIOCore
import TokenModel

/// The connections of one event loop to one upstream: last in, first out, bounded in number.
final class UpstreamPool {
    private let origin: UpstreamOrigin
    private let dialer: UpstreamDialer
    unowned let loop: GatewayLoop
    private let state: LoopStatus
    private var idle: [HTTP1Upstream] = []
    /// Connections that have joined and are not gone, and those being dialled.
    private(set) var count = 0
    /// Each caller's connection has one request at most, so that the limit on those is also one on this; those who left
    /// are gone with the next sweep.
    private var waiting = CircularBuffer<Place>()
    /// ``serveWaiting()`` is under way.
    private var isServing = false
    private let memory: OriginMemory
    private var dials: [UpstreamDial] = []
    /// Of certificates: a connection of an older one is not used again.
    private var configGeneration = 0
    /// A route goes here. Where none does any more, connections end as soon as they are free.
    var isInUse = true {
        didSet { if !self.isInUse { self.closeIdle() } }
    }

    /// A request's place in the queue.
    struct Place {
        let exchange: Exchange
        let requestID: UInt64

        /// It was given up, or its time was over.
        var isLeft: Bool { !self.exchange.isConnecting(self.requestID) }
    }

    /// - Parameter memory: that of all pools with this host and port.
    init(_ origin: UpstreamOrigin, loop: GatewayLoop, memory: OriginMemory) {
        self.origin = origin
        self.memory = memory
        self.dialer = UpstreamDialer(origin, on: loop.eventLoop)
        self.loop = loop
        self.state = loop.state
    }

    var coarseNow: CoarseTime { self.state.coarseNow }
    var readBuffers: SharedReadBuffers { self.loop.readBuffers }

    /// The upstream can't be sent chunks (RFC 9112 §6.1).
    var speaksHTTP10: Bool { self.memory.speaksHTTP10(at: self.coarseNow) }

    func responded(minorVersion: UInt8) {
        self.memory.responded(minorVersion: minorVersion, at: self.coarseNow)
    }

    /// The upstream may be asked before a large body is sent to it with `token`, a slot's.
    func mayExpect(_ token: TokenVersion, slot: Int) -> Bool {
        !self.speaksHTTP10 && self.memory.expectations.mayExpect(token, slot: slot, at: self.coarseNow)
    }

    /// The upstream has answered 417 when it was asked, or not at all, or has closed the connection.
    func refusedExpectation() {
        self.memory.expectations.refused(at: self.coarseNow)
    }

    /// The upstream has answered a request with that token otherwise than that it is dead.
    func took(_ token: TokenVersion, slot: Int) {
        self.memory.expectations.took(token, slot: slot, at: self.coarseNow)
    }

    /// The upstream calls that token dead.
    func refused(_ token: TokenVersion, slot: Int) {
        self.memory.expectations.forget(token, slot: slot)
    }

    /// Gives `exchange` a connection by ``Exchange/connected(_:)``, now if an idle one is there.
    ///
    /// - Parameter fresh: an idle one won't do: the last that was tried was stale.
    func acquire(for exchange: Exchange, fresh: Bool) {
        while !fresh, let upstream = self.idle.popLast() {
            guard upstream.isOpen else { continue }
            if self.mustLook(at: upstream, for: exchange), upstream.isStale {
                upstream.close()
                continue
            }
            if !exchange.connected(.http1(upstream)) { self.released(upstream) }
            return
        }
        guard self.count < self.origin.maxConnections else {
            self.waiting.append(Place(exchange: exchange, requestID: exchange.requestID))
            return
        }
        self.dial(for: Place(exchange: exchange, requestID: exchange.requestID))
    }

    /// The end of an idle connection comes as an event, and mostly has come before a request does: the selector reports
    /// both in one go. It can be missed only when it arrives in the same turn of the loop as the request, behind it. That
    /// is a matter of microseconds, unless the loop has stood still while the upstream's own idle time ran out, and a
    /// request that can be sent again mends it. So looking, which costs a system call, is for requests that can't, and for
    /// connections that have been idle for a tick of the sweep: in a pool under load nothing is looked at twice.
    private func mustLook(at upstream: HTTP1Upstream, for exchange: Exchange) -> Bool {
        upstream.idleSince != self.coarseNow || !exchange.canSurelyBeRepeated
    }

    private func dial(for place: Place) {
        self.count += 1
        place.exchange.dialling()
        let dial = UpstreamDial(
            for: place,
            configGeneration: self.configGeneration,
            counting: self.loop.limits.upstreams
        )
        self.dials.append(dial)
        let bound = NIOLoopBound((pool: self, dial: dial), eventLoop: self.loop.eventLoop)
        let dialled = self.dialer.dial { channel in
            let (pool, dial) = bound.value
            // Idle connections are a convenience; a request is never refused for their sake.
            if !dial.isGivenUp, pool.loop.limits.upstreams.isFull { pool.loop.makeRoom() }
            // It may have been in the way itself.
            if dial.isGivenUp { throw CancellationError() }
            dial.begin(channel)
        }
        dialled.assumeIsolated()
            .whenComplete { result in
                let (pool, dial) = bound.value
                pool.dials.removeAll { $0 === dial }
                switch result.flatMap({ channel in
                    Result { try channel.pipeline.syncOperations.handler(type: HTTP1Upstream.self) }
                }) {
                case .success(let upstream) where upstream.isOpen: pool.dialled(upstream, by: dial)
                case .success: pool.dialFailed(ChannelError.eof, dial)
                case .failure(let error): pool.dialFailed(error, dial)
                }
            }
    }

    private func dialled(_ upstream: HTTP1Upstream, by dial: UpstreamDial) {
        let place = dial.place
        guard dial.configGeneration == self.configGeneration else {
            upstream.close()
            dial.giveUp()
            self.count -= 1
            return place.isLeft ? self.serveWaiting() : self.dial(for: place)
        }
        upstream.join(self, by: dial)
        if !place.isLeft, place.exchange.connected(.http1(upstream)) {
            place.exchange.flush()
        } else {
            upstream.release()
        }
    }

    private func dialFailed(_ error: any Error, _ dial: UpstreamDial) {
        dial.giveUp()
        self.count -= 1
        let place = dial.place
        // What nobody uses is what the next one may need.
        if error.isExhaustion { self.loop.makeRoom() }
        if !place.isLeft { place.exchange.connectFailed(GatewayError(dialling: error)) }
        self.serveWaiting()
    }

    /// A connection is free: the longest waiting exchange gets it, or it becomes idle.
    func released(_ upstream: HTTP1Upstream) {
        if upstream.configGeneration != self.configGeneration { return upstream.close() }
        // Its end, or something unasked, may stand right behind the answer that was just read.
        if self.waiting.contains(where: { !$0.isLeft }), upstream.isStale { return upstream.close() }
        while let place = self.waiting.popFirst() {
            guard !place.isLeft else { continue }
            let isTaken = place.exchange.connected(.http1(upstream))
            place.exchange.flush()
            if isTaken { return }
        }
        if self.state.isDraining || !self.isInUse { return upstream.close() }
        self.idle.append(upstream)
    }

    /// Called by each connection that has joined, once, when it is gone.
    func closed(_ upstream: HTTP1Upstream) {
        self.count -= 1
        self.idle.removeAll { $0 === upstream }
        self.serveWaiting()
    }

    private func serveWaiting() {
        // A dial that fails at once comes back here, and would come back for each who waits.
        guard !self.isServing else { return }
        self.isServing = true
        defer { self.isServing = false }
        while self.count < self.origin.maxConnections, let place = self.waiting.popFirst() {
            guard !place.isLeft else { continue }
            self.dial(for: place)
        }
    }

    /// Called by the loop's sweep.
    func sweep() {
        // Those who left would be met only when a connection becomes free, and that may take long.
        if !self.waiting.isEmpty { self.waiting.removeAll { $0.isLeft } }
        for upstream in self.idle where self.coarseNow.duration(since: upstream.idleSince) > upstream.idleTime {
            upstream.close()
        }
    }

    /// Gives up connections that are being made and that nobody waits for any more. As a rule they are made, since whoever
    /// left may come back.
    func dropUnwanted() {
        for dial in self.dials where dial.place.isLeft && !dial.isGivenUp { dial.giveUp() }
    }

    func isSecured(byAnyOf upstreams: Set<UpstreamTLS>) -> Bool { self.origin.tls.map(upstreams.contains) ?? false }

    /// Connections made until now serve no further request.
    func renew() {
        self.configGeneration += 1
        self.closeIdle()
    }

    /// Of the connections that are idle, the one that has been so for the longest.
    var idlest: HTTP1Upstream? { self.idle.first }

    func closeIdle() {
        for upstream in self.idle { upstream.close() }
    }

    /// Ends idle connections that have not sent all of what they were given: of a request that was answered early.
    func severUnsent() {
        for upstream in self.idle where upstream.unsent > 0 { upstream.sever() }
    }
}

extension TimeAmount {
    init(_ duration: Duration) {
        self = .nanoseconds(duration.clampedNanoseconds)
    }
}
