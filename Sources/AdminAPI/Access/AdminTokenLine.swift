internal import TokenModel

/// A line of the file of admin tokens: `TOKEN`, or `NAME ROLE TOKEN`.
package struct AdminTokenLine: Sendable {
    package let entry: AdminTokens.Entry

    /// Reads a line without its end.
    ///
    /// - Throws: what is wrong with it, which repeats nothing of it: words that are out of place may be a token.
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
        guard let role = AdministratorRole(rawValue: String(decoding: words[1], as: UTF8.self)) else { throw .role }
        let administrator = Administrator(name: name, role: role)
        guard administrator.isToldApart else { throw .reservedName }
        self.entry = AdminTokens.Entry(administrator, Secret(token))
    }

    /// Whether an administrator can have that name. It stands in records and logs.
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
                "the second word is no role: " + AdministratorRole.allCases.map(\.rawValue).joined(separator: ", ")
                    + " are"
            case .reservedName:
                "the name admin is that of a token without one, which is an operator's: another role takes another name"
            }
        }
    }
}
