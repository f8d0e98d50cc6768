package import NIOCore
import NIOSSL
import Synchronization

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

/// TLS as new connections speak it: it may be renewed while older ones go on with what they began with.
final class RenewableContext: Sendable {
    private let context: Mutex<NIOSSLContext>

    init(_ configuration: TLSConfiguration) throws {
        self.context = Mutex(try NIOSSLContext(configuration: configuration))
    }

    /// Taken once per connection, so the lock is nothing beside the handshake.
    var current: NIOSSLContext { self.context.withLock { $0 } }

    /// From now on new connections speak TLS as `other`'s would.
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
    /// What the gateway asks of TLS on both of its sides: version 1.2 or 1.3, HTTP/1.1 inside, and of the suites of 1.2
    /// those that encrypt and authenticate in one. Those of CBC have been attacked time and again (RFC 7457), and whoever
    /// speaks 1.2 has others.
    static var ofGateway: TLSConfiguration {
        // Not the library's for servers: that wants its certificate before it can be asked to read one.
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.cipherSuiteValues = [
            .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
            .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
            .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
            .TLS_RSA_WITH_AES_128_GCM_SHA256, .TLS_RSA_WITH_AES_256_GCM_SHA384,
        ]
        configuration.applicationProtocols = ["http/1.1"]
        // A closing connection reads no more, or has had its two seconds: the other side's farewell is not waited for.
        configuration.shutdownTimeout = .milliseconds(100)
        return configuration
    }
}
