internal import ArgumentParser
internal import FoundationEssentials

/// `martlet status`.
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show a running gateway at a glance.",
        discussion: """
            With --watch it is shown again each second, until Ctrl-C; a gateway that is away is said to be, and shown again
            when it is back. Where the output is no terminal, each is a block that begins with its time.

            Example:
              martlet status
              martlet status --watch
              martlet status --admin http://127.0.0.1:9081 --admin-token-file /var/lib/martlet/admin.token
            """
    )

    @Flag(help: "Show it again each second.") var watch = false
    @OptionGroup var admin: AdminOptions

    func run() async throws {
        let client = try await self.admin.client()
        guard !self.watch else { return try await StatusWatch(client.silent, isJSON: self.admin.isJSON).run() }
        let reply = try await client.send(.status)
        if self.admin.isJSON { return Console.say(reply.text) }
        let status = try reply.read(StatusReply.self)
        for line in StatusText(times: RelativeTime(now: .now)).lines(status) { Console.say(line) }
    }
}
