import NIOCore
import NIOSSL
import NIOTLS

/// How an upstream over TLS proves who it is, and the gateway where that is asked. There is no way to turn the first off.
package struct UpstreamTLS: Sendable {
    private let context: RenewableContext
    /// What tells two of them apart: connections of one must not serve the routes of another.
    package let files: Files

    /// Where trust and identity are kept.
    package struct Files: Sendable, Hashable {
        /// A PEM file of the only roots that are trusted; `nil` trusts the system's.
        let certificateAuthorities: String?
        /// What the gateway proves itself by to an upstream that asks; `nil` is nothing.
        let identity: CertificateFiles?

        package init(certificateAuthorities: String?, identity: CertificateFiles? = nil) {
            self.certificateAuthorities = certificateAuthorities
            self.identity = identity
        }
    }

    /// - Throws: ``ProxyError/Code/trustUnreadable``, ``ProxyError/Code/certificateUnusable``
    package init(_ files: Files) throws(ProxyError) {
        var configuration = TLSConfiguration.ofGateway
        if let file = files.certificateAuthorities {
            configuration.trustRoots = .certificates(try CertificateFiles.certificates(in: file))
        }
        if let identity = files.identity {
            try identity.read(into: &configuration)
            self.context = try identity.context(configuration)
        } else {
            do {
                self.context = try RenewableContext(configuration)
            } catch {
                throw ProxyError(
                    .trustUnreadable,
                    "no certificates could be read from the system's store: is ca-certificates installed?"
                )
            }
        }
        self.files = files
    }

    /// The handler that speaks TLS to `host`, whose name is asked for (SNI) and verified; an address is verified as such.
    func handler(for host: String) throws -> NIOSSLClientHandler {
        let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
        return try NIOSSLClientHandler(context: self.context.current, serverHostname: isAddress ? nil : host)
    }

    /// As ``RenewableContext/renew(from:)``, for all copies of this value.
    func renew(from other: UpstreamTLS) -> Bool { self.context.renew(from: other.context) }
}

extension UpstreamTLS: Hashable {
    package static func == (left: UpstreamTLS, right: UpstreamTLS) -> Bool { left.files == right.files }
    package func hash(into hasher: inout Hasher) { hasher.combine(self.files) }
}

/// Stands behind a connection's TLS until the handshake is done and somebody has taken note.
final class HandshakeWatch: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let done: EventLoopPromise<Void>

    init(on eventLoop: any EventLoop) {
        self.done = eventLoop.makePromise()
    }

    /// Succeeds with the handshake, and fails with what went wrong or when the connection ends before.
    var settled: EventLoopFuture<Void> { self.done.futureResult }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent { self.done.succeed() }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.done.fail(error)
        context.fireErrorCaught(error)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.done.fail(ChannelError.eof)
    }
}
