internal import FoundationEssentials
internal import TextCoding
package import TokenModel

/// What an import of many accounts does with one that has tokens.
package enum ExistingPolicy: String, CaseIterable, Sendable {
    case skip, replace, fail

    /// Why the same import may be run once more.
    var safety: String {
        switch self {
        case .skip: "run it again: accounts that have tokens are skipped"
        case .replace: "run it again: tokens that were imported before are skipped"
        case .fail: "run it again with --existing skip, which skips accounts that have tokens"
        }
    }
}

/// One line of the response to an import of many accounts.
package struct ImportReply: Decodable, Sendable {
    /// The number of the line in the input, from 1 on; `nil` in the last line of the response.
    package let line: Int?
    /// `nil` if the line names none.
    package let account: String?
    /// `imported`, `replaced`, `skipped` or `refused`.
    package let result: String?
    /// One word.
    package let reason: String?
    package let message: String?
    /// `true` in the last line, which has the sums.
    package let done: Bool?
    package let imported: Int?
    package let replaced: Int?
    package let skipped: Int?
    package let refused: Int?
}

/// Turns the response to an import of many accounts into text, while it comes.
package struct ImportReport: Sendable {
    /// Text to write.
    package struct Output: Equatable, Sendable {
        /// For standard output.
        package var results = ""
        /// For standard error: the refused lines.
        package var notes = ""
        /// For the terminal at standard error; may be left out.
        package var progress = ""

        package init(results: String = "", notes: String = "", progress: String = "") {
            (self.results, self.notes, self.progress) = (results, notes, progress)
        }
    }

    private let isJSON: Bool
    private let isTerminal: Bool
    private let began: BootInstant
    private var shownAt: BootInstant?
    /// The beginning of a line whose end has not come yet.
    private var rest: [UInt8] = []
    private var counts: [String: Int] = [:]
    /// Whether the last line has come.
    package private(set) var isComplete = false

    private static let interval = Duration.milliseconds(200)
    /// How many refused lines are shown one by one.
    private static let mostShown = 50
    private static let longestLine = 1 << 20

    /// - Parameters:
    ///   - isJSON: whether the response is written as it is, for programs.
    ///   - isTerminal: whether people see standard error, where the progress is shown in place.
    package init(isJSON: Bool, isTerminal: Bool, now: BootInstant) {
        (self.isJSON, self.isTerminal, self.began) = (isJSON, isTerminal && !isJSON, now)
    }

    /// How many lines of the input the gateway has given a result for.
    package var answered: Int { self.counts.values.reduce(0, +) }

    package var refused: Int { self.counts["refused", default: 0] }

    /// Reads the next bytes of the response.
    ///
    /// - Throws: ``ProgramExit/unavailable`` if they are no response to an import.
    package mutating func take(_ bytes: some Collection<UInt8>, now: BootInstant) throws(CommandFailure) -> Output {
        var output = Output()
        var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)[...]
        while lines.count > 1 {
            let line = self.rest + lines.removeFirst()
            self.rest = []
            if !line.isEmpty { try self.take(line: line, &output) }
        }
        self.rest += lines.first ?? bytes[bytes.endIndex...]
        guard self.rest.count <= Self.longestLine else { throw Self.stranger }
        if self.isTerminal, !self.isComplete { output.progress = self.progress(now) }
        return output
    }

    private mutating func take(line bytes: [UInt8], _ output: inout Output) throws(CommandFailure) {
        guard let reply = try? JSONDecoder().decode(ImportReply.self, from: Data(bytes)) else { throw Self.stranger }
        if self.isJSON { output.results += String(decoding: bytes, as: UTF8.self) + "\n" }
        if reply.done == true {
            self.isComplete = true
            // The gateway's sums count: they also hold what it has merely counted.
            self.counts = ["imported": reply.imported ?? 0, "replaced": reply.replaced ?? 0]
                .merging(["skipped": reply.skipped ?? 0, "refused": reply.refused ?? 0]) { $1 }
            return
        }
        guard let line = reply.line, let result = reply.result else { throw Self.stranger }
        self.counts[result, default: 0] += 1
        guard result == "refused", !self.isJSON, self.refused <= Self.mostShown else { return }
        let parts = ["line \(line)", reply.account, reply.message ?? reply.reason ?? "refused"].compactMap { $0 }
        output.notes += self.clearing + PlainText.line(parts.joined(separator: ": ")) + "\n"
        self.shownAt = nil
    }

    /// The progress, in place of the one before; empty if that has been shown a moment ago.
    private mutating func progress(_ now: BootInstant) -> String {
        if let shownAt, shownAt.duration(to: now) < Self.interval { return "" }
        self.shownAt = now
        let seconds = max(self.began.duration(to: now) / .seconds(1), 0.001)
        let rate = Int(Double(self.answered) / seconds).grouped
        return "\r\u{1B}[K\(self.answered.grouped) done, \(rate) a second, \(self.refused.grouped) refused"
    }

    /// The text that clears the progress.
    package var clearing: String { self.isTerminal ? "\r\u{1B}[K" : "" }

    /// What came of all, once it is complete.
    package var summary: Output {
        let kinds = ["imported", "replaced", "skipped", "refused"]
        let parts = kinds.compactMap { kind -> String? in
            let count = self.counts[kind, default: 0]
            return count > 0 || kind == "imported" ? "\(count.grouped) \(kind)" : nil
        }
        let hidden = self.refused - Self.mostShown
        return Output(
            results: self.isJSON ? "" : parts.joined(separator: ", ") + "\n",
            notes: self.isJSON || hidden <= 0 ? "" : "and \(hidden.grouped) more lines were refused\n"
        )
    }

    private static let stranger = CommandFailure(
        .unavailable,
        "the response does not come from a gateway's admin API; is another program or version listening there?"
    )
}
