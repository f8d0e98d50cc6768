internal import ArgumentParser
internal import FoundationEssentials
internal import Settings
internal import TextCoding

/// `martlet kill`.
struct KillCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kill",
        abstract: "Invalidate tokens: all of them, a provider's or an account's.",
        usage: """
            martlet kill (--all | --provider <name> | --account <name>) --reason <text>
                         [--wait <time>] [--drain] [<options>]
            """,
        discussion: """
            When it says complete, no replica puts any of these tokens into a request, and none ever will; the tokens are \
            being revoked at their providers, and the report says how that went. Until martlet revive no new ones come. \
            Requests under way are cut, or may end with --drain. While it waits, \
            standard error says for whom.

            Exits with 1 when the kill holds and not every replica has stopped within --wait, or the store has not taken it \
            yet: it goes on by itself, and martlet kills shows how. Where nothing was killed, such as for a name that nobody \
            knows, it exits with 64; with 69 it may have been, which martlet kills shows too.

            Example:
              martlet kill --account alice --reason "laptop stolen"
              martlet kill --all --reason drill --wait 30s
            """
    )

    @OptionGroup var scope: ScopeOptions
    @Option(help: ArgumentHelp("Why; it stands in the log for good.", valueName: "text")) var reason: String
    @Option(help: ArgumentHelp("How long to wait for its end, 5m at most.", valueName: "time")) var wait = "15s"
    @Flag(help: "Let requests finish whose head was already sent, instead of cutting them.") var drain = false
    @OptionGroup var admin: AdminOptions

    func validate() throws {
        try KillReason.check(self.reason)
        _ = try KillWait.duration(self.wait)
    }

    func run() async throws {
        let order = Order(
            scope: self.scope.scope,
            reason: self.reason,
            wait: self.wait,
            streams: self.drain ? "drain" : "abort"
        )
        let client = try await self.admin.client(otherwise: AdminRequest.nothingWasKilled)
        let reply = try await Self.send(
            .kill(Array(try JSONEncoder().encode(order)), wait: try KillWait.duration(self.wait)),
            for: order.scope,
            reason: self.reason,
            by: client
        )
        var kill = try reply.read(KillReply.self)
        let isAudited = kill.audited != false
        if self.admin.isJSON {
            Console.say(reply.text)
        } else {
            kill = await Self.counted(kill, by: client)
            for line in KillText(times: RelativeTime(now: .now)).lines(kill) { Console.say(line) }
        }
        // A locked gateway keeps the order for the audit log.
        if !isAudited, !kill.isOfLockedGateway {
            let later = kill.isComplete ? "" : "; where the gateway has to keep it, it gets there with the kill"
            Console.complain("warning: the audit log could not be written; this kill is not in it\(later)")
        }
        guard !kill.isComplete else { return }
        throw CommandFailure(.no, KillText.obstacle(kill))
    }

    private struct Order: Encodable {
        let scope: ScopeReply
        let reason: String
        let wait: String
        let streams: String
    }
}

/// `martlet kills`.
struct KillsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kills",
        abstract: "Show the kills there were, and how far each has come.",
        discussion: """
            --tokens shows what became of each token of one kill, never the tokens themselves. With --json it prints the \
            admin API's answers, one a line, of 1,000 tokens each.

            Example:
              martlet kills
              martlet kills --tokens 5f0c4a1e | grep -v revoked
            """
    )

    @Option(help: ArgumentHelp("Show the tokens of this kill.", valueName: "id")) var tokens: String?
    @OptionGroup var admin: AdminOptions

    func run() async throws {
        let client = try await self.admin.client()
        let text = KillText(times: RelativeTime(now: .now))
        guard let id = self.tokens else {
            let reply = try await client.send(.kills)
            if self.admin.isJSON { return Console.say(reply.text) }
            for line in text.lines(try reply.read(KillsReply.self)) { Console.say(line) }
            return
        }
        var after: String?
        repeat {
            let reply = try await client.send(.killedTokens(id, after: after))
            let page = try reply.read(KilledTokensReply.self)
            if self.admin.isJSON { Console.say(reply.text) }
            if !self.admin.isJSON { for line in text.lines(page) { Console.say(line) } }
            after = page.next
        } while after != nil
    }
}

