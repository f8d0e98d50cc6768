internal import NIOCore
internal import Synchronization
internal import TextCoding
internal import TokenModel

/// `martlet accounts import --all`.
struct BulkImport: Sendable {
    let client: AdminClient
    /// `nil` for standard input.
    let path: String?
    let existing: ExistingPolicy
    let isJSON: Bool

    static let example = "martlet accounts import --all accounts.jsonl"

    /// Streams the lines to the gateway, and reports its results while they come.
    func run() async throws(CommandFailure) {
        guard self.path != nil || !Terminal.isStandardInput else {
            throw CommandFailure(
                .usage,
                "--all reads lines from a file or a pipe, not from a terminal, which would show tokens: \(Self.example)"
            )
        }
        let input = try ImportInput.opening(self.path)
        let clock = Timepiece.system
        let report = Mutex(
            ImportReport(isJSON: self.isJSON, isTerminal: Terminal.isStandardError, now: clock.now.boot)
        )
        do throws(CommandFailure) {
            try await self.client.stream(.importMany(existing: self.existing), input) { part throws(CommandFailure) in
                try report.withLock { report throws(CommandFailure) in
                    try Self.write(report.take(part.readableBytesView, now: clock.now.boot))
                }
            }
        } catch {
            throw self.failure(error, report.withLock { $0 }, hasBegun: input.hasBegun)
        }
        let final = report.withLock { $0 }
        guard final.isComplete else {
            throw self.failure(
                CommandFailure(.unavailable, "the gateway ended its response early"),
                final,
                hasBegun: true
            )
        }
        if !final.clearing.isEmpty { Console.ask(final.clearing) }
        try Self.write(final.summary)
        guard final.answered > 0 else { throw CommandFailure(.usage, "the input has no lines: nothing was imported") }
        guard final.refused == 0 else {
            throw CommandFailure(.no, "\(final.refused.grouped) of \(final.answered.grouped) lines were refused")
        }
    }

    /// The failure with what is known of the lines until then.
    ///
    /// - Parameter hasBegun: whether the gateway may have got lines.
    private func failure(_ failure: CommandFailure, _ report: ImportReport, hasBegun: Bool) -> CommandFailure {
        if !report.clearing.isEmpty { Console.ask(report.clearing) }
        guard failure.status == .unavailable, hasBegun else { return failure }
        let lines = report.answered == 1 ? "1 line" : "\(report.answered.grouped) lines"
        return CommandFailure(
            failure.status,
            "\(failure.message); results came for \(lines), and more may be done; \(self.existing.safety)"
        )
    }

    private static func write(_ output: ImportReport.Output) throws(CommandFailure) {
        // A reader that wants no more of the results does not end the import.
        if !output.results.isEmpty { _ = try Console.show(output.results) }
        if !output.notes.isEmpty { Console.note(output.notes) }
        if !output.progress.isEmpty { Console.ask(output.progress) }
    }
}
