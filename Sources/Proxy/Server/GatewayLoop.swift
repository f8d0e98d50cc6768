import HTTPWire
import Logging
import NIOCore
import Telemetry
import TokenModel

/// What one event loop owns of the gateway: its tables, its callers, its upstream connections, and who waits for a credential.
/// Nothing of a request leaves it, but the question for a credential.
final class GatewayLoop {
    /// A peer that leaves more than 16 KiB untaken stops the reads on the other side.
    static let waterMark = ChannelOptions.Types.WriteBufferWaterMark(low: 8 << 10, high: 16 << 10)

    let eventLoop: any EventLoop
    private(set) var headLimits: HeadLimits
    private(set) var callerTimeouts: CallerTimeouts
    let credentialTimeout: Duration
    let meter: LoopMeter
    private let logger: Logger
    private let credentials: any CredentialSource
    private let credentialQueries: AsyncStream<CredentialQuery>.Continuation
    let limits: SharedLimits

    let gateway: Gateway
    private(set) var pools: [UpstreamPool] = []
    private var memories: [UpstreamOrigin.Server: OriginMemory] = [:]
    private var date = DateLine()
    let state = LoopStatus()
    var coarseNow: CoarseTime { self.state.coarseNow }
    /// Where heads are written. Most are with the kernel when the next tick begins, whose heads take their memory.
    var requestHeads = SpareBuffers()
    var answerHeads = SpareBuffers()
    var isDraining: Bool { self.state.isDraining }
    let readShare = ReadShare()
    private var callers: [HTTP1Downstream] = []
    /// Connections there was no place for, until they are gone.
    var turnedAway: [OverloadResponder] = []
    private var waiting = Waiters<(exchange: Exchange, requestID: UInt64)>()
    /// Exchanges with something to flush at this tick's end.
    private var unflushed: [Exchange] = []
    private var sweeping: RepeatedTask?
    private var drained: EventLoopPromise<Void>?

    init(
        eventLoop: any EventLoop,
        tables: RoutingSnapshot,
        credentialTimeout: Duration,
        limits: SharedLimits,
        logger: Logger,
        credentials: any CredentialSource,
        credentialQueries: AsyncStream<CredentialQuery>.Continuation
    ) {
        self.eventLoop = eventLoop
        self.headLimits = tables.headLimits
        self.callerTimeouts = tables.callerTimeouts
        self.credentialTimeout = credentialTimeout
        self.meter = LoopMeter(routes: tables.table.names, log: tables.accessLog)
        self.limits = limits
        self.logger = logger
        self.credentials = credentials
        self.credentialQueries = credentialQueries
        self.gateway = Gateway(tables.table, callers: tables.callers)
        self.addPools(tables.table.pools)
    }

    private func addPools(_ origins: some Sequence<UpstreamOrigin>) {
        for origin in origins {
            let memory = self.memories[origin.server] ?? OriginMemory()
            self.memories[origin.server] = memory
            self.pools.append(UpstreamPool(origin, loop: self, memory: memory))
        }
    }

    func start() {
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        let period = TimeAmount(CoarseTime.period)
        self.sweeping = self.eventLoop.scheduleRepeatedTask(initialDelay: period, delay: period) { _ in
            bound.value.sweep()
        }
    }

    private func sweep() {
        self.state.advance()
        // An exchange that is ended may close its connection, which changes the list.
        for caller in Array(self.callers) { caller.sweep() }
        if self.gateway.isLeaseOver { self.severUnsent() }
        for connection in self.turnedAway { connection.sweep() }
        for pool in self.pools { pool.sweep() }
        // Another loop may need what this one has to spare.
        while self.limits.upstreams.isOver, self.closeIdlest() {}
        if self.limits.upstreams.isOver { self.dropUnwanted() }
        self.gateway.clearUnused { Set(self.callers.compactMap(\.slotInUse)) }
        self.meter.handOn()
    }

    /// Has an exchange's ``Exchange/flush()`` called when all that can be read now was.
    func flushSoon(_ exchange: Exchange) {
        if self.unflushed.isEmpty {
            let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
            // Tasks run behind a tick's reads, and before the loop sleeps.
            self.eventLoop.execute { bound.value.flushAll() }
        }
        self.unflushed.append(exchange)
    }

    private func flushAll() {
        // A flush can end a connection, and that write to others: they come to the end of the list.
        var index = 0
        while index < self.unflushed.count {
            let exchange = self.unflushed[index]
            exchange.isFlushDue = false
            exchange.flush()
            index += 1
        }
        self.unflushed.removeAll(keepingCapacity: true)
    }

