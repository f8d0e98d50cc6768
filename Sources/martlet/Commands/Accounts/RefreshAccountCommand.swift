internal import ArgumentParser
internal import FoundationEssentials

/// `martlet accounts refresh`.
struct RefreshAccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "refresh",
        abstract: "Refresh an account's access token now, even a valid one.",
        discussion: """
            Exits with 1 when the account is not valid afterwards.

            Example:
              martlet accounts refresh alice
            """
    )

    @Argument(help: "The account's name in the configuration.") var name: String
    @OptionGroup var admin: AdminOptions

    func run() async throws {
        let reply = try await self.admin.client().send(.refresh(self.name))
        let account = try reply.read(AccountReply.self)
        if self.admin.isJSON {
            Console.say(reply.text)
        } else {
            for line in AccountText(times: RelativeTime(now: .now)).details(account) { Console.say(line) }
        }
        if let failure = account.failureAfterRefresh { throw failure }
    }
}
