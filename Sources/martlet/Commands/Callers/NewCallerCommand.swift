internal import ArgumentParser
internal import Settings

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

    /// A name that YAML would read as something else than text, such as `1` or `null`, keeps its characters in quotes.
    private var quotedName: String {
        self.name.first?.isLetter == true && !["null", "true", "false", "yes", "no"].contains(self.name.lowercased())
            ? self.name : "\"\(self.name)\""
    }
}
