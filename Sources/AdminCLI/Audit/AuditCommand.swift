internal import ArgumentParser
package import Audit
internal import FoundationEssentials
internal import TokenStorage

/// `martlet audit`.
struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Show who has changed what, or prove that nobody has changed that record.",
        discussion: """
            Each change by an operator has two records: one from before it has an effect, and one that says what came of \
            it. Each record holds the SHA-256 of the one before. --verify recomputes them all, and exits with 1 at the \
            first that does not fit. It prints the last one's number and hash: keep them somewhere else, and --expect \
            tells later whether the end was cut off.

            --json prints the admin API's answers, one a line, of 500 records each.

            Asks a running gateway; with --store it reads the store itself, which works without a gateway and trusts none.

            Example:
              martlet audit --last 20
              martlet audit --verify
              martlet audit --verify --store --config martlet.yaml
              martlet audit --json | jq -c '.audit[] | select(.action == "kill")'
            """
    )

    @Flag(help: "Recompute the chain of records instead of showing them.") var verify = false
    @Option(help: ArgumentHelp("With --verify: a record that must be there still.", valueName: "NUMBER:HASH"))
    var expect: String?
    @Option(help: ArgumentHelp("Begin behind this number.", valueName: "number")) var after: UInt64?
    @Option(help: ArgumentHelp("Show no more than this many.", valueName: "count")) var limit: Int?
    @Option(help: ArgumentHelp("Show only the last so many.", valueName: "count")) var last: Int?
    @Flag(help: "Read the store that the configuration names, instead of asking a gateway.") var store = false
    @Option(help: ArgumentHelp("With --store: the passphrase of its keys (default: ask).", valueName: "file"))
    var passphraseFile: String?
    @OptionGroup var admin: AdminOptions

    func validate() throws {
        guard !self.verify || (self.after == nil && self.limit == nil && self.last == nil) else {
            throw ValidationError("--verify looks at all records; it takes neither --after, --limit nor --last")
        }
        guard self.expect == nil || self.verify else { throw ValidationError("--expect goes with --verify") }
        guard self.expect.map({ ExpectedRecord($0) != nil }) != false else {
            throw ValidationError("--expect takes NUMBER:HASH, as --verify prints them")
        }
        guard self.last == nil || (self.after == nil && self.limit == nil) else {
            throw ValidationError("--last goes with neither --after nor --limit")
        }
        guard self.passphraseFile == nil || self.store else {
            throw ValidationError("--passphrase-file goes with --store")
        }
        guard (self.limit ?? 1) > 0, (self.last ?? 1) > 0 else { throw ValidationError("the count is 1 or more") }
    }

    func run() async throws {
        guard self.store else { return try await self.run(on: .gateway(self.admin.client())) }
        let path = self.admin.configuration.path(in: ProcessInfo.processInfo.environment)
        try await withOfflineStore(configuration: path, passphraseFile: self.passphraseFile) { store in
            try await self.run(on: .store(AuditLog(store.opened.records)))
        }
    }

    private func run(on source: AuditSource) async throws {
        if self.verify { try await self.verify(source) } else { try await self.show(source) }
    }

    private func verify(_ source: AuditSource) async throws {
        var chain = AuditChain()
        var expected = self.expect.flatMap(ExpectedRecord.init)
        var known: UInt64 = 0
        try await source.read(after: 0) { reply, _ in
            known = max(known, reply.last)
            for item in reply.audit {
                chain.take(item.item)
                expected?.saw(item.item)
            }
        }
        let verdict = AuditVerdict(chain, reaching: known, expecting: expected)
        if self.admin.isJSON {
            try Console.sayJSON(verdict)
        } else if verdict.records == 0 {
            Console.say("no records")
        } else {
            Console.say("\(verdict.records) records, the last is \(verdict.number):\(verdict.hash)")
        }
        if let fault = verdict.fault { throw CommandFailure(.no, "the audit log is broken: \(fault)") }
    }

    private func show(_ source: AuditSource) async throws {
        var after = self.after ?? 0
        if let last = self.last {
            let end = try await source.last()
            after = end > UInt64(last) ? end - UInt64(last) : 0
        }
        var items: [AuditItem] = []
        try await source.read(after: after, count: self.limit ?? self.last) { reply, text in
            if self.admin.isJSON { Console.say(text) } else { items += reply.audit.map(\.item) }
        }
        guard !self.admin.isJSON else { return }
        guard !items.isEmpty else { return Console.say("no records") }
        for line in AuditText.table(items) { Console.say(line) }
    }
}

/// Records of the audit log as text for people, one per line.
package enum AuditText {
    package static func table(_ items: [AuditItem]) -> [String] {
        var table = TextTable("NO", "TIME", "WHO", "ACTION", "WHAT", "OUTCOME", "REASON")
        for item in items {
            switch item {
            case .unreadable(let number):
                table.add([String(number), "-", "-", "-", "-", "-", "this record does not open"])
            case .record(let record):
                table.add([
                    String(record.number),
                    record.time,
                    self.who(record),
                    record.action,
                    self.what(record),
                    self.outcome(record),
                    [record.reason, record.detail].compactMap(\.self).joined(separator: "; "),
                ])
            }
        }
        return table.lines
    }

    private static func who(_ record: AuditRecord) -> String {
        "\(record.name ?? record.actor) \(record.from ?? "somewhere") at \(record.replica)"
    }

    private static func what(_ record: AuditRecord) -> String {
        guard let scope = record.scope else { return "-" }
        return ScopeReply(all: scope.all, provider: scope.provider, account: scope.account).text
    }

    /// The record before a change has no outcome. The record after it names the first one.
    private static func outcome(_ record: AuditRecord) -> String {
        guard let outcome = record.outcome else { return "(begins)" }
        return record.of.map { "\(outcome), begun as \($0)" } ?? outcome
    }
}
