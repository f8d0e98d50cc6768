import HTTPWire
package import Logging
import NIOCore
import NIOPosix
import Synchronization
package import SystemSupport
package import Telemetry
package import TokenModel

/// The data path as a whole: its event loops, their listening sockets, and their queries to the ``CredentialSource``.
///
/// Call ``bind()`` first, so that a busy port is known before anything else starts; then ``run()`` until
/// ``shutDown(grace:)``.
package final class ProxyServer: Sendable {
    /// The configuration at the start. Its listeners stay after a reload.
    let plan: ProxyConfiguration
    private let credentials: any CredentialSource
    private let group: MultiThreadedEventLoopGroup
    let loops: [NIOLoopBound<GatewayLoop>]
    private let credentialQueries:
        (stream: AsyncStream<CredentialQuery>, continuation: AsyncStream<CredentialQuery>.Continuation)
    /// Has response caches freed of what can't be used any more.
    let cacheCleaning = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    private let listeners = Mutex<[any Channel]>([])
    let socketFiles = Mutex<[UnixSocketFile]>([])
    /// Whether the event loops still take tasks. The lock is held while a task is submitted.
    private let takesTasks = Mutex(true)
    private let isShuttingDown = Atomic(false)
    let limits: SharedLimits
    /// What the loops use, or have been told to use.
    let running: CurrentSnapshot
    /// The loops' counts when they were last asked. After the loops' end these are all that remain.
    private let lastTraffic: Mutex<TrafficCounts>

    /// - Parameters:
    ///   - accessLog: gets a line per request; `nil` writes none.
    ///   - logger: gets what the access log can't say; without it nothing is logged.
    ///   - isLocked: starts as after ``lock()``.
    ///   - isFrozen: the loops' coarse time stands still, but for ``pass(_:)``.
    package init(
        _ plan: ProxyConfiguration,
        credentials: any CredentialSource,
        accessLog: LogWriter? = nil,
        logger: Logger = Logger(label: "martlet.proxy") { _ in SwiftLogNoOpLogHandler() },
        isLocked: Bool = false,
        isFrozen: Bool = false
    ) async {
        self.plan = plan
        self.credentials = credentials
        let group = MultiThreadedEventLoopGroup(numberOfThreads: plan.eventLoops)
        self.group = group
        let credentialQueries = AsyncStream<CredentialQuery>.makeStream()
        self.credentialQueries = credentialQueries
        var locked = CredentialTable()
        if isLocked { locked.lock() }
        let tables = RoutingSnapshot(plan, hosts: plan.hostFields, credentials: locked, accessLog: accessLog)
        let running = CurrentSnapshot(tables)
        self.running = running
        let limits = SharedLimits(plan)
        self.limits = limits
        self.lastTraffic = Mutex(TrafficCounts(routes: plan.routes.count))
        var loops: [NIOLoopBound<GatewayLoop>] = []
        for eventLoop in group.makeIterator() {
            let loop = eventLoop.submit {
                let loop = GatewayLoop(
                    eventLoop: eventLoop,
                    tables: tables,
                    credentialTimeout: plan.credentialTimeout,
                    limits: limits,
                    logger: logger,
                    credentials: credentials,
                    running: running,
                    credentialQueries: credentialQueries.continuation
                )
                if !isFrozen { loop.start() }
                return NIOLoopBound(loop, eventLoop: eventLoop)
            }
            // Submitting to a running loop does not fail.
            if let loop = try? await loop.get() { loops.append(loop) }
        }
        self.loops = loops
    }

    /// Opens the listening sockets: one per network address and event loop, one per Unix socket.
    ///
    /// - Parameter claim: whether an older gateway may still listen there. The sockets are shared in any case, so that
    ///   a later gateway can take over.
    /// - Returns: the addresses, with the ports that were chosen where 0 was asked for.
    package func bind(_ claim: PortClaim = .first) async throws(ProxyError) -> [ProxyConfiguration.Address] {
        var bound: [ProxyConfiguration.Address] = []
        for listener in self.plan.listeners {
            let address = listener.address
            do {
                switch address {
                case .network(let host, let port): bound.append(try await self.bind(host, port, listener.tls, claim))
                case .unix(let path): bound.append(try await self.bind(path, claim))
                }
            } catch {
                await self.closeListeners()
                if let error = error as? SocketFileError { throw ProxyError(error) }
                throw error as? ProxyError ?? ProxyError(listeningOn: address, ListenFault(error), beside: bound)
            }
        }
        return bound
    }

    private func bind(
        _ host: String,
        _ port: Int,
        _ tls: CallerTLS?,
        _ claim: PortClaim
    ) async throws -> ProxyConfiguration.Address {
        try await claim.look(at: host, port, on: self.group)
        var port = port
        for loop in self.loops {
            let listener = try await self.listener(on: loop, tls).bind(host: host, port: port).get()
            self.listeners.withLock { $0.append(listener) }
            port = listener.localAddress?.port ?? port
        }
        return ProxyConfiguration.Address(host: host, port: port)
    }

    /// Opens one socket that listens and hands connections to the loops in turn.
    ///
    /// Without caller keys only this user may connect: nothing else would authenticate the caller.
    private func bind(_ path: String, _ claim: PortClaim) async throws -> ProxyConfiguration.Address {
        let (file, socket) = try UnixSocketFile.bind(
            path,
            mode: self.plan.unixSocketMode,
            replacing: claim == .successor
        )
        self.socketFiles.withLock { $0.append(file) }
        let loops = self.loops
        let listener = try await ServerBootstrap(group: self.group)
            .serverChannelOption(.backlog, value: 4_096)
            .serverChannelOption(.autoRead, value: false)
            .serverChannelInitializer { listener in
                Admission.pausesWhenExhausted(listener).flatMap { AcceptDrain.begin(on: listener) }
            }
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelOption(.writeBufferWaterMark, value: GatewayLoop.waterMark)
            .childChannelInitializer { channel in
                channel.peerIdentity().flatMapThrowing { peer in
                    guard let loop = loops.first(where: { $0.eventLoop === channel.eventLoop }) else {
                        throw ChannelError.inappropriateOperationForState
                    }
                    try loop.value.admit(channel, speaksTLS: false) {
                        let handler = HTTP1Downstream(loop: loop.value, isOnUnixSocket: true, peer: peer)
                        try channel.pipeline.syncOperations.addHandler(handler)
                    }
                }
            }
            .withBoundSocket(socket).get()
        try await AcceptDrain.end(on: listener)
        try await listener.setOption(.autoRead, value: true).get()
        self.listeners.withLock { $0.append(listener) }
        return .unix(path: path)
    }

    private func listener(on loop: NIOLoopBound<GatewayLoop>, _ tls: CallerTLS?) -> ServerBootstrap {
        ServerBootstrap(group: loop.eventLoop)
            .serverChannelOption(.backlog, value: 4_096)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelOption(.socketOption(.reusePort), value: 1)
            .serverChannelInitializer(Admission.pausesWhenExhausted)
            .childChannelOption(.socketOption(.so_keepalive), value: 1)
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelOption(.writeBufferWaterMark, value: GatewayLoop.waterMark)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try loop.value.admit(channel, speaksTLS: tls != nil) {
                        let pipeline = channel.pipeline.syncOperations
                        if let tls {
                            try pipeline.addHandler(SocketFastPathHandler())
                            try pipeline.addHandler(ProtocolGate { loop.value.handshakeFailed(.noProtocol) })
                            try pipeline.addHandler(tls.handler())
                        }
                        try pipeline.addHandler(
                            HTTP1Downstream(loop: loop.value, isOnUnixSocket: false, isEncrypted: tls != nil)
                        )
                    }
                }
            }
    }

    /// Forwards the loops' credential queries until ``shutDown(grace:)``.
    package func run() async {
        await withDiscardingTaskGroup { tasks in
            tasks.addTask { await self.runCacheCleaning() }
            for await request in self.credentialQueries.stream {
                tasks.addTask {
                    let result: Result<UpstreamCredential, CredentialError>
                    do throws(CredentialError) {
                        result = .success(
                            try await self.credentials.credential(for: request.account, refused: request.refused)
                        )
                    } catch {
                        result = .failure(error)
                    }
                    self.ifLoopsRun { request.resume(result) }
                }
            }
        }
    }

    /// Lets coarse time pass at once, for tests of what takes time.
    package func pass(_ time: Duration) async {
        for _ in 0..<Int(time / CoarseTime.period) {
            for loop in self.loops { try? await loop.eventLoop.submit { loop.value.sweep() }.get() }
        }
    }

    /// Passes the event about an account's credential to all loops, in order.
    package func apply(_ event: CredentialEvent) {
        self.ifLoopsRun {
            let hasEnded = self.running.withLock { $0.credentials.apply(event) }
            for loop in self.loops {
                loop.eventLoop.execute {
                    loop.value.apply(event)
                    // Not earlier: until then the loop may store what is dead already.
                    if hasEnded { self.cleansCaches() }
                }
            }
        }
    }

    /// The sum of all loops' counts so far, and of their connections now.
    package func traffic() async -> TrafficCounts {
        var answers: [EventLoopFuture<TrafficCounts>] = []
        self.ifLoopsRun {
            answers = self.loops.map { loop in loop.eventLoop.submit { loop.value.traffic } }
        }
        var sum = TrafficCounts(routes: 0)
        var isWhole = !answers.isEmpty
        for answer in answers {
            // This fails where the loop has ended in the meantime.
            if let counts = try? await answer.get() { sum.add(counts) } else { isWhole = false }
        }
        return self.lastTraffic.withLock { last in
            if isWhole { last = sum }
            return last
        }
    }

    /// Requests in progress now, over all loops.
    package func requestCount() async -> Int {
        var answers: [EventLoopFuture<Int>] = []
        self.ifLoopsRun {
            answers = self.loops.map { loop in loop.eventLoop.submit { loop.value.requestCount } }
        }
        var sum = 0
        // This fails where the loop has ended in the meantime.
        for answer in answers { sum += (try? await answer.get()) ?? 0 }
        return sum
    }

    /// Whether connections are accepted: from ``bind()`` until ``shutDown(grace:)``.
    package var isBound: Bool {
        !self.isShuttingDown.load(ordering: .relaxed) && self.listeners.withLock { !$0.isEmpty }
    }

    /// Whether the gateway accepts no more connections and ends after its last requests.
    package var isStopping: Bool { self.isShuttingDown.load(ordering: .relaxed) }

    /// Requests that wait for credentials now.
    package var waiterCount: Int { self.limits.waiters.taken }

    /// Bytes of request bodies that are kept now, to be sent or replayed.
    package var keptBytes: Int { self.limits.replayMemory.taken }

    /// Runs `give` only while the loops take tasks: the ``CredentialSource`` may outlive the loops.
    func ifLoopsRun(_ give: () -> Void) {
        self.takesTasks.withLock { takesTasks in
            if takesTasks { give() }
        }
    }

    /// Accepts no new connections, lets requests in progress end within `grace`, then closes everything. A second call
    /// does nothing and returns `true`.
    ///
    /// - Returns: whether all requests had ended.
    package func shutDown(grace: Duration) async -> Bool {
        guard !self.isShuttingDown.exchange(true, ordering: .relaxed) else { return true }
        await self.closeListeners()
        let drained = await withTaskGroup(of: Bool.self) { tasks in
            tasks.addTask {
                let drains = self.loops.map { loop in loop.eventLoop.flatSubmit { loop.value.drain() } }
                for drain in drains { try? await drain.get() }
                return true
            }
            tasks.addTask {
                try? await Task.sleep(for: grace)
                return false
            }
            let first = await tasks.next() ?? false
            tasks.cancelAll()
            // Stop the loops only now: the requests that this ends must not count as ended by themselves.
            for loop in self.loops { loop.eventLoop.execute { loop.value.stop() } }
            return first
        }
        self.credentialQueries.continuation.finish()
        self.cacheCleaning.continuation.finish()
        _ = await self.traffic()
        self.takesTasks.withLock { $0 = false }
        try? await self.group.shutdownGracefully()
        return drained
    }

    private func closeListeners() async {
        let files = self.socketFiles.withLock { files in
            defer { files = [] }
            return files
        }
        for file in files { file.remove() }
        let listeners = self.listeners.withLock { listeners in
            defer { listeners = [] }
            return listeners
        }
        for listener in listeners { await ListenerClosing.close(listener) }
    }
}
