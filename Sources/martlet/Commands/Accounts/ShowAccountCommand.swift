internal import ArgumentParser
internal import FoundationEssentials
internal import Settings

/// `martlet accounts show`.
struct ShowAccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show one account.",
        discussion: """
            Example:
              martlet accounts show alice
            """
    )

    @Argument(help: "The account's name in the configuration.") var name: String
    @OptionGroup var admin: AdminOptions

    func run() async throws {
        let reply = try await self.reply(by: self.admin.client())
        if self.admin.isJSON { return Console.say(reply.text) }
        let account = try reply.read(AccountReply.self)
        for line in AccountText(times: RelativeTime(now: .now)).details(account) { Console.say(line) }
    }

    /// What the gateway says of the account; where it has none of the name, the failure suggests one that it has.
    private func reply(by client: AdminClient) async throws(CommandFailure) -> AdminReply {
        do throws(CommandFailure) {
            return try await client.send(.account(self.name))
        } catch {
            guard error.status == .no, let known = try? await client.send(.accounts).read(AccountsReply.self),
                !known.accounts.contains(where: { $0.name == self.name }),
                let near = Suggestion.closest(to: self.name, among: known.accounts.map(\.name))
            else { throw error }
            throw CommandFailure(error.status, "\(error.message); did you mean \(near)?")
        }
    }
}