    /// For the head of an answer of the gateway's own.
    var dateLine: ByteBuffer { self.date.bytes(at: Timepiece.system.now.wall) }

    /// What one read of a connection takes, of a caller or to an upstream.
    var readBuffers: SharedReadBuffers { SharedReadBuffers(self.readShare) }

    /// Requests under way now; a tunnel is one.
    var requestCount: Int { self.callers.count { $0.isBusy } }

    /// Makes room for an upstream connection: the one that nobody has used for the longest goes; or, where all are in use,
    /// those that are being made and nobody waits for any more.
    func makeRoom() {
        if !self.closeIdlest() { self.dropUnwanted() }
    }

    /// - Returns: whether there was one.
    private func closeIdlest() -> Bool {
        let idlest = self.pools.lazy.compactMap(\.idlest)
            .max { self.coarseNow.duration(since: $0.idleSince) < self.coarseNow.duration(since: $1.idleSince) }
        idlest?.close()
        return idlest != nil
    }

    private func dropUnwanted() {
        for pool in self.pools { pool.dropUnwanted() }
    }

    /// What was counted here so far, and the connections there are now.
    var traffic: TrafficCounts {
        var counts = self.meter.counts
        counts.downstreamConnections = self.callers.count
        counts.upstreamConnections = self.pools.reduce(self.callers.count { $0.isTunnelling }) { $0 + $1.count }
        return counts
    }
}

// MARK: - Reading the configuration again

extension GatewayLoop {
    /// Goes by another configuration from the next request on: those under way keep the route that they began with.
    func reload(_ running: RoutingSnapshot) {
        self.gateway.reload(running.table, callers: running.callers, credentials: running.credentials)
        self.addPools(running.table.pools.dropFirst(self.pools.count))
        for (pool, isInUse) in zip(self.pools, running.table.poolsInUse) { pool.isInUse = isInUse }
        self.headLimits = running.headLimits
        self.callerTimeouts = running.callerTimeouts
        self.meter.reload(routes: running.table.names, log: running.accessLog)
        // One that is cut leaves the list.
        for caller in Array(self.callers) { caller.reload(self.gateway) }
    }
}

extension GatewayLoop {
    /// Upstreams are asked for other certificates, or shown another, from now on: connections made before serve no
    /// further request.
    func renew(_ upstreams: Set<UpstreamTLS>) {
        for pool in self.pools where pool.isSecured(byAnyOf: upstreams) { pool.renew() }
    }
}

// MARK: - Passes

extension GatewayLoop {
    func apply(_ event: CredentialEvent) {
        // Whoever learns that a credential was taken away must not find its token written after that.
        if case .dropped = event { self.flushAll() }
        self.gateway.apply(event)
    }

    /// Has `exchange` called back with a credential for a slot's account, or with the reason why there is none.
    func requestCredential(for exchange: Exchange, slot: Int, refused: TokenVersion?) {
        if let refused, let credential = self.gateway.usableCredential(slot: slot), TokenVersion(credential) != refused
        {
            return exchange.credentialArrived(credential)
        }
        guard self.limits.waiters.enter() else {
            return exchange.credentialRefused(
                CredentialError(
                    .overloaded,
                    "too many requests wait for a token; see limits.waiters",
                    retryAfter: .seconds(1)
                )
            )
        }
        let key = WaiterKey(slot: slot, refused: refused)
        exchange.wait = key
        if self.waiting.enter((exchange, exchange.requestID), key) { self.ask(key) }
    }

    /// A request is over that still waits for a credential: its place is another's.
    func stopsWaiting(_ exchange: Exchange) {
        guard let key = exchange.wait.take() else { return }
        self.limits.waiters.leave()
        self.waiting.left(key) { $0.exchange.requestID == $0.requestID && $0.exchange.wait == key }
    }

    /// A request carries the token that is in the slot now.
    func used(_ token: TokenVersion, slot: Int) {
        guard self.gateway.use(slot: slot) else { return }
        self.credentials.used(token, of: self.gateway.slots[slot].account)
    }

    /// An upstream took the token.
    func accepted(_ token: TokenVersion, slot: Int) {
        guard self.gateway.prove(token, slot: slot) else { return }
        self.credentials.accepted(token, of: self.gateway.slots[slot].account)
    }

    /// An upstream refused the token of a request that was sent again after a 401.
    func refusedAgain(_ token: TokenVersion, slot: Int) {
        self.credentials.refusedAgain(token, of: self.gateway.slots[slot].account)
    }

