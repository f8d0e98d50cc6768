internal import TokenModel

/// The characters of a token, chosen so that a token can neither end a header field nor begin another one.
enum TokenText {
    /// The maximum length in bytes. It is far more than a header field can carry anywhere, and little enough for two
    /// tokens in one record.
    static let longest = 16_384

    /// Whether the byte is printable ASCII except the space (`VCHAR`, RFC 5234 §B.1).
    static func isTokenByte(_ byte: UInt8) -> Bool { byte > 0x20 && byte < 0x7F }

    /// Whether `secret` may stand in a header field as a token.
    static func isToken(_ secret: Secret) -> Bool {
        guard (1...Self.longest).contains(secret.count) else { return false }
        return secret.withUnredacted { bytes in
            for index in bytes.indices where !Self.isTokenByte(bytes[index]) { return false }
            return true
        }
    }
}

/// A line of the admin token file: `TOKEN`, or `NAME ROLE TOKEN`. A registrar's role is `registrar:ACCOUNTS`.
package struct AdminTokenLine: Sendable {
    package let entry: AdminTokens.Entry

    /// Reads a line without its line end.
    ///
    /// - Throws: what is wrong with the line. The error repeats nothing of the line, because a misplaced word may be a
    ///   token.
    package init(_ line: some Collection<UInt8>) throws(Fault) {
        let words = line.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        guard let token = words.last, words.count == 1 || words.count == 3,
            words.allSatisfy({ $0.allSatisfy(TokenText.isTokenByte) })
        else { throw .form }
        guard words.count == 3 else {
            self.entry = AdminTokens.Entry(.unnamed, Secret(token))
            return
        }
        let name = String(decoding: words[0], as: UTF8.self)
        guard Self.isName(name) else { throw .name }
        guard let role = AdministratorRole(String(decoding: words[1], as: UTF8.self)) else { throw .role }
        let administrator = Administrator(name: name, role: role)
        guard administrator.isToldApart else { throw .reservedName }
        self.entry = AdminTokens.Entry(administrator, Secret(token))
    }

    /// Whether `text` can be an administrator's name. Records and logs contain the name.
    package static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                let character = Character(Unicode.Scalar(byte))
                return byte < 0x80 && (character.isLetter || character.isNumber || "._-".contains(character))
            }
    }

    /// What is wrong with a line, as the rest of a sentence.
    package enum Fault: Error {
        case form, name, role, reservedName

        package var message: String {
            switch self {
            case .form:
                "the line is neither a token nor a name, a role and a token, of printable ASCII with spaces between"
            case .name: "an administrator's name has 1 to 64 letters, digits, dots, underscores or hyphens"
            case .role:
                "the second word is no role: \(AdministratorRole.forms) are, and ACCOUNTS is a name or the beginning of "
                    + "names with a star at its end"
            case .reservedName:
                "the name admin is that of a token without one, which is an operator's: another role takes another name"
            }
        }
    }
}
