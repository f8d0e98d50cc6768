/// One name by which a caller may be known from its certificate.
package enum CertificateName: Equatable, Sendable {
    /// The whole subject, as RFC 4514 writes it: `CN=batch,O=Acme`.
    case subject(String)
    /// A subject alternative name (RFC 5280 §4.2.1.6), in lower case. It is a name and no pattern: `*.internal` is nobody
    /// but `*.internal`.
    case dns(String)
    case uri(String)
    case email(String)

    /// Byte by byte: texts that Unicode calls equivalent are the names of two, and an authority may issue them to two.
    package static func == (one: CertificateName, other: CertificateName) -> Bool {
        switch (one, other) {
        case (.subject(let one), .subject(let other)), (.dns(let one), .dns(let other)),
            (.uri(let one), .uri(let other)),
            (.email(let one), .email(let other)):
            one.utf8.elementsEqual(other.utf8)
        case (.subject, _), (.dns, _), (.uri, _), (.email, _): false
        }
    }
}
