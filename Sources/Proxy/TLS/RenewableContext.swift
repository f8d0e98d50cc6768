import NIOCore
import NIOSSL
import Synchronization

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
