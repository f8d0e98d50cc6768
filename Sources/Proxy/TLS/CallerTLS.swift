package import NIOCore
import NIOSSL

/// TLS towards callers: what a listener proves itself by, and who may vouch for callers' certificates.
package struct CallerTLS: Sendable {
    private let context: RenewableContext

    /// - Parameter clientAuthorities: a PEM file of those who vouch for callers. Then callers are asked for a certificate:
    ///   they need not have one, but one that nobody there vouches for ends the handshake. `nil` asks for none.
    /// - Throws: ``ProxyError/Code/certificateUnusable``
    package init(_ files: CertificateFiles, clientAuthorities: String? = nil) throws(ProxyError) {
        var configuration = TLSConfiguration.ofGateway
        try files.read(into: &configuration)
        if let clientAuthorities {
            configuration.certificateVerification = .optionalVerification
            configuration.trustRoots = .certificates(try CertificateFiles.certificates(in: clientAuthorities))
            configuration.sendCANameList = true
        } else {
            configuration.certificateVerification = .none
        }
        self.context = try files.context(configuration)
    }

    /// For one connection.
    func handler() -> NIOSSLServerHandler { NIOSSLServerHandler(context: self.context.current) }

    /// Has one connection that was just accepted speak TLS, on its event loop; for listeners of others.
    package func encrypt(_ connection: any Channel) throws {
        try connection.pipeline.syncOperations.addHandler(self.handler())
    }

    /// As ``RenewableContext/renew(from:)``, for all copies of this value.
    package func renew(from other: CallerTLS) -> Bool { self.context.renew(from: other.context) }
}
