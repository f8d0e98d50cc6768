internal import FoundationEssentials
internal import TokenModel

extension KillCommand {
    /// Sends the order, and says on standard error for whom it waits as long as it does.
    static func send(
        _ request: AdminRequest,
        for scope: ScopeReply,
        reason: String,
        by client: AdminClient
    ) async throws -> AdminReply {
        try await withThrowingTaskGroup(of: AdminReply?.self) { tasks in
            tasks.addTask {
                do throws(CommandFailure) { return try await client.send(request) } catch { throw error.ofRefusedKill }
            }
            tasks.addTask {
                await Self.tell(of: scope, reason, by: client)
                return nil
            }
            defer { tasks.cancelAll() }
            while let reply = try await tasks.next() {
                if let reply {
                    tasks.cancelAll()
                    try await tasks.waitForAll()
                    return reply
                }
            }
            throw CommandFailure(.unavailable, "the gateway gave no answer")
        }
    }

    /// The kill with its tokens counted, which the answer to an order does not wait for; as it was where nobody tells in
    /// time.
    static func counted(_ kill: KillReply, by client: AdminClient) async -> KillReply {
        guard kill.tokens.isCounted == false, kill.epoch != nil,
            let reply = try? await client.exchange(AdminRequest.killReport(kill.id).within(.seconds(10)))
        else { return kill }
        return (try? reply.read(KillReply.self)) ?? kill
    }

    /// Until its task is cancelled.
    private static func tell(of scope: ScopeReply, _ reason: String, by client: AdminClient) async {
        let clock = Timepiece.system
        var sighting = KillSighting(of: scope, reason: reason)
        var progress = KillProgress(isTerminal: Terminal.isStandardError)
        await clock.rest(until: clock.now.boot.advanced(by: .seconds(1)))
        while !Task.isCancelled {
            let reply = try? await client.exchange(sighting.request.within(.seconds(3)))
            let kill = reply.flatMap { sighting.kill(in: $0) }
            guard !Task.isCancelled else { break }
            if let text = progress.text(kill, times: RelativeTime(now: .now), now: clock.now.boot) { Console.ask(text) }
            await clock.rest(until: clock.now.boot.advanced(by: .seconds(1)))
        }
        if let end = progress.end { Console.ask(end) }
    }
}
