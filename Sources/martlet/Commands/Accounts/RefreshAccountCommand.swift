internal import ArgumentParser
internal import FoundationEssentials

/// `martlet accounts refresh`.
struct RefreshAccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "refresh",
        abstract: "Refresh an account's access token now, even a valid one.",
        discussion: """
            Exits with 1 when that brings no new token, also where the old one is still valid: it says which.

            Example:
              martlet accounts refresh alice
            """
    )

    @Argument(help: "The account's name in the configuration.") var name: String
    @OptionGroup var admin: AdminOptions

    func run() async throws {
        let client = try await self.admin.client()
        let reply = try await client.send(.refresh(self.name))
        let account = try reply.read(AccountReply.self)
        // What is asked for the words alone does not hold up the answer.
        if self.admin.isJSON { Console.say(reply.text) }
        let kills = await client.kills(of: account)
        let times = RelativeTime(now: .now)
        if !self.admin.isJSON {
            for line in AccountText(times: times).details(account, kills: kills) { Console.say(line) }
        }
        if let failure = account.failureAfterRefresh(times, kills: kills) { throw failure }
    }
}
