import NIOCore
import NIOSSL
import NIOTLS

/// How an upstream proves its identity over TLS, and how the gateway does if it is asked to. The verification of the
/// upstream can't be turned off.
package struct UpstreamTLS: Sendable {
    private let context: RenewableContext
    /// Tells two values apart: connections of one must not serve the routes of another.
    package let files: Files

    /// The files that hold trusted roots and the gateway's identity.
    package struct Files: Sendable, Hashable {
        /// A PEM file with the only trusted roots; `nil` trusts the system's roots.
        let certificateAuthorities: String?
        /// The certificate and key that the gateway shows to an upstream that asks; `nil` for none.
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

    /// The TLS handler for a connection to `host`. A name is sent (SNI) and verified; an IP address is verified as
    /// such.
    func handler(for host: String) throws -> NIOSSLClientHandler {
        let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
        return try NIOSSLClientHandler(context: self.context.current, serverHostname: isAddress ? nil : host)
    }

    /// Does what ``RenewableContext/renew(from:)`` does, for all copies of this value.
    func renew(from other: UpstreamTLS) -> Bool { self.context.renew(from: other.context) }
}

extension UpstreamTLS: Hashable {
    package static func == (left: UpstreamTLS, right: UpstreamTLS) -> Bool { left.files == right.files }
    package func hash(into hasher: inout Hasher) { hasher.combine(self.files) }
}

/// Watches the TLS handshake of a connection. It stays in the pipeline until the handshake is done and its result has
/// been taken.
final class HandshakeWatch: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let done: EventLoopPromise<Void>

    init(on eventLoop: any EventLoop) {
        self.done = eventLoop.makePromise()
    }

    /// Succeeds with the handshake. Fails with its error, or when the connection ends before.
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
