import HTTPWire
import Logging
import NIOCore
import Telemetry
import TokenModel

/// One event loop's part of the gateway: its tables, its callers, its upstream connections, and the requests that wait
/// for a credential. A request stays on its loop; only its query for a credential leaves it.
final class GatewayLoop {
    /// When more than 16 KiB wait to be written to one peer, reads from the other peer stop.
    static let waterMark = ChannelOptions.Types.WriteBufferWaterMark(low: 8 << 10, high: 16 << 10)

    let eventLoop: any EventLoop
    private(set) var headLimits: HeadLimits
    private(set) var callerTimeouts: CallerTimeouts
    private let credentialTimeout: Duration
    private var approvalWait: Duration
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
    /// Reusable memory for request and response heads. The kernel has most heads when the next tick begins, so the
    /// heads of that tick reuse their memory.
    var requestHeads = SpareBuffers()
    var responseHeads = SpareBuffers()
    var isDraining: Bool { self.state.isDraining }
    let readShare = ReadShare()
    let turns: TurnQueue
    private(set) var callers: [HTTP1Downstream] = []
    /// What response caches ask on their own behalf.
    private(set) var revalidations: [Revalidation] = []
    private static let mostRevalidations = 64
    /// Connections over the limit, until they are closed.
    var turnedAway: [OverloadResponder] = []
    private var waiting = Waiters<(exchange: Exchange, requestID: UInt64)>()
    /// How often the loop was locked. An answer to a query from before the last lock is none.
    private var lockCount = 0
    /// Exchanges whose output is flushed at the end of this tick.
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
        running: CurrentSnapshot,
        credentialQueries: AsyncStream<CredentialQuery>.Continuation
    ) {
        self.eventLoop = eventLoop
        self.turns = TurnQueue(on: eventLoop)
        self.headLimits = tables.headLimits
        self.callerTimeouts = tables.callerTimeouts
        self.credentialTimeout = credentialTimeout
        self.approvalWait = tables.approvalWait
        self.meter = LoopMeter(routes: tables.table.names, log: tables.accessLog)
        self.limits = limits
        self.logger = logger
        self.credentials = credentials
        self.credentialQueries = credentialQueries
        self.gateway = Gateway(tables.table, callers: tables.callers) { account in
            credentials.knows(account) ? running.standing(of: account) : nil
        }
        if tables.credentials.isLocked { self.gateway.lock() }
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

    func sweep() {
        self.state.advance()
        // Ending an exchange may close its connection, which changes the list.
        for caller in Array(self.callers) { caller.sweep() }
        for revalidation in Array(self.revalidations) { revalidation.exchange?.sweep() }
        if self.gateway.isLeaseOver { self.severUnsent() }
        // Requests that were left to finish have ended since.
        if self.gateway.isLocked { self.closeIdle() }
        for connection in self.turnedAway { connection.sweep() }
        for pool in self.pools { pool.sweep() }
        // Another loop may need the connections that this loop can spare.
        while self.limits.upstreams.isOver, self.closeIdlest() {}
        if self.limits.upstreams.isOver { self.dropUnwanted() }
        self.gateway.clearUnused { self.slotUsers }
        self.meter.handOn()
    }

    /// Calls ``Exchange/flush()`` after all reads of this tick.
    func flushSoon(_ exchange: Exchange) {
        if self.unflushed.isEmpty {
            let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
            // An event loop runs tasks after the reads of a tick and before it sleeps.
            self.eventLoop.execute { bound.value.flushAll() }
        }
        self.unflushed.append(exchange)
    }

    private func flushAll() {
        // A flush can end a connection, which can write to other connections. Those are appended to the list meanwhile.
        var index = 0
        while index < self.unflushed.count {
            let exchange = self.unflushed[index]
            exchange.isFlushDue = false
            exchange.flush()
            index += 1
        }
        self.unflushed.removeAll(keepingCapacity: true)
    }

    /// The `Date` line for the head of a local reply.
    var dateLine: ByteBuffer { self.date.bytes(at: Timepiece.system.now.wall) }

    /// Chooses the size of each read from a caller or an upstream.
    var readBuffers: SharedReadBuffers { SharedReadBuffers(self.readShare) }

    /// Requests in progress now. A tunnel counts as one.
    var requestCount: Int { self.callers.count { $0.isBusy } }

    /// Makes room for an upstream connection by closing the one that has been idle for the longest. If all are in use,
    /// drops the connections being made that no request waits for any more.
    func makeRoom() {
        if !self.closeIdlest() { self.dropUnwanted() }
    }

    /// - Returns: whether there was an idle connection.
    private func closeIdlest() -> Bool {
        let idlest = self.pools.lazy.compactMap(\.idlest)
            .max { self.coarseNow.duration(since: $0.idleSince) < self.coarseNow.duration(since: $1.idleSince) }
        idlest?.close()
        return idlest != nil
    }

    /// Closes the upstream connections that no request uses: their buffers have held tokens.
    func closeIdle() {
        for pool in self.pools { pool.closeIdle() }
    }

    private func dropUnwanted() {
        for pool in self.pools { pool.dropUnwanted() }
    }

    /// What this loop has counted so far, and its connections now.
    var traffic: TrafficCounts {
        var counts = self.meter.counts
        counts.downstreamConnections = self.callers.count
        counts.upstreamConnections = self.pools.reduce(self.callers.count { $0.isTunnelling }) { $0 + $1.count }
        return counts
    }
}

