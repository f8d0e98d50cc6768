import NIOCore
import TokenModel

/// The connections of one event loop to one upstream: last in, first out, bounded in number.
///
/// A request that finds no idle connection begins to make one, where there may be another. It does not wait for that
/// one: whichever connection is free first goes to the request that has waited longest. A connection that can't be made
/// fails its request only if no other one is being made that no request needs any more.
final class UpstreamPool {
    private let origin: UpstreamOrigin
    private let dialer: UpstreamDialer
    unowned let loop: GatewayLoop
    private let state: LoopStatus
    private var idle: [HTTP1Upstream] = []
    /// The number of connections that have joined and are not gone, and of those being dialled.
    private(set) var count = 0
    /// Requests that wait for a connection, whether one is being made for them or not. Each caller connection has at
    /// most one request, so the limit on caller connections also bounds this queue. The next sweep removes the requests
    /// that no longer wait.
    private var waiting = CircularBuffer<Place>()
    /// ``serveWaiting()`` is running.
    private var isServing = false
    private let memory: OriginMemory
    private var dials: [UpstreamDial] = []
    /// The generation of the certificates. A connection of an older generation is not used again.
    private var configGeneration = 0
    /// A route uses this pool. While none does, connections close as soon as they are free.
    var isInUse = true {
        didSet { if !self.isInUse { self.closeIdle() } }
    }

    /// A request's place in the queue.
    final class Place {
        let exchange: Exchange
        let requestID: UInt64
        /// It was sent on a connection that turned out to be stale, and gets none that was idle.
        let isFresh: Bool
        /// A connection is being made for it.
        var isDialled = false
        /// It was given a connection. The request may wait once more, for another attempt, and then has another place.
        var isServed = false

        init(_ exchange: Exchange, isFresh: Bool) {
            self.exchange = exchange
            self.isFresh = isFresh
            self.requestID = exchange.requestID
        }

        /// The request has a connection, was given up, or has timed out.
        var isLeft: Bool { self.isServed || !self.exchange.isConnecting(self.requestID) }

        func takes(_ upstream: HTTP1Upstream) -> Bool {
            !self.isLeft && !(self.isFresh && self.isDialled && upstream.isReused)
        }
    }

    /// - Parameter memory: the one that all pools of the same server share.
    init(_ origin: UpstreamOrigin, loop: GatewayLoop, memory: OriginMemory) {
        self.origin = origin
        self.memory = memory
        self.dialer = UpstreamDialer(origin, on: loop.eventLoop)
        self.loop = loop
        self.state = loop.state
    }

    var coarseNow: CoarseTime { self.state.coarseNow }
    var readBuffers: SharedReadBuffers { self.loop.readBuffers }

    /// The upstream speaks HTTP/1.0, and can't be sent chunks (RFC 9112 §6.1).
    var speaksHTTP10: Bool { self.memory.speaksHTTP10(at: self.coarseNow) }

    func responded(minorVersion: UInt8) {
        self.memory.responded(minorVersion: minorVersion, at: self.coarseNow)
    }

    /// The upstream may be asked before a large body is sent with `token`, which belongs to a slot.
    func mayExpect(_ token: TokenVersion, slot: Int) -> Bool {
        !self.speaksHTTP10 && self.memory.expectations.mayExpect(token, slot: slot, at: self.coarseNow)
    }

    /// When the upstream was asked, it returned 417, did not respond at all, or closed the connection.
    func refusedExpectation() {
        self.memory.expectations.refused(at: self.coarseNow)
    }

    /// The upstream has responded to a request with that token, and did not reject the token.
    func took(_ token: TokenVersion, slot: Int) {
        self.memory.expectations.took(token, slot: slot, at: self.coarseNow)
    }

    /// The upstream has rejected that token.
    func refused(_ token: TokenVersion, slot: Int) {
        self.memory.expectations.forget(token, slot: slot)
    }

