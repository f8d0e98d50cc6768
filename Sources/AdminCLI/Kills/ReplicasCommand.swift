internal import ArgumentParser
internal import FoundationEssentials
internal import TextCoding

/// `martlet replicas`.
struct ReplicasCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replicas",
        abstract: "Show the gateways that share this one's store, those that a kill waits for, or forget one.",
        discussion: """
            Example:
              martlet replicas list
            """,
        subcommands: [ListReplicasCommand.self, ForgetReplicaCommand.self],
        defaultSubcommand: ListReplicasCommand.self
    )
}

/// `martlet replicas list`.
struct ListReplicasCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show the gateways that share this one's store: those that a kill waits for."
    )

    @OptionGroup var admin: AdminOptions

    func run() async throws {
        let reply = try await self.admin.client().send(.replicas)
        if self.admin.isJSON { return Console.say(reply.text) }
        let times = RelativeTime(now: .now)
        var table = TextTable("REPLICA", "BOOT", "LEASE", "FENCED UP TO", "JOINED")
        for replica in try reply.read(ReplicasReply.self).replicas {
            let isOpen = replica.readable != false
            table.add([
                Self.name(replica),
                String(replica.boot.prefix(8)),
                isOpen ? DurationText.text(of: .milliseconds(replica.leaseMilliseconds)) : "-",
                isOpen ? String(replica.acknowledged) : "-",
                times.text(replica.joinedAt),
            ])
        }
        for line in table.lines { Console.say(line) }
    }

    private static func name(_ replica: ReplicasReply.Replica) -> String {
        if replica.this { return "\(replica.name) (this one)" }
        return replica.expelled ? "\(replica.name) (expelled)" : replica.name
    }
}

/// `martlet replicas forget`.
struct ForgetReplicaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Take a gateway that is gone for good out of the list, so that no kill waits for it.",
        discussion: """
            One that stops in order takes itself out, and one whose process has ended on this host is found out. This is for \
            the others, such as those of a host that is lost. It is marked first, and goes when its lease is over; one that \
            lives all the same finds that out, and joins again.

            Example:
              martlet replicas forget web-3
            """
    )

    @Argument(help: "The name, or the boot or its beginning where several have the name.") var name: String
    @OptionGroup var admin: AdminOptions

    func run() async throws {
        let reply = try await self.admin.client().send(.forgetReplica(self.name))
        if self.admin.isJSON { return Console.say(reply.text) }
        let forgotten = try reply.read(ForgottenReplicaReply.self)
        guard let until = forgotten.until else { return Console.say("\(forgotten.name) is forgotten") }
        Console.say(
            "\(forgotten.name) is expelled, and forgotten \(RelativeTime(now: .now).text(until)): until then it may go on, by its lease"
        )
    }
}
