/// By what a caller is known from its certificate.
package enum CertificateNameSettings: Hashable, Sendable {
    /// As RFC 4514 writes it: `CN=batch,O=Acme`.
    case subject(String)
    /// In lower case.
    case dns(String)
    case uri(String)
    case email(String)

    /// What a subject alternative name is, by its form.
    static func alternative(_ text: String) throws(ValueError) -> CertificateNameSettings {
        if text.contains("@"), !text.contains(":") { return .email(text) }
        if let colon = text.utf8.firstIndex(of: 0x3A) {
            let scheme = text.utf8[..<colon]
            guard let first = scheme.first, Self.isLetter(first), text.utf8.index(after: colon) != text.utf8.endIndex,
                scheme.allSatisfy({ Self.isLetter($0) || $0.isASCIIDigit || "+-.".utf8.contains($0) })
            else { throw Self.fault }
            return .uri(text)
        }
        let labels = text.split(separator: ".", omittingEmptySubsequences: false)
        guard text.utf8.contains(where: Self.isLetter), labels.allSatisfy({ !$0.isEmpty }),
            text.utf8.allSatisfy({ Self.isLetter($0) || $0.isASCIIDigit || "-._".utf8.contains($0) })
        else { throw Self.fault }
        return .dns(text.lowercased())
    }

    private static var fault: ValueError {
        ValueError("is not a DNS name, a URI such as spiffe://acme.example/batch, or a mail address")
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }
}
