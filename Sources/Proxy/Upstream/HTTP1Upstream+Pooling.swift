import NIOCore
import TokenModel

/// What an ``UpstreamPool`` asks of a connection.
extension HTTP1Upstream {
    /// The connection has served requests for long enough: the upstream's name may mean another address by now.
    var isOld: Bool { (self.pool?.coarseNow).map { $0.duration(since: self.madeAt) > self.age } ?? true }

    /// How long the connection may be idle.
    var idleTime: Duration { self.reader.idleTime }

    /// The upstream has ended the connection or sent something unasked: bytes or an end wait to be read. This check
    /// costs a system call.
    var isStale: Bool { self.context?.channel.isQuiet != true }

    /// Adds the connection to `pool`, which counts it from now on.
    func join(_ pool: UpstreamPool, by dial: UpstreamDial) {
        self.pool = pool
        self.readShare = pool.loop.readShare
        self.configGeneration = dial.configGeneration
        (self.madeAt, self.age) = (pool.coarseNow, pool.drawAge())
        self.socket = (self.context?.channel).flatMap(dial.socket)
        if self.tls == nil { self.writer.goesDirectly() }
        try? self.context?.channel.syncOptions?.setOption(.recvAllocator, value: pool.readBuffers)
    }
}
