package import NIOCore
import NIOPosix
import NIOSSL

#if canImport(Glibc)
    import Glibc
#endif

/// Makes an event loop's connections to one origin. For each connection it looks the name up anew, tries both address
/// families 250 ms apart (RFC 8305), and completes TLS, all within the origin's connect timeout. Where TLS fails at one
/// of a name's addresses, it tries the others: a change of certificates may have missed one of several machines.
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

    /// Called for each connection attempt, before it starts. An error that it throws ends that attempt.
    package typealias Attempt = @Sendable (any Channel) throws -> Void

    /// - Returns: a connection that is ready for a request.
    package func dial(
        until deadline: NIODeadline,
        _ attempt: @escaping Attempt = { _ in }
    ) -> EventLoopFuture<any Channel> {
        if let address = try? SocketAddress(ipAddress: self.origin.host, port: self.origin.port) {
            return self.secured(self.bootstrap(until: deadline, attempt).connect(to: address), until: deadline)
        }
        let resolver = NameResolver(self.lookups, on: self.eventLoop)
        let connected = self.connect(resolver, until: deadline, attempt)
        guard self.origin.tls != nil else { return connected }
        return connected.flatMap { channel in
            // Without the address of a connection that is already gone, it is unknown which ones are left to try.
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

    /// Tries the next of a name's addresses, after TLS has failed at another.
    ///
    /// - Parameter error: the first failure. The operator should see that one, since further failures add nothing to
    ///   it.
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
            .channelOption(.socketOption(.so_keepalive), value: 1)
            .channelOption(.maxMessagesPerRead, value: 1)
            .channelOption(.writeBufferWaterMark, value: GatewayLoop.waterMark)
            // The end of the upstream's side comes as an event of its own, so that a reset can't be taken for it.
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
    /// The reason why a connection to an upstream could not be made.
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

/// A connection that is being made for a request, with all attempts at it: each address of the name that is tried gets
/// a socket of its own.
final class UpstreamDial {
    /// The request that it was begun for, or one that has waited since that one was served.
    var place: UpstreamPool.Place
    /// Its time is over.
    var isOverdue: Bool { NIODeadline.now() >= self.deadline }
    private let deadline: NIODeadline
    /// The generation of the pool's certificates when the dial began.
    let configGeneration: Int
    private let limit: SharedLimit
    private var tries: [(channel: any Channel, socket: CountedSocket)] = []
    private(set) var isGivenUp = false

    /// - Parameter limit: counts the dial's sockets.
    init(
        for place: UpstreamPool.Place,
        until deadline: NIODeadline,
        configGeneration: Int,
        counting limit: SharedLimit
    ) {
        self.place = place
        self.deadline = deadline
        self.configGeneration = configGeneration
        self.limit = limit
    }

    /// Counts the socket of another attempt.
    func begin(_ channel: any Channel) {
        let socket = CountedSocket(self.limit)
        channel.closeFuture.assumeIsolated().whenComplete { _ in socket.leave() }
        self.tries.append((channel, socket))
    }

    /// The count of the socket that belongs to `channel`.
    func socket(of channel: any Channel) -> CountedSocket? {
        self.tries.first { $0.channel === channel }?.socket
    }

    /// Closes the sockets of all attempts, so that the dial fails.
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

/// Counts one socket to an upstream until the socket is gone or about to be closed. A socket that is about to be closed
/// no longer counts, so that no further connection is closed to make the same room.
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
    /// The attempt could not even begin, because this machine or process has no resources left for it.
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
