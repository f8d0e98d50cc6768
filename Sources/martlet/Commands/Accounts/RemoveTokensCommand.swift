internal import ArgumentParser
internal import FoundationEssentials

/// `martlet accounts remove`.
struct RemoveTokensCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Revoke an account's tokens at the provider and forget them.",
        discussion: """
            The tokens are removed whatever the provider does; exits with 1 when it was asked and did not revoke one, or when \
            the configuration does not have it any more. Who is asked is the provider that they were made by. Where it can't be \
            reached, or is not configured, the gateway keeps the tokens sealed for a day, to revoke them when it is back. This \
            is no kill: other tokens may be imported at once, and nothing has to be revived. Those that were removed stay dead.

            Example:
              martlet accounts remove alice
            """
    )

    @Argument(help: "The account's name, also of one that is not configured any more.") var name: String
    @OptionGroup var admin: AdminOptions

    func run() async throws {
        let reply = try await self.admin.client().send(.removeTokens(of: self.name))
        let removal = try reply.read(RemovalReply.self)
        if self.admin.isJSON {
            Console.say(reply.text)
        } else if removal.tokens.isEmpty {
            Console.say("account \(PlainText.line(removal.account.name)) had no tokens")
        } else {
            for line in AccountText(times: RelativeTime(now: .now)).table(removal.tokens) { Console.say(line) }
        }
        if let failure = removal.failure { throw failure }
    }
}
