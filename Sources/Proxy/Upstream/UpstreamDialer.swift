import Dispatch
import NIOCore
import NIOPosix
import NIOSSL

/// Makes an event loop's connections to one origin: the name looked up anew, both families tried 250 ms apart (RFC 8305),
/// and TLS settled, all within the origin's connect timeout.
struct UpstreamDialer {
    private let origin: UpstreamOrigin
    private let eventLoop: any EventLoop
    private let lookups = DispatchQueue(label: "martlet.proxy.lookups")

    init(_ origin: UpstreamOrigin, on eventLoop: any EventLoop) {
        self.origin = origin
        self.eventLoop = eventLoop
    }

    /// - Returns: a connection that bytes of a request may be written to.
    func dial() -> EventLoopFuture<any Channel> {
        let deadline = NIODeadline.now() + TimeAmount(self.origin.connectTimeout)
        let connected = self.connect(self.bootstrap)
        guard self.origin.tls != nil else { return connected }
        return connected.flatMap { Self.shakeHands($0, until: deadline) }
    }

    private static func shakeHands(_ channel: any Channel, until deadline: NIODeadline) -> EventLoopFuture<any Channel>
    {
        let pipeline = channel.pipeline.syncOperations
        do {
            let watch = try pipeline.handler(type: HandshakeWatch.self)
            let late = channel.eventLoop.scheduleTask(deadline: deadline) { channel.close(promise: nil) }
            return watch.settled.assumeIsolated()
                .flatMap { pipeline.removeHandler(watch) }
                .map { channel }
                .nonisolated()
                .always { _ in late.cancel() }
        } catch {
            return channel.eventLoop.makeFailedFuture(error)
        }
    }

    private var bootstrap: ClientBootstrap {
        let origin = self.origin
        return ClientBootstrap(group: self.eventLoop)
            .connectTimeout(TimeAmount(origin.connectTimeout))
            .channelOption(.maxMessagesPerRead, value: 1)
            .channelOption(.recvAllocator, value: GatewayLoop.readBuffers)
            .channelOption(.writeBufferWaterMark, value: GatewayLoop.waterMark)
            // An upstream's end comes as an event of its own, so that a reset can't be taken for it.
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let tls = origin.tls {
                        try pipeline.addHandler(tls.handler(for: origin.host))
                        try pipeline.addHandler(HandshakeWatch(on: channel.eventLoop))
                    }
                    try pipeline.addHandler(UpstreamHandler())
                }
            }
    }

    private func connect(_ bootstrap: ClientBootstrap) -> EventLoopFuture<any Channel> {
        if let address = try? SocketAddress(ipAddress: self.origin.host, port: self.origin.port) {
            return bootstrap.connect(to: address)
        }
        return
            bootstrap
            .resolver(NameResolver(on: self.eventLoop, queue: self.lookups))
            .connect(host: self.origin.host, port: self.origin.port)
    }
}

extension GatewayError {
    /// Why there is no connection to an upstream.
    package init(dialling error: any Error) {
        guard !error.isExhaustion else {
            self.init(.overloaded, "the system has no descriptor, port or memory for another connection")
            return
        }
        let reason =
            switch error {
            case is NIOSSLExtraError,
                NIOSSLError.handshakeFailed where "\(error)".contains("CERTIFICATE"):
                "its certificate is not trusted, has expired or is another name's; see upstream_tls"
            case is NIOSSLError, is BoringSSLError:
                "the TLS handshake failed"
            case ChannelError.connectTimeout:
                "it did not answer in time; is it up, and its address right?"
            default:
                "is it up, and its name right?"
            }
        self.init(.upstreamUnreachable, "no connection to the route's upstream: \(reason)")
    }
}
