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