// MARK: - Reloading the configuration

extension GatewayLoop {
    /// Uses another configuration from the next request on. Requests in progress keep the route that they began with.
    func reload(_ running: RoutingSnapshot) {
        self.gateway.reload(running.table, callers: running.callers, credentials: running.credentials)
        self.addPools(running.table.pools.dropFirst(self.pools.count))
        for (pool, isInUse) in zip(self.pools, running.table.poolsInUse) { pool.isInUse = isInUse }
        self.headLimits = running.headLimits
        self.callerTimeouts = running.callerTimeouts
        self.approvalWait = running.approvalWait
        self.meter.reload(routes: running.table.names, log: running.accessLog)
        // A caller whose tunnel is cut leaves the list.
        for caller in Array(self.callers) { caller.reload(self.gateway) }
    }
}

extension GatewayLoop {
    /// Retires the connections to upstreams whose trust roots or client certificate have changed: connections made
    /// before now serve no further request.
    func renew(_ upstreams: Set<UpstreamTLS>) {
        for pool in self.pools where pool.isSecured(byAnyOf: upstreams) { pool.renew() }
    }
}

// MARK: - Credentials

extension GatewayLoop {
    func apply(_ event: CredentialEvent) {
        // A process that learns that a credential was dropped must not see its token sent afterwards.
        if case .dropped = event { self.flushAll() }
        self.gateway.apply(event)
    }

