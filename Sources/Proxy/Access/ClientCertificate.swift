package import NIOSSL
import SwiftASN1
import X509

#if canImport(Glibc)
    import Glibc
#endif

/// The names in a caller's certificate. A CA of the listener's `client_ca` vouches for the certificate: otherwise the
/// handshake would have failed.
package struct ClientCertificate: Equatable, Sendable {
    /// All names that may identify a caller. Empty if the certificate can't be read or is not valid now; then it
    /// identifies nobody.
    package let names: [CertificateName]

    package init(names: [CertificateName]) {
        self.names = names
    }

    /// Reads the certificate that a connection has shown; once per connection.
    ///
    /// A handshake that resumes a session takes the certificate from the ticket and verifies nothing, so the
    /// certificate may have expired since it was verified.
    ///
    /// - Parameter now: in seconds since 1970, as certificates count.
    package init(_ certificate: NIOSSLCertificate, at now: Int = time(nil)) {
        let isCurrent = certificate.notValidBefore <= now && now <= certificate.notValidAfter
        self.names = isCurrent ? (try? Self.names(in: certificate.toDERBytes())) ?? [] : []
    }

    /// - Throws: for bytes that are no certificate, or one that this gateway can't read.
    private static func names(in bytes: [UInt8]) throws -> [CertificateName] {
        let certificate = try Certificate(derEncoded: bytes)
        let subject = DistinguishedNameText.text(of: certificate.subject).map { [CertificateName.subject($0)] } ?? []
        guard let alternatives = try certificate.extensions.subjectAlternativeNames else { return subject }
        return subject
            + alternatives.compactMap { name in
                switch name {
                case .rfc822Name(let text) where Self.isVisible(text): .email(text)
                case .dnsName(let text) where Self.isVisible(text): .dns(text.lowercased())
                case .uniformResourceIdentifier(let text) where Self.isVisible(text): .uri(text)
                default: nil
                }
            }
    }

    /// Whether the text is visible ASCII: nobody can have configured a name with other bytes.
    private static func isVisible(_ text: String) -> Bool { text.utf8.allSatisfy { (0x21...0x7E).contains($0) } }
}

/// One name in a certificate that may identify a caller.
package enum CertificateName: Equatable, Sendable {
    /// The whole subject, as RFC 4514 writes it: `CN=batch,O=Acme`.
    case subject(String)
    /// A subject alternative name (RFC 5280 §4.2.1.6), in lower case. It is a name and no pattern: `*.internal` matches
    /// only `*.internal`.
    case dns(String)
    case uri(String)
    case email(String)

    /// Compares byte by byte: an authority may issue texts that Unicode calls equivalent to two different owners.
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

/// Writes the subject of a certificate as RFC 4514 does, with `openssl`'s names of attributes. Each name has exactly
/// one text.
enum DistinguishedNameText {
    private static let attributes: [ASN1ObjectIdentifier: String] = [
        [2, 5, 4, 3]: "CN", [2, 5, 4, 4]: "SN", [2, 5, 4, 5]: "serialNumber", [2, 5, 4, 6]: "C", [2, 5, 4, 7]: "L",
        [2, 5, 4, 8]: "ST", [2, 5, 4, 9]: "street", [2, 5, 4, 10]: "O", [2, 5, 4, 11]: "OU", [2, 5, 4, 12]: "title",
        [2, 5, 4, 42]: "GN", [0, 9, 2342, 19_200_300, 100, 1, 1]: "UID", [0, 9, 2342, 19_200_300, 100, 1, 25]: "DC",
        [1, 2, 840, 113_549, 1, 9, 1]: "emailAddress",
    ]

    /// - Returns: `nil` for an empty name, and for a name with an attribute or character that has no text here.
    static func text(of name: DistinguishedName) -> String? {
        var sets: [String] = []
        for set in name {
            var pairs: [String] = []
            for member in set {
                guard let attribute = Self.attributes[member.type],
                    let text = String(member.value).flatMap(Self.escaped)
                else { return nil }
                pairs.append("\(attribute)=\(text)")
            }
            // Backwards, like the sets themselves: `openssl` writes it so.
            sets.append(pairs.reversed().joined(separator: "+"))
        }
        return sets.isEmpty ? nil : sets.reversed().joined(separator: ",")
    }

    private static func escaped(_ text: String) -> String? {
        guard !text.isEmpty, text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
            return nil
        }
        var escaped = ""
        for (offset, character) in text.unicodeScalars.enumerated() {
            let isFirst = offset == 0
            let isLast = offset == text.unicodeScalars.count - 1
            switch character {
            case ",", "+", "\"", "\\", "<", ">", ";": escaped += "\\"
            case "#" where isFirst, " " where isFirst || isLast: escaped += "\\"
            default: break
            }
            escaped.unicodeScalars.append(character)
        }
        return escaped
    }
}
