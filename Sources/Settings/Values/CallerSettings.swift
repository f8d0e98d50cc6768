package import TokenModel

/// A caller that may use the gateway.
package struct CallerSettings: Equatable, Sendable {
    package let name: String
    /// The SHA-256 digests of the accepted keys, 32 bytes each; at least one if the caller has no other proof.
    package let keyDigests: [[UInt8]]
    package let certificate: CertificateNameSettings?
    package let peer: PeerSettings?
    /// The names of the routes that it may use; `nil`: all.
    package let routes: [String]?
    /// The accounts that it may use; `nil`: all.
    package let accounts: [AccountPattern]?
    /// The methods that it may use, written as in a request; `nil`: all.
    package let methods: [String]?
}

extension CallerSettings {
    /// Whether a text is a valid caller name.
    package static func isName(_ text: String) -> Bool { (try? ConfiguredName.check(text)) != nil }
}

/// Identifies a caller on a Unix socket by the user and group of its process. At least one of them is set.
package struct PeerSettings: Hashable, Sendable {
    package let user: UInt32?
    package let group: UInt32?

    /// Whether every process that matches `other` matches this too.
    func covers(_ other: PeerSettings) -> Bool {
        (self.user == nil || self.user == other.user) && (self.group == nil || self.group == other.group)
    }
}

/// Identifies a caller by its certificate.
package enum CertificateNameSettings: Hashable, Sendable {
    /// In the form of RFC 4514: `CN=batch,O=Acme`.
    case subject(String)
    /// In lower case.
    case dns(String)
    case uri(String)
    case email(String)

    /// Parses a subject alternative name and classifies it by its form.
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
    /// Parses a subject in the form of RFC 4514, with the escapes that `openssl` uses for it. Text in any other form,
    /// such as the default output of `openssl`, would match no certificate.
    static func subject(printed text: String) throws(ValueError) -> CertificateNameSettings {
        guard Self.isSubject(text.utf8) else {
            throw ValueError(
                "is not a subject such as CN=batch,O=Acme; to print one: openssl x509 -noout -subject"
                    + " -nameopt RFC2253,utf8,-esc_msb -in FILE"
            )
        }
        return .subject(text)
    }

    /// Each attribute begins with its name, without a space before it. Attributes begin at the start of the text and
    /// after each unescaped comma or plus sign.
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
                // `\C3` is refused: `openssl` writes it for non-ASCII characters unless it is called with utf8 and
                // -esc_msb.
                guard #" #"+,;<>\"#.utf8.contains(byte) else { return false }
                isEscaped = false
            } else {
                switch byte {
                case 0x5C: isEscaped = true
                // , and +
                case 0x2C, 0x2B: (isInName, nameLength) = (true, 0)
                // " ; < and > must always be escaped.
                case 0x22, 0x3B, 0x3C, 0x3E: return false
                default: break
                }
            }
        }
        return !isInName && !isEscaped
    }
}
