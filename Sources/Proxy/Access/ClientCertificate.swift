package import NIOSSL

#if canImport(Glibc)
    import Glibc
#endif

/// What a caller's certificate says of whose it is. Somebody of the listener's `client_ca` vouches for it: else the handshake
/// would have failed.
package struct ClientCertificate: Equatable, Sendable {
    /// All that it may be known by; empty where it can't be read or has run out, and then it is nobody's.
    package let names: [CertificateName]

    package init(names: [CertificateName]) {
        self.names = names
    }

    /// Reads the one that a connection has shown; once per connection.
    ///
    /// A handshake that resumes a session takes the certificate from the ticket and verifies nothing: it may have run out
    /// since it was looked at.
    ///
    /// - Parameter now: in seconds since 1970, as certificates count.
    package init(_ certificate: NIOSSLCertificate, at now: Int = time(nil)) {
        let isCurrent = certificate.notValidBefore <= now && now <= certificate.notValidAfter
        self.names = isCurrent ? (try? CertificateReader.names(in: certificate.toDERBytes())) ?? [] : []
    }
}