    /// Has a dead token replaced although nobody waits for it.
    func refreshInBackground(slot: Int, refused: TokenVersion?) {
        guard let refused, let credential = self.gateway.slots[slot].credential, TokenVersion(credential) == refused
        else { return }
        let key = WaiterKey(slot: slot, refused: refused)
        if self.waiting.ask(key) { self.ask(key) }
    }

    private func ask(_ key: WaiterKey) {
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        let eventLoop = self.eventLoop
        let account = self.gateway.slots[key.slot].account
        self.credentialQueries.yield(
            CredentialQuery(account: account, refused: key.refused) { result in
                eventLoop.execute { bound.value.answered(key, result) }
            }
        )
    }

    private func answered(_ key: WaiterKey, _ result: Result<UpstreamCredential, CredentialError>) {
        // Before anyone is answered: whoever leaves then has no place to give back any more.
        let waiters = self.waiting.empty(key).filter { waiter in
            waiter.exchange.requestID == waiter.requestID && waiter.exchange.wait == key
        }
        for (exchange, _) in waiters { exchange.wait = nil }
        self.limits.waiters.leave(waiters.count)
        let result = result.flatMap { credential in
            self.gateway.refusal(of: credential).map { .failure($0) } ?? .success(credential)
        }
        for (exchange, requestID) in waiters where exchange.requestID == requestID {
            exchange.isReleased = true
            switch result {
            case .success(let credential): exchange.credentialArrived(credential)
            case .failure(let error): exchange.credentialRefused(error)
            }
        }
    }
}

// MARK: - The kill switch

extension GatewayLoop {
    /// As ``ProxyServer/fence(_:providers:)`` says, here and in this tick.
    func fence(_ epochs: KillEpochs, providers: [AccountID: ProviderID]) -> FencedExchanges {
        // First of all: what is answered or closed below makes room for others, whose heads may go at once.
        self.gateway.fence(epochs)
        let killed = Set(
            self.gateway.slots.indices.filter {
                self.gateway.isKilled(slot: $0, at: providers[self.gateway.slots[$0].account])
            }
        )
        // Before those who wait are answered: they may come back at once.
        self.waiting.forget { killed.contains($0.slot) }
        var fenced = FencedExchanges()
        // One that is ended may close its connection, which changes the list.
        for caller in Array(self.callers) { fenced += caller.fence(killed: killed) }
        for pool in self.pools { pool.severUnsent() }
        return fenced
    }

    func setLeaseDeadline(_ end: BootInstant) { self.gateway.leaseEnd = end }

    /// Each sweep while there is no lease: a sweep's time is far less than others wait beyond its end.
    private func severUnsent() {
        for caller in Array(self.callers) { caller.leaseEnded() }
        for pool in self.pools { pool.severUnsent() }
    }
}

// MARK: - Callers

extension GatewayLoop {
    func opened(_ caller: HTTP1Downstream) {
        caller.index = self.callers.count
        self.callers.append(caller)
    }

    func closed(_ caller: HTTP1Downstream) {
        let last = self.callers.removeLast()
        if last !== caller {
            self.callers[caller.index] = last
            last.index = caller.index
        }
        if self.callers.isEmpty { self.drained?.succeed() }
    }

    /// A route that does not pass cookies has dropped some.
    func dropped(_ side: CookieNotice.Side, on route: Route) {
        guard route.cookieNotice.isFirst(of: side) else { return }
        self.logger.warning(
            "cookies were dropped: a session would outlive a kill; the route's cookies: true lets them pass",
            metadata: [
                "route.name": "\(route.plan.name)", "http.field": side == .request ? "Cookie" : "Set-Cookie",
            ]
        )
    }

    func handshakeFailed(_ failure: HandshakeFailure) {
        self.logger.debug("a caller's TLS handshake failed", metadata: ["error.code": "\(failure.rawValue)"])
    }

    /// Takes no more requests; the future succeeds when the last caller is gone.
    func drain() -> EventLoopFuture<Void> {
        let promise = self.drained ?? self.eventLoop.makePromise()
        self.drained = promise
        self.state.drain()
        for caller in Array(self.callers) { caller.drain() }
        for pool in self.pools { pool.closeIdle() }
        if self.callers.isEmpty { promise.succeed() }
        return promise.futureResult
    }

    /// Ends what is left, and the sweep.
    func stop() {
        self.state.drain()
        for caller in Array(self.callers) { caller.closeNow() }
        for connection in self.turnedAway { connection.close() }
        for pool in self.pools { pool.closeIdle() }
        self.sweeping?.cancel()
        self.meter.close()
        self.drained?.succeed()
    }
}
