package import TokenModel

/// One of those who may use the gateway.
package struct CallerSettings: Equatable, Sendable {
    package let name: String
    /// The SHA-256 of each key that is taken, 32 bytes each; at least one where there is no other proof.
    package let keyDigests: [[UInt8]]
    package let certificate: CertificateNameSettings?
    package let peer: PeerSettings?
    /// Names of the routes it may use; `nil`: all.
    package let routes: [String]?
    /// Accounts it may use; `nil`: all.
    package let accounts: [AccountID]?
    /// Methods it may use, as they stand in a request; `nil`: all.
    package let methods: [String]?
}

extension CallerSettings {
    /// Whether a caller may be named so.
    package static func isName(_ text: String) -> Bool { (try? ConfiguredName.check(text)) != nil }
}

/// Whom a caller over a Unix socket is taken for by the user and group of its process; at least one is there.
package struct PeerSettings: Hashable, Sendable {
    package let user: UInt32?
    package let group: UInt32?

    /// Whoever is meant by `other` is meant by this too.
    func covers(_ other: PeerSettings) -> Bool {
        (self.user == nil || self.user == other.user) && (self.group == nil || self.group == other.group)
    }
}

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

extension CertificateNameSettings {
    /// A subject as RFC 4514 writes it, with the escapes that `openssl` has for it. Anything else that is taken for a
    /// subject is the text of no certificate: such as what `openssl` prints when it is not asked for this form.
    static func subject(printed text: String) throws(ValueError) -> CertificateNameSettings {
        guard Self.isSubject(text.utf8) else {
            throw ValueError(
                "is not a subject such as CN=batch,O=Acme; to print one: openssl x509 -noout -subject"
                    + " -nameopt RFC2253,utf8,-esc_msb -in FILE"
            )
        }
        return .subject(text)
    }

    /// Each attribute begins with its name, and with no space: the text begins with one, and so does what is behind a comma
    /// or plus sign that is not escaped.
    private static func isSubject(_ text: String.UTF8View) -> Bool {
        var isInName = true
        var nameLength = 0
        var isEscaped = false
        for byte in text {
            if isInName {
                switch byte {
                case 0x3D where nameLength > 0: isInName = false
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: nameLength += 1
                default: return false
                }
            } else if isEscaped {
                // Not `\C3`, which `openssl` has for what is beyond ASCII unless it is told utf8 and -esc_msb.
                guard #" #"+,;<>\"#.utf8.contains(byte) else { return false }
                isEscaped = false
            } else {
                switch byte {
                case 0x5C: isEscaped = true
                // , and +
                case 0x2C, 0x2B: (isInName, nameLength) = (true, 0)
                // " ; < and > are always escaped.
                case 0x22, 0x3B, 0x3C, 0x3E: return false
                default: break
                }
            }
        }
        return !isInName && !isEscaped
    }
}
