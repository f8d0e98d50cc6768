internal import ArgumentParser
internal import FoundationEssentials

/// `martlet accounts adopt`.
struct AdoptTokensCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "adopt",
        abstract: "Say that an account's tokens belong to its provider as it is configured now.",
        discussion: """
            A record remembers the provider, token endpoint and client id that its tokens were made for. Where the \
            configuration says otherwise nothing is sent, since a refresh token would go to somebody who did not issue \
            it. Adopt the tokens when it is the same provider and client under another name or address; else import \
            new ones. Exits with 1 when the account needs new tokens all the same.

            Example:
              martlet accounts adopt alice
            """
    )

    @Argument(help: "The account's name in the configuration.") var name: String
    @OptionGroup var admin: AdminOptions

    func run() async throws {
        let reply = try await self.admin.client().send(.adopt(self.name))
        let account = try reply.read(AccountReply.self)
        if self.admin.isJSON {
            Console.say(reply.text)
        } else {
            for line in AccountText(times: RelativeTime(now: .now)).details(account) { Console.say(line) }
        }
        if let failure = account.failureAfterAdoption { throw failure }
    }
}
