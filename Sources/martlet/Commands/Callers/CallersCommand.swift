internal import ArgumentParser

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
