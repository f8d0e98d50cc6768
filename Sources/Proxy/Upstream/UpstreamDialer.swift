package import NIOCore
import NIOPosix
import NIOSSL

#if canImport(Glibc)
    import Glibc
#endif

/// Makes an event loop's connections to one origin: the name looked up anew, both families tried 250 ms apart (RFC 8305),
/// and TLS settled, all within the origin's connect timeout. Where TLS fails at one of a name's addresses the others are
/// tried: one of several machines may have been forgotten when a certificate was changed.
package struct UpstreamDialer: Sendable {
    private let origin: UpstreamOrigin
    private let eventLoop: any EventLoop
    private let lookups: NameLookups

    init(_ origin: UpstreamOrigin, on eventLoop: any EventLoop) {
        self.origin = origin
        self.eventLoop = eventLoop
        self.lookups = NameLookups(host: origin.host, port: origin.port)
    }

    /// - Parameter lookups: of the host of the plan's upstream.
    package init(_ plan: RouteConfiguration, on eventLoop: any EventLoop, lookups: NameLookups) {
        self.origin = UpstreamOrigin(plan)
        self.eventLoop = eventLoop
        self.lookups = lookups
    }

    /// Hears of each connection that is tried, before it is; what it throws ends that try.
    package typealias Attempt = @Sendable (any Channel) throws -> Void

    /// - Returns: a connection that bytes of a request may be written to.
    package func dial(_ attempt: @escaping Attempt = { _ in }) -> EventLoopFuture<any Channel> {
        let deadline = NIODeadline.now() + TimeAmount(self.origin.connectTimeout)
        if let address = try? SocketAddress(ipAddress: self.origin.host, port: self.origin.port) {
            return self.secured(self.bootstrap(until: deadline, attempt).connect(to: address), until: deadline)
        }
        let resolver = NameResolver(self.lookups, on: self.eventLoop)
        let connected = self.connect(resolver, until: deadline, attempt)
        guard self.origin.tls != nil else { return connected }
        return connected.flatMap { channel in
            // Of a connection that is gone already nobody can say what is left to try.
            guard let address = channel.remoteAddress else {
                return self.eventLoop.makeFailedFuture(ChannelError.eof)
            }
            return Self.shakeHands(channel, until: deadline).flatMapError { error in
                resolver.addresses.flatMap { addresses in
                    self.dial(addresses.filter { $0 != address }, after: error, until: deadline, attempt)
                }
            }
        }
    }

    /// The next of a name's addresses, after TLS has failed at another.
    ///
    /// - Parameter error: of the first. It is what the operator should know: that the others fail too says no more.
    private func dial(
        _ addresses: [SocketAddress],
        after error: any Error,
        until deadline: NIODeadline,
        _ attempt: @escaping Attempt
    ) -> EventLoopFuture<any Channel> {
        guard !addresses.isEmpty, NIODeadline.now() < deadline else {
            return self.eventLoop.makeFailedFuture(error)
        }
        let known = KnownAddresses(addresses: addresses, eventLoop: self.eventLoop)
        return self.connect(known, until: deadline, attempt)
            .flatMapErrorThrowing { _ -> any Channel in throw error }
            .flatMap { channel in
                guard let address = channel.remoteAddress else { return self.eventLoop.makeFailedFuture(error) }
                return Self.shakeHands(channel, until: deadline).flatMapError { _ in
                    self.dial(addresses.filter { $0 != address }, after: error, until: deadline, attempt)
                }
            }
    }

    private func secured(
        _ connected: EventLoopFuture<any Channel>,
        until deadline: NIODeadline
    ) -> EventLoopFuture<any Channel> {
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

    private func bootstrap(until deadline: NIODeadline, _ attempt: @escaping Attempt) -> ClientBootstrap {
        let origin = self.origin
        return ClientBootstrap(group: self.eventLoop)
            .connectTimeout(deadline - NIODeadline.now())
            .channelOption(.maxMessagesPerRead, value: 1)
            .channelOption(.writeBufferWaterMark, value: GatewayLoop.waterMark)
            // An upstream's end comes as an event of its own, so that a reset can't be taken for it.
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try attempt(channel)
                    let pipeline = channel.pipeline.syncOperations
                    if let tls = origin.tls {
                        try pipeline.addHandler(SocketFastPathHandler())
                        try pipeline.addHandler(tls.handler(for: origin.host))
                        try pipeline.addHandler(HandshakeWatch(on: channel.eventLoop))
                    }
                    try pipeline.addHandler(HTTP1Upstream())
                }
            }
    }

    private func connect(
        _ resolver: any Resolver & Sendable,
        until deadline: NIODeadline,
        _ attempt: @escaping Attempt
    ) -> EventLoopFuture<any Channel> {
        self.bootstrap(until: deadline, attempt).resolver(resolver).connect(
            host: self.origin.host,
            port: self.origin.port
        )
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

/// A connection that is being made for a request, with all that is tried for it: one after the other address of its name,
/// each a socket of its own.
final class UpstreamDial {
    let place: UpstreamPool.Place
    /// Of the pool's certificates, as it began.
    let configGeneration: Int
    private let limit: SharedLimit
    private var tries: [(channel: any Channel, socket: CountedSocket)] = []
    private(set) var isGivenUp = false

    /// - Parameter limit: counts its sockets.
    init(for place: UpstreamPool.Place, configGeneration: Int, counting limit: SharedLimit) {
        self.place = place
        self.configGeneration = configGeneration
        self.limit = limit
    }

    /// Another socket is made.
    func begin(_ channel: any Channel) {
        let socket = CountedSocket(self.limit)
        channel.closeFuture.assumeIsolated().whenComplete { _ in socket.leave() }
        self.tries.append((channel, socket))
    }

    /// What counts the socket that came of it.
    func socket(of channel: any Channel) -> CountedSocket? {
        self.tries.first { $0.channel === channel }?.socket
    }

    /// Ends what is tried; the dial fails then.
    func giveUp() {
        self.isGivenUp = true
        let tries = self.tries
        self.tries = []
        for (channel, socket) in tries {
            socket.leave()
            channel.close(promise: nil)
        }
    }
}

/// One socket to an upstream: it counts until it is gone, or is about to be, so that nobody makes room for what has just
/// got it.
final class CountedSocket {
    private let limit: SharedLimit
    private var isCounted = true

    init(_ limit: SharedLimit) {
        self.limit = limit
        limit.take()
    }

    func leave() {
        guard self.isCounted else { return }
        self.isCounted = false
        self.limit.leave()
    }
}

extension Error {
    /// What was tried could not even begin: this machine or process has nothing left for it.
    var isExhaustion: Bool {
        switch self {
        case let error as IOError:
            // EADDRNOTAVAIL is what connect(2) says when all local ports are taken.
            [EMFILE, ENFILE, ENOBUFS, ENOMEM, EADDRNOTAVAIL].contains(error.errnoCode)
        case let error as NIOConnectionError:
            error.connectionErrors.contains { $0.error.isExhaustion }
        default:
            false
        }
    }
}
