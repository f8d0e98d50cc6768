/// A certificate and its key, each in a PEM file.
package struct CertificateSettings: Hashable, Sendable {
    package let certificate: String
    /// A file of secrets.
    package let key: String

    package init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }
}

/// TLS on a listener.
package struct ListenerTLSSettings: Equatable, Sendable {
    package let identity: CertificateSettings
    /// A PEM file of those who vouch for callers' certificates; `nil`: callers are asked for none.
    package let clientAuthorities: String?
}

/// TLS towards a route's upstream.
package struct UpstreamTLSSettings: Equatable, Sendable {
    /// A PEM file with the only roots that the upstream is trusted by; `nil`: the system's.
    package let certificateAuthorities: String?
    /// What the gateway proves itself by; `nil`: nothing.
    package let identity: CertificateSettings?
}
