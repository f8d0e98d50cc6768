internal import ArgumentParser
internal import FoundationEssentials
internal import TokenModel

/// `martlet lock`.
struct LockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lock",
        abstract: "Take keys and tokens out of a gateway, until martlet unlock.",
        usage: "martlet lock --reason <text> [--all-replicas] [--now] [--wait <time>] [<options>]",
        discussion: """
            From then on no request gets a token, callers get 503 with the code locked, and a restart changes nothing. The \
            keys go when the last token request has ended, because its answer may bring the only valid refresh token. \
            With --now they go at once, and the output names the accounts whose tokens may be lost.

            Exits with 1 when the lock holds and is not complete within --wait: it goes on by itself, and martlet status \
            shows how.

            Example:
              martlet lock --reason "the host moves" --wait 30s
              martlet lock --reason "intruder in the rack" --all-replicas --now
            """
    )

    @Option(help: ArgumentHelp("Why; it stands in the log for good.", valueName: "text")) var reason: String
    @Flag(help: "Lock all replicas of the store, also those that start later.") var allReplicas = false
    @Flag(help: "Don't wait for token requests that are still open.") var now = false
    @Option(help: ArgumentHelp("How long to wait for its end, 5m at most.", valueName: "time")) var wait = "0s"
    @OptionGroup var admin: AdminOptions

    func validate() throws {
        try KillReason.check(self.reason)
        _ = try KillWait.duration(self.wait)
    }

    func run() async throws {
        let order = LockOrderBody(reason: self.reason, isForAllReplicas: self.allReplicas, isNow: self.now)
        let client = try await self.admin.client()
        let first = try await client.send(.lock(Array(try JSONEncoder().encode(order))))
        let reply = try await Self.awaitEnd(first, within: try KillWait.duration(self.wait), by: client)
        let lock = try reply.read(LockReply.self)
        if self.admin.isJSON {
            Console.say(reply.text)
        } else {
            for line in LockText(times: RelativeTime(now: .now)).lines(lock) { Console.say(line) }
        }
        guard !lock.complete else { return }
        throw CommandFailure(.no, LockText.obstacle(lock))
    }

    /// Asks again until the lock is complete or the time is over.
    ///
    /// - Returns: the last response.
    private static func awaitEnd(
        _ first: AdminReply,
        within wait: Duration,
        by client: AdminClient
    ) async throws -> AdminReply {
        let clock = Timepiece.system
        let end = clock.now.boot.advanced(by: wait)
        var reply = first
        while try !reply.read(LockReply.self).complete, clock.now.boot < end {
            await clock.rest(until: min(clock.now.boot.advanced(by: .milliseconds(250)), end))
            reply = try await client.send(.lockStatus)
        }
        return reply
    }
}
