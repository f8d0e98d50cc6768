internal import ArgumentParser
internal import FoundationEssentials

/// `martlet status`.
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show a running gateway at a glance.",
        discussion: """
            Example:
              martlet status
              martlet status --admin http://127.0.0.1:9081 --admin-token-file /var/lib/martlet/admin.token
            """
    )

    @OptionGroup var admin: AdminOptions

    func run() async throws {
        let reply = try await self.admin.client().send(.status)
        if self.admin.isJSON { return Console.say(reply.text) }
        let status = try reply.read(StatusReply.self)
        for line in StatusText(times: RelativeTime(now: .now)).lines(status) { Console.say(line) }
    }
}
