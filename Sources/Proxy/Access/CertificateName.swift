/// One name by which a caller may be known from its certificate.
package enum CertificateName: Hashable, Sendable {
    /// The whole subject, as RFC 4514 writes it: `CN=batch,O=Acme`.
    case subject(String)
    /// A subject alternative name (RFC 5280 §4.2.1.6), in lower case. It is a name and no pattern: `*.internal` is nobody
    /// but `*.internal`.
    case dns(String)
    case uri(String)
    case email(String)
}
