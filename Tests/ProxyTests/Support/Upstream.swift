import NIOCore
import NIOPosix
import NIOSSL
import TestKit

/// A listening socket whose connections a test plays.
final class Upstream: Sendable {
    let port: Int
    private let listener: any Channel
    private let peers: Mailbox<Peer>

    private init(_ listener: any Channel, _ peers: Mailbox<Peer>) {
        self.listener = listener
        self.port = listener.localAddress?.port ?? 0
        self.peers = peers
    }

    /// Starts to listen on a port of this machine.
    ///
    /// - Parameters:
    ///   - reserved: the port to listen on; `nil` for any free one.
    ///   - sendBuffer: the size of the kernel's send buffer for each connection in bytes; `nil` leaves it to the
    ///     kernel.
    ///   - isNarrow: whether the connections have the options of ``NarrowSocket``.
    ///   - speaksTLS: whether to speak TLS, with ``TestCertificates/selfSigned``.
    ///   - handshakes: how many connections get an answer to their handshake; the later ones get none.
    ///   - clientAuthority: the authority that must vouch for a client's certificate; `nil` asks for no certificate.
    ///   - changeTLS: changes the TLS configuration.
    static func start(
        on reserved: ReservedPort? = nil,
        sendBuffer: Int? = nil,
        isNarrow: Bool = false,
        speaksTLS: Bool = false,
        handshakes: Int = .max,
        clientAuthority: String? = nil,
        changeTLS: (inout TLSConfiguration) -> Void = { _ in }
    ) async throws -> Upstream {
        let peers = Mailbox<Peer>()
        let tls = speaksTLS ? try Self.tls(clientAuthority, changeTLS) : nil
        var bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.autoRead, value: false)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.maxMessagesPerRead, value: 1)
        if let sendBuffer {
            bootstrap = bootstrap.childChannelOption(.socketOption(.so_sndbuf), value: .init(sendBuffer))
        }
        if isNarrow {
            for (option, value) in NarrowSocket.options {
                bootstrap = bootstrap.serverChannelOption(option, value: value)
            }
        }
        bootstrap = bootstrap.childChannelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                if let tls, peers.total < handshakes {
                    try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls))
                }
                try channel.pipeline.syncOperations.addHandler(PeerInbox(eventLoop: channel.eventLoop))
                peers.put(try Peer(channel))
            }
        }
        let listener =
            if let reserved { try await bootstrap.withBoundSocket(reserved.give()).get() } else {
                try await bootstrap.bind(host: "127.0.0.1", port: 0).get()
            }
        return Upstream(listener, peers)
    }

    private static func tls(
        _ clientAuthority: String?,
        _ change: (inout TLSConfiguration) -> Void
    ) throws -> NIOSSLContext {
        let certificate = try NIOSSLCertificate(bytes: Array(TestCertificates.selfSigned.utf8), format: .pem)
        let key = try NIOSSLPrivateKey(bytes: Array(TestCertificates.selfSignedKey.utf8), format: .pem)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: [.certificate(certificate)],
            privateKey: .privateKey(key)
        )
        if let clientAuthority {
            configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(clientAuthority.utf8)))
            configuration.certificateVerification = .noHostnameVerification
        }
        change(&configuration)
        return try NIOSSLContext(configuration: configuration)
    }

    /// The number of connections that have come.
    var connections: Int { self.peers.total }

    /// The next connection.
    func accept() async throws -> Peer {
        try await self.peers.next("connection to the upstream")
    }

    /// Refuses connections from now on. Existing connections stay open.
    func stop() async throws {
        try await self.listener.close().get()
    }
}
