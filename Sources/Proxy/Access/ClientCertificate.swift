package import NIOSSL
import SwiftASN1

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
        self.names = isCurrent ? (try? CertificateReader.names(in: certificate.toDERBytes())) ?? [] : []
    }
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
    /// - Throws: for bytes that are no name.
    static func text(of name: ASN1Node) throws -> String? {
        var sets: [String] = []
        var list = try CertificateReader.parts(of: name)
        while let set = list.next() {
            var pairs: [String] = []
            var members = try CertificateReader.parts(of: set)
            while let member = members.next() {
                var parts = try CertificateReader.parts(of: member)
                guard let type = parts.next(), let value = parts.next(),
                    let attribute = try Self.attributes[ASN1ObjectIdentifier(derEncoded: type)],
                    let text = Self.value(value)
                else { return nil }
                pairs.append("\(attribute)=\(text)")
            }
            // Backwards, like the sets themselves: `openssl` writes it so.
            sets.append(pairs.reversed().joined(separator: "+"))
        }
        return sets.isEmpty ? nil : sets.reversed().joined(separator: ",")
    }

    private static func value(_ node: ASN1Node) -> String? {
        guard [.utf8String, .printableString, .ia5String].contains(node.identifier),
            case .primitive(let bytes) = node.content, !bytes.isEmpty,
            let text = String(validating: bytes, as: UTF8.self),
            text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
        else { return nil }
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

/// Finds the names in a certificate (RFC 5280 §4.1). The handshake has already verified the certificate.
enum CertificateReader {
    private struct Malformed: Error {}

    private static let version = ASN1Identifier(tagWithNumber: 0, tagClass: .contextSpecific)
    private static let extensions = ASN1Identifier(tagWithNumber: 3, tagClass: .contextSpecific)
    private static let alternativeNames: ASN1ObjectIdentifier = [2, 5, 29, 17]

    /// - Throws: for bytes that are no certificate.
    static func names(in bytes: [UInt8]) throws -> [CertificateName] {
        var certificate = try Self.parts(of: DER.parse(bytes))
        guard let body = certificate.next() else { throw Malformed() }
        var fields = try Self.parts(of: body)
        // The serial number is the first field, or follows the version; then come algorithm, issuer and validity.
        var field = fields.next()
        if field?.identifier == Self.version { field = fields.next() }
        for _ in 0..<3 { field = fields.next() }
        guard field != nil, let subject = fields.next() else { throw Malformed() }
        var names = try DistinguishedNameText.text(of: subject).map { [CertificateName.subject($0)] } ?? []
        while let field = fields.next() {
            guard field.identifier == Self.extensions else { continue }
            var wrapped = try Self.parts(of: field)
            guard let list = wrapped.next() else { throw Malformed() }
            var members = try Self.parts(of: list)
            while let member = members.next() { names += try Self.alternatives(in: member) }
        }
        return names
    }

    /// The names in one extension, if it is the one of alternative names.
    private static func alternatives(in member: ASN1Node) throws -> [CertificateName] {
        var parts = try Self.parts(of: member)
        guard let id = parts.next() else { throw Malformed() }
        guard try ASN1ObjectIdentifier(derEncoded: id) == Self.alternativeNames else { return [] }
        // A flag that says whether the extension is critical may precede its value.
        var value = parts.next()
        if value?.identifier == .boolean { value = parts.next() }
        guard let value else { throw Malformed() }
        var names: [CertificateName] = []
        var list = try Self.parts(of: DER.parse(ASN1OctetString(derEncoded: value).bytes))
        while let name = list.next() {
            guard name.identifier.tagClass == .contextSpecific, case .primitive(let bytes) = name.content,
                let text = Self.plainText(bytes)
            else { continue }
            switch name.identifier.tagNumber {
            case 1: names.append(.email(text))
            case 2: names.append(.dns(text.lowercased()))
            case 6: names.append(.uri(text))
            default: continue
            }
        }
        return names
    }

    /// The text, if it is visible ASCII: nobody can have configured a name with other bytes.
    private static func plainText(_ bytes: ArraySlice<UInt8>) -> String? {
        bytes.allSatisfy { (0x21...0x7E).contains($0) } ? String(decoding: bytes, as: UTF8.self) : nil
    }

    static func parts(of node: ASN1Node) throws -> ASN1NodeCollection.Iterator {
        guard case .constructed(let parts) = node.content else { throw Malformed() }
        return parts.makeIterator()
    }
}
