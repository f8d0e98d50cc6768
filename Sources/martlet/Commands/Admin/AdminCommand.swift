internal import ArgumentParser

/// `martlet admin`.
struct AdminCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "admin",
        abstract: "Make admin tokens for those who look after the gateway.",
        discussion: """
            Each administrator has an own token, with a name that the audit log shows and a role: an operator may do
            everything, a killer read and kill, a viewer read.

            Example:
              martlet admin new dana --role killer
            """,
        subcommands: [NewAdministratorCommand.self]
    )
}
