internal import ArgumentParser
internal import FoundationEssentials
internal import TextCoding
internal import TokenModel
internal import UnixSignals

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

/// Shows a gateway's status repeatedly.
struct StatusWatch: Sendable {
    private let client: AdminClient
    private let isJSON: Bool

    private static let interval = Duration.seconds(1)
    /// How long to wait for one response. After that the gateway is shown as unreachable, and asked again.
    private static let patience = Duration.seconds(3)

    init(_ client: AdminClient, isJSON: Bool) {
        self.client = client
        self.isJSON = isJSON
    }

    /// Returns after SIGINT or SIGTERM, and when the reader of standard output is gone.
    ///
    /// - Throws: for a permanent failure reported by the gateway, such as a wrong token; or if the output is lost.
    func run() async throws {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { for await _ in signals { return } }
            tasks.addTask { try await self.show() }
            _ = try await tasks.next()
            tasks.cancelAll()
        }
        // The terminal shows ^C on the current line, so later output starts on a new one.
        if Terminal.isStandardOutput { Console.say("") }
    }

    private func show() async throws {
        let clock = Timepiece.system
        var lastAnswer: BootInstant?
        var isFirst = true
        while !Task.isCancelled {
            let began = clock.now
            let lines: [String]
            do throws(CommandFailure) {
                let reply = try await self.client.send(AdminRequest.status.within(Self.patience))
                lines = self.isJSON ? [reply.text] : StatusText(times: RelativeTime(now: .now)).lines(try reply.read())
                lastAnswer = began.boot
            } catch {
                guard error.status == .unavailable, !Task.isCancelled else {
                    if Task.isCancelled { return }
                    throw error
                }
                if self.isJSON { Console.complain(error.message) }
                lines = self.isJSON ? [] : Self.absence(error, since: lastAnswer, now: clock.now.boot)
            }
            let text = self.isJSON ? lines.map { $0 + "\n" }.joined() : self.block(lines, at: began.wall, isFirst)
            guard try Console.show(text) else { return }
            isFirst = false
            await clock.rest(until: began.boot.advanced(by: Self.interval))
        }
    }

    private func block(_ lines: [String], at time: WallTime, _ isFirst: Bool) -> String {
        guard let size = Terminal.size else { return WatchScreen.block(lines, at: time.rfc3339) }
        return WatchScreen(rows: size.rows, columns: size.columns).frame(lines, at: time.rfc3339, clears: isFirst)
    }

    private static func absence(_ error: CommandFailure, since last: BootInstant?, now: BootInstant) -> [String] {
        let since = last.map { "; its last answer was \($0.duration(to: now).components.seconds) s ago" } ?? ""
        return [PlainText.line(error.message), "asking again each second\(since)"]
    }
}

/// `martlet health`.
struct HealthCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "health",
        abstract: "Exit with 0 when a running gateway is ready for callers, or with --live when it is alive.",
        discussion: """
            Needs no admin token. Made for health checks of containers. A gateway that is locked, or whose store is out of \
            reach, is alive and not ready: a restart would not help it.

            Example:
              martlet health
              HEALTHCHECK CMD ["martlet", "health", "--live"]
            """
    )

    @Flag(help: "Ask only whether the process answers, as a locked one does.") var live = false
    @OptionGroup var admin: AdminOptions

    func run() async throws {
        let client = try await self.admin.client(needsToken: false)
        guard !self.live else {
            let reply = try await client.send(.liveness)
            guard try reply.read(LivenessReply.self).alive else {
                throw CommandFailure(.no, "the gateway says that it is not alive")
            }
            return Console.say(self.admin.isJSON ? reply.text : "alive")
        }
        let (reply, readiness) = try await client.readiness()
        if self.admin.isJSON { Console.say(reply.text) }
        if let obstacle = readiness.obstacle { throw CommandFailure(.no, "the gateway is not ready: \(obstacle)") }
        if !self.admin.isJSON { Console.say("ready") }
    }
}

/// Shows lines repeatedly: in place on a terminal, one block after another elsewhere.
package struct WatchScreen: Sendable {
    private let rows: Int
    private let columns: Int

    package init(rows: Int, columns: Int) {
        self.rows = rows
        self.columns = columns
    }

    /// The text that draws `lines` over the previous ones (ECMA-48). Lines are cut to the terminal's size, so that
    /// nothing scrolls.
    ///
    /// - Parameter clears: whether to clear the screen first.
    package func frame(_ lines: [String], at time: String, clears: Bool) -> String {
        // The last row is left for the cursor.
        let room = max(self.rows - 2, 1)
        var shown = [time] + lines.prefix(lines.count > room ? room - 1 : room)
        if lines.count > room { shown.append("… \(lines.count - room + 1) more lines; the terminal is too low") }
        let text = shown.map { $0.prefix(self.columns) + "\u{1B}[K\n" }.joined()
        return (clears ? "\u{1B}[2J" : "") + "\u{1B}[H" + text + "\u{1B}[J"
    }

    /// The lines as a block for output that is not a terminal.
    package static func block(_ lines: [String], at time: String) -> String {
        ([time] + lines + [""]).map { $0 + "\n" }.joined()
    }
}
