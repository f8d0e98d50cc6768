internal import FoundationEssentials
internal import TextCoding
package import TokenModel

extension KillCommand {
    /// Sends the order. While the gateway waits for replicas, prints on standard error which ones.
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

    /// The kill with its tokens counted, because the response to an order doesn't wait for the count; the unchanged
    /// `kill` if no response arrives in time. A few accounts are looked through within a moment.
    static func counted(_ kill: KillReply, by client: AdminClient) async -> KillReply {
        guard kill.tokens.isCounted == false, kill.epoch != nil else { return kill }
        let clock = Timepiece.system
        let end = clock.now.boot.advanced(by: .seconds(1))
        while true {
            guard let reply = try? await client.exchange(AdminRequest.killReport(kill.id).within(.seconds(10))),
                let counted = try? reply.read(KillReply.self)
            else { return kill }
            guard counted.tokens.isCollected == false, clock.now.boot < end else { return counted }
            await clock.rest(until: clock.now.boot.advanced(by: .milliseconds(50)))
        }
    }

    /// Prints the progress until its task is canceled.
    private static func tell(of scope: ScopeReply, _ reason: String, by client: AdminClient) async {
        let clock = Timepiece.system
        var sighting = KillFinder(of: scope, reason: reason)
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

/// The replicas that a kill still waits for, printed while it waits: every second in place on a terminal, elsewhere on
/// each change and every five seconds.
package struct KillProgress: Sendable {
    private let isTerminal: Bool
    private var names: [String] = []
    private var saidAt: BootInstant?

    private static let interval = Duration.seconds(5)

    package init(isTerminal: Bool) {
        self.isTerminal = isTerminal
    }

    /// The text to write, including its line ending; `nil` for nothing.
    ///
    /// - Parameter kill: `nil` if its progress is not known.
    package mutating func text(_ kill: KillReply?, times: RelativeTime, now: BootInstant) -> String? {
        let missing = kill?.replicas.filter { $0.state == "pending" } ?? []
        guard !missing.isEmpty else { return nil }
        let who = missing.map { replica in
            "\(replica.name) (its lease ends \(replica.until.map { times.text($0) } ?? "at a time that nobody knows"))"
        }
        let line = PlainText.line("pending: waiting for \(who.joined(separator: ", "))")
        if self.isTerminal {
            self.saidAt = now
            return "\r\u{1B}[K\(line)"
        }
        let names = missing.map(\.name)
        if names == self.names, let saidAt, saidAt.duration(to: now) < Self.interval { return nil }
        (self.names, self.saidAt) = (names, now)
        return "martlet: \(line)\n"
    }

    /// The text that clears the terminal's line.
    package var end: String? { self.isTerminal && self.saidAt != nil ? "\r\u{1B}[K" : nil }
}
