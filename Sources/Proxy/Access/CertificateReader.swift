import SwiftASN1

/// Finds the names in a certificate (RFC 5280 §4.1). Whether it is one at all, and good, the handshake has found out.
enum CertificateReader {
    private struct Malformed: Error {}

    private static let version = ASN1Identifier(tagWithNumber: 0, tagClass: .contextSpecific)
    private static let extensions = ASN1Identifier(tagWithNumber: 3, tagClass: .contextSpecific)
    private static let alternativeNames: ASN1ObjectIdentifier = [2, 5, 29, 17]

    /// - Throws: for what is no certificate.
    static func names(in bytes: [UInt8]) throws -> [CertificateName] {
        var certificate = try Self.parts(of: DER.parse(bytes))
        guard let body = certificate.next() else { throw Malformed() }
        var fields = try Self.parts(of: body)
        // The serial number is the first, or stands behind the version; then come algorithm, issuer and validity.
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

    /// What one extension says, if it is the one of alternative names.
    private static func alternatives(in member: ASN1Node) throws -> [CertificateName] {
        var parts = try Self.parts(of: member)
        guard let id = parts.next() else { throw Malformed() }
        guard try ASN1ObjectIdentifier(derEncoded: id) == Self.alternativeNames else { return [] }
        // It may say before its value that it is critical.
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

    /// Visible ASCII: what else is in there is a name that nobody can have configured.
    private static func plainText(_ bytes: ArraySlice<UInt8>) -> String? {
        bytes.allSatisfy { (0x21...0x7E).contains($0) } ? String(decoding: bytes, as: UTF8.self) : nil
    }

    static func parts(of node: ASN1Node) throws -> ASN1NodeCollection.Iterator {
        guard case .constructed(let parts) = node.content else { throw Malformed() }
        return parts.makeIterator()
    }
}
