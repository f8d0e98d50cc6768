package import NIOCore
import NIOSSL
import Synchronization

/// TLS towards callers: the listener's certificate, and the CAs that may vouch for callers' certificates.
package struct CallerTLS: Sendable {
    private let context: RenewableContext

    /// - Parameter clientAuthorities: a PEM file of CA certificates. With it, callers are asked for a certificate. They
    ///   need not have one, but a certificate that no CA there vouches for ends the handshake. `nil` asks for none.
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

    /// A TLS handler for one connection.
    func handler() -> NIOSSLServerHandler { NIOSSLServerHandler(context: self.context.current) }

    /// Adds TLS to a connection that was just accepted, on its event loop; for listeners outside of the proxy.
    package func encrypt(_ connection: any Channel) throws {
        try connection.pipeline.syncOperations.addHandler(self.handler())
    }

    /// As ``RenewableContext/renew(from:)``, for all copies of this value.
    package func renew(from other: CallerTLS) -> Bool { self.context.renew(from: other.context) }
}

/// Why a TLS handshake with a caller failed: names for the log, without a byte from the caller.
package enum HandshakeFailure: String, Sendable {
    /// The handshake took too long.
    case timedOut = "handshake_timeout"
    /// The caller left, like a probe that only checks whether somebody listens.
    case abandoned = "handshake_abandoned"
    /// The caller offered protocols, and HTTP/1.1 is not one of them.
    case noProtocol = "handshake_no_protocol"
    /// The caller spoke HTTP without TLS.
    case plainHTTP = "handshake_plain_http"
    /// The caller's certificate is not one that `client_ca` vouches for, or has expired.
    case untrustedCaller = "handshake_untrusted_caller"
    /// The caller rejected the listener's certificate, or its parameters.
    case refused = "handshake_refused"
    /// No version or cipher in common, or not TLS at all.
    case failed = "handshake_failed"

    /// Classifies an error of TLS; only its text tells the cause.
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

/// A TLS context for new connections. It can be renewed while older connections keep the one that they began with.
final class RenewableContext: Sendable {
    private let context: Mutex<NIOSSLContext>

    init(_ configuration: TLSConfiguration) throws {
        self.context = Mutex(try NIOSSLContext(configuration: configuration))
    }

    /// Read once per connection, so the lock costs nothing compared with the handshake.
    var current: NIOSSLContext { self.context.withLock { $0 } }

    /// Makes new connections use the context of `other` from now on.
    ///
    /// - Returns: whether anything is different.
    func renew(from other: RenewableContext) -> Bool {
        let renewed = other.current
        return self.context.withLock { context in
            let isSame = context.configuration.bestEffortEquals(renewed.configuration)
            context = renewed
            return !isSame
        }
    }
}

extension TLSConfiguration {
    /// The gateway's TLS settings on both of its sides: version 1.2 or 1.3, HTTP/1.1 inside, and of the cipher suites
    /// of 1.2 those that encrypt and authenticate in one step. CBC suites have been attacked time and again (RFC 7457),
    /// and a peer that speaks 1.2 has others.
    static var ofGateway: TLSConfiguration {
        // The library's configuration for servers would want the certificate before this code can read it.
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.cipherSuiteValues = [
            .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
            .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
            .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
            .TLS_RSA_WITH_AES_128_GCM_SHA256, .TLS_RSA_WITH_AES_256_GCM_SHA384,
        ]
        configuration.applicationProtocols = ["http/1.1"]
        // A closing connection reads no more, or has already waited for the peer's bytes: it does not wait for the
        // peer's close_notify too.
        configuration.shutdownTimeout = .milliseconds(100)
        return configuration
    }
}