    /// Gives `exchange` a connection through ``Exchange/connected(_:)``: now, if an idle one is there.
    ///
    /// - Parameter fresh: use no idle connection, because the last one that was tried was stale.
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
        let place = Place(exchange, isFresh: fresh)
        self.waiting.append(place)
        if self.count < self.origin.maxConnections { self.dial(for: place) }
    }

    /// Whether to check an idle connection for staleness before it is used.
    ///
    /// The end of an idle connection comes as an event, and in most cases has come before a request does: the selector
    /// reports both together. It is missed only when it arrives in the same turn of the loop as the request, behind it.
    /// That is a matter of microseconds, unless the loop has stood still while the upstream's idle timeout ran out. A
    /// request that can be sent again recovers from that. So the check, which costs a system call, is made only for
    /// requests that can't be sent again, and for connections that have been idle for a tick of the sweep. In a pool
    /// under load nothing is checked twice.
    private func mustLook(at upstream: HTTP1Upstream, for exchange: Exchange) -> Bool {
        upstream.idleSince != self.coarseNow || !exchange.canSurelyBeRepeated
    }

    private func dial(for place: Place) {
        self.count += 1
        place.isDialled = true
        place.exchange.dialling()
        let deadline = NIODeadline.now() + TimeAmount(self.origin.connectTimeout)
        let dial = UpstreamDial(
            for: place,
            until: deadline,
            configGeneration: self.configGeneration,
            counting: self.loop.limits.upstreams
        )
        self.dials.append(dial)
        let bound = NIOLoopBound((pool: self, dial: dial), eventLoop: self.loop.eventLoop)
        let dialled = self.dialer.dial(until: deadline) { channel in
            let (pool, dial) = bound.value
            // Idle connections are a convenience: they are closed before a request is refused.
            if !dial.isGivenUp, pool.loop.limits.upstreams.isFull { pool.loop.makeRoom() }
            // Making room may have given up this dial itself.
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
        if !self.serve(upstream) { upstream.release() }
        guard !place.isLeft, !self.findOther(for: place) else { return }
        // A request that had waited longer, and for which none was being made, has the connection.
        place.isDialled = false
        self.serveWaiting()
    }

    private func dialFailed(_ error: any Error, _ dial: UpstreamDial) {
        dial.giveUp()
        self.count -= 1
        let place = dial.place
        // Closing unused connections frees what the next dial may need.
        if error.isExhaustion { self.loop.makeRoom() }
        if !place.isLeft, dial.isOverdue || !self.findOther(for: place) {
            place.exchange.connectFailed(GatewayError(dialling: error))
        }
        self.serveWaiting()
    }

    /// Lets a request that still waits have the connection that was begun for another one, which needs it no more.
    ///
    /// - Returns: whether there is one.
    private func findOther(for place: Place) -> Bool {
        guard !place.isLeft, let other = self.dials.first(where: { $0.place.isLeft && !$0.isGivenUp }) else {
            return false
        }
        other.place = place
        return true
    }

    /// Gives a free connection to the request that has waited longest.
    ///
    /// - Returns: whether one takes it.
    private func serve(_ upstream: HTTP1Upstream) -> Bool {
        while self.waiting.first?.isLeft == true { self.waiting.removeFirst() }
        while let index = self.waiting.firstIndex(where: { $0.takes(upstream) }) {
            let place = self.waiting.remove(at: index)
            place.isServed = true
            let isTaken = place.exchange.connected(.http1(upstream))
            place.exchange.flush()
            if isTaken { return true }
        }
        return false
    }

    /// Gives a free connection to the request that has waited longest, or makes it idle.
    func released(_ upstream: HTTP1Upstream) {
        if upstream.configGeneration != self.configGeneration || upstream.isOld { return upstream.close() }
        // The connection's end, or something unasked, may follow right behind the response that was just read.
        if self.waiting.contains(where: { !$0.isLeft }), upstream.isStale { return upstream.close() }
        if self.serve(upstream) { return }
        if self.state.isDraining || !self.isInUse { return upstream.close() }
        self.idle.append(upstream)
    }

    /// How long a new connection may serve requests: not all that were made together end together.
    func drawAge() -> Duration { self.origin.connectionAge * Double.random(in: 0.9...1.1) }

    /// Called once by each connection that has joined, when it is gone.
    func closed(_ upstream: HTTP1Upstream) {
        self.count -= 1
        self.idle.removeAll { $0 === upstream }
        self.serveWaiting()
    }

    private func serveWaiting() {
        // A dial that fails at once calls this function again, and would do so for each waiting request.
        guard !self.isServing else { return }
        self.isServing = true
        defer { self.isServing = false }
        while self.count < self.origin.maxConnections,
            let place = self.waiting.first(where: { !$0.isDialled && !$0.isLeft })
        {
            self.dial(for: place)
        }
    }

    /// Called by the loop's sweep.
    func sweep() {
        // Otherwise, requests that no longer wait would stay until a connection becomes free, which may take long.
        if !self.waiting.isEmpty { self.waiting.removeAll { $0.isLeft } }
        for upstream in self.idle
        where upstream.isOld || self.coarseNow.duration(since: upstream.idleSince) > upstream.idleTime {
            upstream.close()
        }
    }

    /// Gives up dials that no request waits for any more. As a rule such dials are completed, since the caller may come
    /// back.
    func dropUnwanted() {
        for dial in self.dials where dial.place.isLeft && !dial.isGivenUp { dial.giveUp() }
    }

    func isSecured(byAnyOf upstreams: Set<UpstreamTLS>) -> Bool { self.origin.tls.map(upstreams.contains) ?? false }

    /// Takes all present connections out of use: they serve no further request.
    func renew() {
        self.configGeneration += 1
        self.closeIdle()
    }

    /// The connection that has been idle for the longest time.
    var idlest: HTTP1Upstream? { self.idle.first }

    func closeIdle() {
        for upstream in self.idle { upstream.close() }
    }

    /// Resets idle connections with unsent bytes, which belong to a request whose response came early.
    func severUnsent() {
        for upstream in self.idle where upstream.unsent > 0 { upstream.sever() }
    }
}

extension TimeAmount {
    init(_ duration: Duration) {
        self = .nanoseconds(duration.clampedNanoseconds)
    }
}
