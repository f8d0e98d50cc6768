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
        let reply = try await client.exchange(.readiness)
        guard reply.httpStatus == 200 || reply.httpStatus == 503 else {
            throw reply.failure(of: AdminRequest.readiness.attempt)
                ?? CommandFailure(.unavailable, "the answer (\(reply.httpStatus)) is not one of a gateway's admin API")
        }
        let readiness = try reply.read(ReadinessReply.self)
        if self.admin.isJSON { Console.say(reply.text) }
        if let obstacle = readiness.obstacle { throw CommandFailure(.no, "the gateway is not ready: \(obstacle)") }
        if !self.admin.isJSON { Console.say("ready") }
    }
}
