internal import AdminAPI
internal import ArgumentParser

/// `martlet admin`.
struct AdminCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "admin",
        abstract: "Make admin tokens for those who look after the gateway.",
        discussion: """
            Each administrator has an own token, with a name that the audit log shows and a role: an operator may do
            everything, a killer read, kill and purge caches, a viewer read.

            Example:
              martlet admin new dana --role killer
            """,
        subcommands: [NewAdministratorCommand.self]
    )
}

/// `martlet admin new`.
struct NewAdministratorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "new",
        abstract: "Make an admin token, and its line for the file of admin tokens.",
        discussion: """
            Prints the token, which is kept nowhere and not shown again, and the line that lets its holder in: add that to
            the file that admin.token_file names (admin.token in the state directory), and send the gateway SIGHUP. A
            token is martlet_admin_ and 43 letters and digits, 256 random bits. Needs no running gateway.

            Roles:
              operator  everything
              killer    reads, kills, and purges caches
              viewer    reads

            Example:
              martlet admin new dana --role killer
              MARTLET_ADMIN_TOKEN=$TOKEN martlet kill --account alice --reason "key found in a repository"
            """
    )

    @Argument(
        help: "Who it is for, as the audit log names them: 1 to 64 letters, digits, dots, underscores or hyphens."
    )
    var name: String

    @Option(
        help: ArgumentHelp("What they may do: operator, killer or viewer.", valueName: "role"),
        transform: Self.role
    )
    var role: AdministratorRole

    private static func role(_ text: String) throws -> AdministratorRole {
        guard let role = AdministratorRole(rawValue: text) else {
            throw ValidationError("a role is operator, killer or viewer")
        }
        return role
    }

    func validate() throws {
        guard AdminTokenLine.isName(self.name) else {
            throw ValidationError("an administrator's name has 1 to 64 letters, digits, dots, underscores or hyphens")
        }
        guard Administrator(name: self.name, role: self.role).isToldApart else {
            throw ValidationError(
                "the name admin is that of a token without one, which is an operator's: another role takes another name"
            )
        }
    }

    func run() {
        let token = "martlet_admin_" + RandomText.lettersAndDigits(43)
        Console.say("token: \(token)")
        Console.say("line:  \(self.name) \(self.role.rawValue) \(token)")
    }
}
