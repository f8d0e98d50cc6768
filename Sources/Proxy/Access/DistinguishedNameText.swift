import SwiftASN1

/// The subject of a certificate as RFC 4514 writes it, with the names of attributes that `openssl` uses: one text for one
/// name.
enum DistinguishedNameText {
    private static let attributes: [ASN1ObjectIdentifier: String] = [
        [2, 5, 4, 3]: "CN", [2, 5, 4, 4]: "SN", [2, 5, 4, 5]: "serialNumber", [2, 5, 4, 6]: "C", [2, 5, 4, 7]: "L",
        [2, 5, 4, 8]: "ST", [2, 5, 4, 9]: "street", [2, 5, 4, 10]: "O", [2, 5, 4, 11]: "OU", [2, 5, 4, 12]: "title",
        [2, 5, 4, 42]: "GN", [0, 9, 2342, 19_200_300, 100, 1, 1]: "UID", [0, 9, 2342, 19_200_300, 100, 1, 25]: "DC",
        [1, 2, 840, 113_549, 1, 9, 1]: "emailAddress",
    ]

    /// - Returns: `nil` for an empty name, and for one with attributes or characters that it has no text for.
    /// - Throws: for what is no name.
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
            // Backwards, as the sets themselves: so `openssl` writes it.
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
