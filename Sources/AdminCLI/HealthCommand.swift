internal import ArgumentParser

/// `martlet health`.
struct HealthCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "health",
        abstract: "Exit with 0 when a running gateway is ready for callers.",
        discussion: """
            Needs no admin token. Made for health checks of containers.

            Example:
              HEALTHCHECK CMD ["martlet", "health"]
            """
    )

    @OptionGroup var admin: AdminOptions

    func run() async throws {
        let client = try await self.admin.client(needsToken: false)
        let (reply, readiness) = try await client.readiness()
        if self.admin.isJSON { Console.say(reply.text) }
        if let obstacle = readiness.obstacle { throw CommandFailure(.no, "the gateway is not ready: \(obstacle)") }
        if !self.admin.isJSON { Console.say("ready") }
    }
}
