import CShims
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
    let credentialTimeout: Duration
    var approvalWait: Duration
    let meter: LoopMeter
    private let logger: Logger
    let credentials: any CredentialSource
    let credentialQueries: AsyncStream<CredentialQuery>.Continuation
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
    /// What heads may hold that are still coming, in bytes.
    private var headMemory: Int
    private var headBytes = 0
    private var hasRefusedHeads = false
    private(set) var callers: [HTTP1Downstream] = []
    /// What response caches ask on their own behalf.
    private(set) var revalidations: [Revalidation] = []
    private static let mostRevalidations = 64
    /// Connections over the limit, until they are closed.
    var turnedAway: [OverloadResponder] = []
    var waiting = Waiters<(exchange: Exchange, requestID: UInt64)>()
    /// How often the loop was locked. An answer to a query from before the last lock is none.
    var lockCount = 0
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
        self.headMemory = tables.headMemory
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
        self.releaseHeads()
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

    func flushAll() {
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
        self.headMemory = running.headMemory
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

    /// Notes how much more the unfinished heads hold. Beyond the limit the largest one is refused, a stranger's first.
    func headsGrow(by bytes: Int) {
        self.headBytes += bytes
        while bytes > 0, self.headBytes > self.headMemory,
            let largest = self.callers.max(by: { $0.headWeight < $1.headWeight }), largest.headBytes > 0
        {
            self.hasRefusedHeads = true
            largest.refuseHead()
            guard largest.headBytes == 0 else { break }
        }
    }

    /// Gives the memory of refused heads back to the system.
    private func releaseHeads() {
        guard self.hasRefusedHeads, self.headBytes < self.headMemory / 4 else { return }
        self.hasRefusedHeads = false
        Task.detached { martlet_release_freed() }
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
