internal import ArgumentParser

/// `martlet accounts`.
struct AccountsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "accounts",
        abstract: "Show accounts, and import, refresh, adopt or remove their tokens.",
        discussion: """
            An account is one authorization at a provider. The configuration names it; its tokens arrive by import.

            Example:
              martlet accounts list
            """,
        subcommands: [
            ListAccountsCommand.self, ShowAccountCommand.self, ImportTokensCommand.self, RefreshAccountCommand.self,
            RemoveTokensCommand.self, AdoptTokensCommand.self,
        ]
    )
}
