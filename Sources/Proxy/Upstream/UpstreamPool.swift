import NIOCore
import NIOPosix
import TokenModel

/// The connections of one event loop to one upstream: last in, first out, bounded in number.
final class UpstreamPool {
    /// Connections unused for this long are closed.
    private static let idleTimeout = Duration.seconds(60)

    private let origin: UpstreamOrigin
    private unowned let loop: GatewayLoop
    private var idle: [UpstreamHandler] = []
    /// Open connections, in use or not, and those being dialled.
    private var count = 0
    private var waiting = CircularBuffer<(exchange: Exchange, serial: UInt64)>()

    init(_ origin: UpstreamOrigin, loop: GatewayLoop) {
        self.origin = origin
        self.loop = loop
    }

    var tick: Tick { self.loop.tick }

    /// Gives `exchange` a connection by ``Exchange/connected(_:)``, now if an idle one is there.
    ///
    /// - Parameter fresh: an idle one won't do: the last that was tried was stale.
    func acquire(for exchange: Exchange, fresh: Bool) {
        while !fresh, let upstream = self.idle.popLast() {
            guard upstream.isOpen else { continue }
            return exchange.connected(upstream)
        }
        guard self.count < self.origin.maxConnections else {
            self.waiting.append((exchange, exchange.serial))
            return
        }
        self.dial(for: exchange)
    }

    private func dial(for exchange: Exchange) {
        self.count += 1
        let serial = exchange.serial
        let loop = self.loop.eventLoop
        let bound = NIOLoopBound((pool: self, exchange: exchange), eventLoop: loop)
        ClientBootstrap(group: loop)
            .connectTimeout(TimeAmount(self.origin.connectTimeout))
            .channelOption(.socketOption(.tcp_nodelay), value: 1)
            .channelOption(.maxMessagesPerRead, value: 1)
            .channelOption(.recvAllocator, value: GatewayLoop.readBuffers)
            .channelOption(.writeBufferWaterMark, value: GatewayLoop.waterMark)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(UpstreamHandler(pool: bound.value.pool))
                }
            }
            .connect(host: self.origin.host, port: self.origin.port)
            .assumeIsolated()
            .whenComplete { result in
                let (pool, exchange) = bound.value
                switch result.flatMap({ channel in
                    Result { try channel.pipeline.syncOperations.handler(type: UpstreamHandler.self) }
                }) {
                case .success(let upstream): pool.dialled(upstream, for: exchange, serial)
                case .failure: pool.dialFailed(for: exchange, serial)
                }
            }
    }

    private func dialled(_ upstream: UpstreamHandler, for exchange: Exchange, _ serial: UInt64) {
        guard exchange.serial == serial, !exchange.isIdle else { return self.released(upstream) }
        exchange.connected(upstream)
        exchange.flush()
    }

    private func dialFailed(for exchange: Exchange, _ serial: UInt64) {
        self.count -= 1
        if exchange.serial == serial {
            exchange.connectFailed(
                GatewayError(
                    .upstreamUnreachable,
                    "no connection to the route's upstream; is it up, and its name right?"
                )
            )
        }
        self.serveWaiting()
    }

    /// A connection is free: the longest waiting exchange gets it, or it becomes idle.
    func released(_ upstream: UpstreamHandler) {
        while let next = self.waiting.popFirst() {
            guard next.exchange.serial == next.serial, next.exchange.isConnecting else { continue }
            next.exchange.connected(upstream)
            next.exchange.flush()
            return
        }
        if self.loop.isDraining { return upstream.close() }
        self.idle.append(upstream)
    }

    /// Called by each connection once, when it is gone.
    func closed(_ upstream: UpstreamHandler) {
        self.count -= 1
        self.idle.removeAll { $0 === upstream }
        self.serveWaiting()
    }

    private func serveWaiting() {
        while self.count < self.origin.maxConnections, let next = self.waiting.popFirst() {
            guard next.exchange.serial == next.serial, next.exchange.isConnecting else { continue }
            self.dial(for: next.exchange)
        }
    }

    /// Called by the loop's sweep.
    func sweep() {
        for upstream in self.idle where self.tick.duration(since: upstream.idleSince) > Self.idleTimeout {
            upstream.close()
        }
    }

    func closeIdle() {
        for upstream in self.idle { upstream.close() }
    }
}

extension TimeAmount {
    init(_ duration: Duration) {
        self = .nanoseconds(duration.clampedNanoseconds)
    }
}
