internal import ArgumentParser
internal import FoundationEssentials

/// `martlet accounts list`.
struct ListAccountsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List all accounts and the state of their tokens.",
        discussion: """
            Example:
              martlet accounts list --json
            """
    )

    @OptionGroup var admin: AdminOptions

    func run() async throws {
        let reply = try await self.admin.client().send(.accounts)
        if self.admin.isJSON { return Console.say(reply.text) }
        let accounts = try reply.read(AccountsReply.self).accounts
        guard !accounts.isEmpty else { return Console.say("no accounts; the configuration names them under accounts") }
        for line in AccountText(times: RelativeTime(now: .now)).table(accounts) { Console.say(line) }
    }
}
