internal import ArgumentParser
internal import Crypto
internal import Settings

/// `martlet callers`.
struct CallersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "callers",
        abstract: "Make keys for those who use the gateway.",
        discussion: """
            A caller is a client of the gateway that proves itself by a key. The configuration has the key's SHA-256 only.

            Example:
              martlet callers new reports
            """,
        subcommands: [NewCallerCommand.self]
    )
}

/// `martlet callers new`.
struct NewCallerCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "new",
        abstract: "Make a key for a caller, and its line for martlet.yaml.",
        discussion: """
            Prints the key, which is kept nowhere and not shown again, and the line that lets it in: put that under
            "callers:" and add routes, accounts or methods to let it use only those. A key is martlet_ and 43 letters
            and digits, 256 random bits. Needs no running gateway.

            Example:
              martlet callers new reports
              curl -H "Authorization: Bearer $KEY" http://127.0.0.1:8080/acme/users
            """
    )

    @Argument(help: "What the caller is called: 1 to 64 letters, digits, dots, underscores or hyphens.")
    var name: String

    func validate() throws {
        guard CallerSettings.isName(self.name) else {
            throw ValidationError("a caller's name has 1 to 64 letters, digits, dots, underscores or hyphens")
        }
    }

    func run() {
        let key = CallerKey()
        Console.say("key:  \(key.text)")
        Console.say("line: - { name: \(self.quotedName), key_sha256: \(key.digest) }")
    }

    /// The name, in quotes if YAML would read it as something other than text, such as `1` or `null`.
    private var quotedName: String {
        self.name.first?.isLetter == true && !["null", "true", "false", "yes", "no"].contains(self.name.lowercased())
            ? self.name : "\"\(self.name)\""
    }
}

/// A new caller key: `martlet_` and 43 letters and digits from the system's random source, 256 bits.
///
/// The prefix lets people and secret scanners recognize a key.
package struct CallerKey {
    /// What the caller sends.
    package let text: String

    package init() {
        self.text = "martlet_" + RandomText.lettersAndDigits(43)
    }

    /// The form stored in the configuration: the SHA-256 of the key's characters, as 64 hexadecimal digits.
    package var digest: String {
        SHA256.hash(data: Array(self.text.utf8)).map { byte in
            let digits = String(byte, radix: 16)
            return byte < 16 ? "0\(digits)" : digits
        }.joined()
    }
}

/// Text from the system's random source. Letters and digits need no quoting in a shell, a URL, YAML or a header field.
enum RandomText {
    private static let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")

    /// 43 characters have 256 bits: 43 × log2(62) = 256.03.
    static func lettersAndDigits(_ count: Int) -> String {
        var generator = SystemRandomNumberGenerator()
        return String((0..<count).map { _ in Self.alphabet[Int.random(in: Self.alphabet.indices, using: &generator)] })
    }
}
