package import NIOSSL

/// What a caller's certificate says of whose it is. Somebody of the listener's `client_ca` vouches for it: else the handshake
/// would have failed.
package struct ClientCertificate: Equatable, Sendable {
    /// All that it may be known by; empty where it can't be read, and then it is nobody's.
    package let names: [CertificateName]

    package init(names: [CertificateName]) {
        self.names = names
    }

    /// Reads the one that a connection has shown; once per connection.
    package init(_ certificate: NIOSSLCertificate) {
        self.names = (try? CertificateReader.names(in: certificate.toDERBytes())) ?? []
    }
}