/// `martlet revive`.
struct ReviveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revive",
        abstract: "Let new tokens come after a kill.",
        usage: "martlet revive (--all | --provider <name> | --account <name>) --reason <text> [<options>]",
        discussion: """
            What was killed stays dead: accounts need new tokens by import or sign-in; minted ones come by themselves.

            Exits with 1 where that is not killed by itself, and with 64 for a name that nobody knows.

            Example:
              martlet revive --account alice --reason "laptop replaced"
              martlet revive --all --reason "the drill is over"
            """
    )

    @OptionGroup var scope: ScopeOptions
    @Option(help: ArgumentHelp("Why; it stands in the log for good.", valueName: "text")) var reason: String
    @OptionGroup var admin: AdminOptions

    func validate() throws { try KillReason.check(self.reason) }

    func run() async throws {
        let order = Order(scope: self.scope.scope, reason: self.reason)
        let reply = try await self.admin.client().send(.revive(Array(try JSONEncoder().encode(order))))
        if self.admin.isJSON { return Console.say(reply.text) }
        let revival = try reply.read(RevivalReply.self)
        Console.say(
            "\(revival.revived.text) may have new tokens again; what was killed stays dead: sign in with martlet login "
                + "\(revival.revived.account.map { ShellWord.quoted($0) } ?? "NAME") or import new ones (minted ones come by themselves)"
        )
        for kill in revival.lifted ?? [] { Console.say("lifted: kill \(kill.id), epoch \(kill.epoch)") }
        if !revival.killed.isEmpty {
            Console.say("still killed: \(revival.killed.map(\.text).joined(separator: ", "))")
        }
    }

    private struct Order: Encodable {
        let scope: ScopeReply
        let reason: String
    }
}

/// The reason for a kill or a revival. Logs keep it permanently.
enum KillReason {
    /// Refuses a blank reason before anything is sent.
    static func check(_ reason: String) throws {
        guard reason.contains(where: { !$0.isWhitespace }) else {
            throw ValidationError("--reason is blank: say in a few words why")
        }
    }
}

/// How long a kill waits for its completion, such as `15s`. The gateway gets this time with the order, and the command
/// waits correspondingly longer for the response.
enum KillWait {
    private static let longest = Duration.seconds(300)

    /// Refuses an invalid time before anything is sent.
    static func duration(_ text: String) throws -> Duration {
        guard let wait = try? Quantity.duration(text), wait <= Self.longest else {
            throw ValidationError("--wait takes a time with its unit, such as 500ms, 15s or 2m, and 5m at most")
        }
        return wait
    }
}

/// The options that select the tokens: exactly one of three.
struct ScopeOptions: ParsableArguments {
    @Flag(help: "All tokens of the gateway.") var all = false
    @Option(
        name: .customLong("provider"),
        parsing: .singleValue,
        help: ArgumentHelp("All tokens of one provider.", valueName: "name")
    )
    var providers: [String] = []
    @Option(
        name: .customLong("account"),
        parsing: .singleValue,
        help: ArgumentHelp("The tokens of one account.", valueName: "name")
    )
    var accounts: [String] = []

    func validate() throws {
        // If several are named, none may be ignored silently.
        let named = (self.all ? 1 : 0) + self.providers.count + self.accounts.count
        guard named == 1 else { throw ValidationError("name exactly one of --all, --provider and --account, once") }
    }

    /// The scope in the admin API's form.
    var scope: ScopeReply {
        ScopeReply(all: self.all ? true : nil, provider: self.providers.first, account: self.accounts.first)
    }
}

extension CommandFailure {
    /// The failure for a kill order that the gateway refused. ``ProgramExit/no`` becomes ``ProgramExit/usage``, because
    /// for a kill the former means that the kill is active and a replica has not stopped.
    package var ofRefusedKill: CommandFailure {
        self.status == .no ? CommandFailure(.usage, self.message) : self
    }
}
