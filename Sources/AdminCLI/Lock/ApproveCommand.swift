internal import ArgumentParser
internal import FoundationEssentials

/// `martlet approve`.
struct ApproveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "approve",
        abstract: "Let an account that needs approvals be used for a while.",
        discussion: """
            require_approval in the configuration says which accounts need that, and for how long it holds. All replicas \
            learn of it, and requests that wait for it go on. A kill ends it.

            Exits with 1 where the account needs no approval or is killed, and with 64 for a name that nobody knows.

            Example:
              martlet approve payments-eu
            """
    )

    @Argument(help: "The account.") var name: String
    @OptionGroup var admin: AdminOptions

    func run() async throws {
        let order = Array(try JSONEncoder().encode(["account": self.name]))
        let reply = try await self.admin.client().send(.approve(order, for: self.name))
        if self.admin.isJSON { return Console.say(reply.text) }
        Console.say(LockText(times: RelativeTime(now: .now)).line(try reply.read(ApprovalReply.self)))
    }
}
