import NIOCore
import NIOSSL

/// TLS towards callers: what a listener proves itself by, and who may vouch for callers' certificates.
package struct CallerTLS: Sendable {
    private let context: RenewableContext

    /// - Parameter clientAuthorities: a PEM file of those who vouch for callers. Then callers are asked for a certificate:
    ///   they need not have one, but one that nobody there vouches for ends the handshake. `nil` asks for none.
    /// - Throws: ``ProxyError/Code/certificateUnusable``
    package init(_ files: CertificateFiles, clientAuthorities: String? = nil) throws(ProxyError) {
        // Not the library's for servers: that wants its certificate before it can be asked to read one.
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["http/1.1"]
        // A caller that was told the end, and had two seconds to end too, is not waited for any longer.
        configuration.shutdownTimeout = .milliseconds(100)
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

    /// As ``RenewableContext/renew(from:)``, for all copies of this value.
    func renew(from other: CallerTLS) -> Bool { self.context.renew(from: other.context) }
}
