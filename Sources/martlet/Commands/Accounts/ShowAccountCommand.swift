internal import ArgumentParser
internal import FoundationEssentials

/// `martlet accounts show`.
struct ShowAccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show one account.",
        discussion: """
            Tokens that were removed or killed and that the provider has not revoked yet are among what is shown.

            Example:
              martlet accounts show alice
            """
    )

    @Argument(help: "The account's name in the configuration.") var name: String
    @OptionGroup var admin: AdminOptions

    func run() async throws {
        let client = try await self.admin.client()
        let reply: AdminReply
        do {
            reply = try await client.send(.accountWithUnrevoked(self.name))
        } catch {
            // The store does not say which wait, or a gateway of before does not know the question.
            reply = try await client.send(.account(self.name))
        }
        if self.admin.isJSON { return Console.say(reply.text) }
        let account = try reply.read(AccountReply.self)
        let kills = await client.kills(of: account)
        for line in AccountText(times: RelativeTime(now: .now)).details(account, kills: kills) { Console.say(line) }
        if account.unrevoked == nil {
            Console.mention(
                "whether tokens of it are still to be revoked is unknown: the gateway or its store does not say"
            )
        }
    }
}
