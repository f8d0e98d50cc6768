import NIOCore
import NIOSSL

/// How an upstream over TLS proves who it is. There is no way to turn that off.
package struct UpstreamTLS: Sendable {
    let context: NIOSSLContext
    /// What tells two of them apart: connections of one must not serve the routes of another.
    private let roots: String?

    /// - Parameter certificateAuthorities: a PEM file of the only roots that are trusted; `nil` trusts the system's.
    /// - Throws: ``ProxyError/Code/trustUnreadable``
    package init(certificateAuthorities: String?) throws(ProxyError) {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["http/1.1"]
        // A closing connection reads no more: nothing is learnt by waiting for the other side's farewell.
        configuration.shutdownTimeout = .milliseconds(100)
        do {
            if let file = certificateAuthorities {
                let certificates = try NIOSSLCertificate.fromPEMFile(file)
                guard !certificates.isEmpty else { throw NIOSSLError.failedToLoadCertificate }
                configuration.trustRoots = .certificates(certificates)
            }
            self.context = try NIOSSLContext(configuration: configuration)
        } catch {
            let what = certificateAuthorities.map { "from \($0): it must be a PEM file that this user may read" }
            throw ProxyError(
                .trustUnreadable,
                "no certificates could be read \(what ?? "from the system's store: is ca-certificates installed?")"
            )
        }
        self.roots = certificateAuthorities
    }

    /// The handler that speaks TLS to `host`, whose name is asked for (SNI) and verified; an address is verified as such.
    func handler(for host: String) throws -> NIOSSLClientHandler {
        let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
        return try NIOSSLClientHandler(context: self.context, serverHostname: isAddress ? nil : host)
    }
}

extension UpstreamTLS: Hashable {
    package static func == (left: UpstreamTLS, right: UpstreamTLS) -> Bool { left.roots == right.roots }
    package func hash(into hasher: inout Hasher) { hasher.combine(self.roots) }
}
