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

/// Why a caller and a listener came to no terms about TLS: names for the log, without a byte of the caller's.
package enum HandshakeFailure: String, Sendable {
    /// It was not done in time.
    case timedOut = "handshake_timeout"
    /// The caller left, as those do who only look whether somebody listens.
    case abandoned = "handshake_abandoned"
    /// The caller offered protocols, and HTTP/1.1 is not one of them.
    case noProtocol = "handshake_no_protocol"
    /// The caller spoke HTTP without TLS.
    case plainHTTP = "handshake_plain_http"
    /// The caller's certificate is not one that `client_ca` vouches for, or has expired.
    case untrustedCaller = "handshake_untrusted_caller"
    /// The caller would not have the listener's certificate, or the terms.
    case refused = "handshake_refused"
    /// No version or cipher in common, or not TLS at all.
    case failed = "handshake_failed"

    /// Reads what TLS threw; only its text tells what it was.
    package init(_ error: any Error) {
        self =
            switch "\(error)" {
            case let text where text.contains("HTTP_REQUEST"): .plainHTTP
            case let text where text.contains("ALERT"): .refused
            case let text where text.contains("CERTIFICATE"): .untrustedCaller
            case let text where text.contains("EOF during handshake"): .abandoned
            default: .failed
            }
    }
}