    /// Calls `exchange` back with a credential for a slot's account, or with the reason why there is none.
    func requestCredential(for exchange: Exchange, slot: Int, refused: TokenVersion?) {
        guard !self.gateway.isLocked else { return exchange.credentialRefused(.locked) }
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

    /// How long a request may wait for a credential of a slot's account.
    func credentialTimeout(slot: Int) -> Duration {
        self.gateway.slots[slot].requiresApproval ? self.credentialTimeout + self.approvalWait : self.credentialTimeout
    }

    /// Forgets waiters, who get their replies elsewhere. Do this before the replies: their callers may send the next
    /// request at once.
    ///
    /// - Parameter keys: what they wait for.
    func forgetWaiters(_ keys: (WaiterKey) -> Bool) { self.waiting.forget(keys) }

    /// Forgets all waiters, and all queries that are under way.
    func forgetQueries() {
        self.lockCount += 1
        self.forgetWaiters { _ in true }
    }

    /// Gives back the place of a request that ended while it waited for a credential.
    func stopsWaiting(_ exchange: Exchange) {
        guard let key = exchange.wait.take() else { return }
        self.limits.waiters.leave()
        self.waiting.left(key) { $0.exchange.requestID == $0.requestID && $0.exchange.wait == key }
    }

    /// A request carries the slot's current token.
    func used(_ token: TokenVersion, slot: Int) {
        guard self.gateway.use(slot: slot) else { return }
        self.credentials.used(token, of: self.gateway.slots[slot].account)
    }

    /// An upstream accepted the token.
    func accepted(_ token: TokenVersion, slot: Int) {
        guard self.gateway.prove(token, slot: slot) else { return }
        self.credentials.accepted(token, of: self.gateway.slots[slot].account)
    }

    /// An upstream refused the token of a request that was replayed after a 401.
    func refusedAgain(_ token: TokenVersion, slot: Int) {
        self.credentials.refusedAgain(token, of: self.gateway.slots[slot].account)
    }

    /// Has a dead token replaced although no request waits for that.
    func refreshInBackground(slot: Int, refused: TokenVersion?) {
        guard let refused, let credential = self.gateway.slots[slot].credential, TokenVersion(credential) == refused
        else { return }
        let key = WaiterKey(slot: slot, refused: refused)
        if self.waiting.ask(key) { self.ask(key) }
    }

    private func ask(_ key: WaiterKey, lapses: Int = 0) {
        let bound = NIOLoopBound(self, eventLoop: self.eventLoop)
        let eventLoop = self.eventLoop
        let account = self.gateway.slots[key.slot].account
        let lockCount = self.lockCount
        self.credentialQueries.yield(
            CredentialQuery(account: account, refused: key.refused) { result in
                eventLoop.execute {
                    if bound.value.lockCount == lockCount { bound.value.answered(key, result, lapses: lapses) }
                }
            }
        )
    }

    /// How often a credential is asked for anew because the lease or the approval ended while it was on its way.
    private static let mostLapses = 3

    private func answered(
        _ key: WaiterKey,
        _ result: Result<UpstreamCredential, CredentialError>,
        lapses: Int
    ) {
        // Nobody waits for a slot that is gone.
        guard self.gateway.slots.contains(key.slot) else { return _ = self.waiting.empty(key) }
        if case .success = result, self.gateway.obstacle(slot: key.slot) != nil, lapses < Self.mostLapses {
            // The next response waits for the lease, or the approval.
            return self.ask(key, lapses: lapses + 1)
        }
        // Free the places before any exchange is called back: an exchange that ends then has no place to give back.
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

    /// Whether a response cache may ask on its own behalf now. Such requests use memory and connections that no caller
    /// waits for.
    var mayRevalidate: Bool { !self.isDraining && self.revalidations.count < Self.mostRevalidations }

    func opened(_ revalidation: Revalidation) {
        revalidation.index = self.revalidations.count
        self.revalidations.append(revalidation)
    }

    func closed(_ revalidation: Revalidation) {
        let last = self.revalidations.removeLast()
        if last !== revalidation {
            self.revalidations[revalidation.index] = last
            last.index = revalidation.index
        }
    }

    /// Logs that a route dropped cookies, once for each side.
    func dropped(_ side: CookieNotice.Side, on route: Route) {
        guard route.cookieNotice.isFirst(of: side) else { return }
        self.logger.warning(
            """
            cookies were dropped: a session would outlive a kill\
            \(route.cache == nil ? "; the route's cookies: true lets them pass" : ", and the route stores responses")
            """,
            metadata: [
                "route.name": "\(route.plan.name)", "http.field": side == .request ? "Cookie" : "Set-Cookie",
            ]
        )
    }

    func handshakeFailed(_ failure: HandshakeFailure) {
        self.logger.debug("a caller's TLS handshake failed", metadata: ["error.code": "\(failure.rawValue)"])
    }

    /// Takes no more requests. The future succeeds when the last caller's connection is closed.
    func drain() -> EventLoopFuture<Void> {
        let promise = self.drained ?? self.eventLoop.makePromise()
        self.drained = promise
        self.state.drain()
        for revalidation in Array(self.revalidations) { revalidation.stop() }
        for caller in Array(self.callers) { caller.drain() }
        for pool in self.pools { pool.closeIdle() }
        if self.callers.isEmpty { promise.succeed() }
        return promise.futureResult
    }

    /// Closes all remaining connections, and ends the sweep.
    func stop() {
        self.state.drain()
        for revalidation in Array(self.revalidations) { revalidation.stop() }
        for caller in Array(self.callers) { caller.closeNow() }
        for connection in self.turnedAway { connection.close() }
        for pool in self.pools { pool.closeIdle() }
        self.sweeping?.cancel()
        self.meter.close()
        self.drained?.succeed()
    }
}
