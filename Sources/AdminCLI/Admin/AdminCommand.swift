internal import AdminAPI
internal import ArgumentParser

/// `martlet admin`.
struct AdminCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "admin",
        abstract: "Make admin tokens for those who look after the gateway.",
        discussion: """
            Each administrator has an own token, with a name that the audit log shows and a role: an operator may do
            everything, a killer read, kill and purge caches, a viewer read, a registrar import tokens and sign in for
            some accounts.

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
              registrar imports tokens and signs in, for the accounts of --accounts, and sees those accounts

            Example:
              martlet admin new signup --role registrar --accounts 'customer-*'
              martlet admin new dana --role killer
              MARTLET_ADMIN_TOKEN=$TOKEN martlet kill --account alice --reason "key found in a repository"
            """
    )

    @Argument(
        help: "Who it is for, as the audit log names them: 1 to 64 letters, digits, dots, underscores or hyphens."
    )
    var name: String

    @Option(
        help: ArgumentHelp("What they may do: operator, killer, viewer or registrar.", valueName: "role"),
        transform: Self.role
    )
    var role: String

    @Option(
        help: ArgumentHelp(
            "For a registrar: the account, or the beginning of the names of all accounts, with a star at its end.",
            valueName: "accounts"
        )
    )
    var accounts: String?

    /// The role as in the admin token file.
    private var roleText: String { [self.role, self.accounts].compactMap { $0 }.joined(separator: ":") }

    private static let roles = ["operator", "killer", "viewer", "registrar"]

    private static func role(_ text: String) throws -> String {
        guard Self.roles.contains(text) else {
            throw ValidationError("a role is operator, killer, viewer or registrar")
        }
        return text
    }

    func validate() throws {
        guard AdminTokenLine.isName(self.name) else {
            throw ValidationError("an administrator's name has 1 to 64 letters, digits, dots, underscores or hyphens")
        }
        guard (self.role == "registrar") == (self.accounts != nil) else {
            throw ValidationError(
                self.accounts == nil
                    ? "a registrar is for some accounts: add --accounts 'customer-*', or the name of one account"
                    : "--accounts is for the role registrar: the others are for all accounts"
            )
        }
        guard let role = AdministratorRole(self.roleText) else {
            throw ValidationError(
                "--accounts is neither an account's name nor the beginning of names with a star at its end, such as 'customer-*'"
            )
        }
        guard Administrator(name: self.name, role: role).isToldApart else {
            throw ValidationError(
                "the name admin is that of a token without one, which is an operator's: another role takes another name"
            )
        }
    }

    func run() {
        let token = "martlet_admin_" + RandomText.lettersAndDigits(43)
        Console.say("token: \(token)")
        Console.say("line:  \(self.name) \(self.roleText) \(token)")
    }
}
