package import FoundationEssentials
internal import TextCoding

/// Accounts as text for people.
package struct AccountText: Sendable {
    private let times: RelativeTime

    package init(times: RelativeTime) {
        self.times = times
    }

    /// One line per account, then a hint about the accounts in trouble.
    package func table(_ accounts: [AccountReply]) -> [String] {
        var list = AccountList(times: self.times)
        return list.take(accounts) + list.hint
    }

    /// All facts about one account.
    ///
    /// - Parameter kills: as for ``AccountReply/remedy(kills:)``.
    package func details(_ account: AccountReply, kills: [ScopeReply] = []) -> [String] {
        var facts = FactList()
        facts.add("account", account.name)
        facts.add("provider", account.provider)
        facts.add("state", account.troubledStateText(self.times))
        if !account.configured { facts.add("configured", "no, only its record is left in the store") }
        facts.add("token ends", self.times.longText(account.expiresAt))
        facts.add("last refresh", self.times.longText(account.lastRefreshAt))
        facts.add("last error", account.lastError ?? "-")
        if let trouble = account.trouble {
            facts.add("trouble", trouble.text)
            facts.add("known since", self.times.longText(trouble.knownSince))
        }
        for token in account.unrevoked ?? [] { facts.add("not revoked", self.outlook(of: token)) }
        if let remedy = account.remedy(kills: kills) { facts.add("what helps", remedy) }
        facts.add("generation", String(account.generation))
        facts.add("scopes", account.scopes.isEmpty ? "-" : account.scopes.joined(separator: " "))
        return facts.lines
    }

    /// The prospects of a token that is still to be revoked.
    private func outlook(of token: RemovedTokenReply) -> String {
        let wait =
            token.hasNoProvider
            ? "nobody is asked, as its provider or client is not configured" : "its provider is asked again by itself"
        let nextTry = token.nextTryAt.map { "; its turn comes \(self.times.text($0))" } ?? ""
        let end = token.endsAt.map { "; it ends \(self.times.text($0))" } ?? ""
        return "\(token.kind) token: \(wait)\(nextTry)\(end)"
    }

    /// The message after an import.
    ///
    /// - Parameter before: the account before the import, if it is known.
    package func imported(_ account: AccountReply, over before: AccountReply?) -> String {
        let isFirst = before.map { $0.state == "empty" } ?? true
        let name = PlainText.line(account.name)
        let use =
            account.expiresAt.map { "its access token ends \(self.times.text($0))" }
            ?? "its first use fetches an access token"
        return "\(isFirst ? "imported tokens for" : "replaced the tokens of") \(name); \(use)"
    }

    /// The message after a sign-in.
    ///
    /// - Parameter account: the account after it; `nil` if it is not known.
    package func signedIn(_ name: String, _ account: AccountReply?) -> String {
        let done = "\(PlainText.line(name)): signed in"
        guard let account else { return done }
        guard account.state == "valid" else {
            let help = account.remedy().map { "; \($0)" } ?? ""
            return account.state == "refreshing" ? done : "\(done), but its state is \(account.state)\(help)"
        }
        return account.expiresAt.map { "\(done); valid until \($0) (\(self.times.text($0)))" } ?? done
    }

    /// The outcome for each removed token, one line each.
    package func table(_ tokens: [RemovedTokenReply]) -> [String] {
        var table = TextTable("TOKEN", "AT THE PROVIDER", "REASON", "NEXT TRY", "ENDS")
        for token in tokens {
            let (nextTry, end) = (self.times.text(token.nextTryAt), self.times.text(token.endsAt))
            table.add([token.kind, token.outcome, token.reason ?? "-", nextTry, end])
        }
        return table.lines
    }
}

/// Pairs of names and values, one per line, with the values aligned in a column.
package struct FactList: Sendable {
    private var facts: [(name: String, value: String)] = []

    package init() {}

    /// Appends a pair.
    package mutating func add(_ name: String, _ value: String) {
        self.facts.append((name, PlainText.line(value)))
    }

    /// One line per pair.
    package var lines: [String] {
        let width = self.facts.map(\.name.count).max() ?? 0
        return self.facts.map { name, value in
            name + String(repeating: " ", count: width - name.count) + "  " + value
        }
    }
}

/// Rows under headings, in columns as wide as their widest cell.
package struct TextTable: Sendable {
    private let headings: [String]
    private var rows: [[String]]
    private var widths: [Int]

    package init(_ headings: String...) {
        self.headings = headings
        self.rows = [headings]
        self.widths = headings.map(\.count)
    }

    /// Appends a row. Missing cells are empty; surplus cells are dropped.
    package mutating func add(_ cells: [String]) {
        let cells = cells.prefix(self.headings.count).map(PlainText.line)
        self.rows.append(cells + Array(repeating: "", count: self.headings.count - cells.count))
        for (column, cell) in cells.enumerated() { self.widths[column] = max(self.widths[column], cell.count) }
    }

    /// The lines, without trailing spaces.
    package var lines: [String] {
        self.rows.map { row in
            let line = zip(row, self.widths)
                .map { cell, width in cell + String(repeating: " ", count: width - cell.count) }
                .joined(separator: "  ")
            return String(line.reversed().drop { $0 == " " }.reversed())
        }
    }

    /// The lines that were not taken yet; the headings are the first. A column keeps its width, or gets wider, so that a
    /// table may be longer than what is in memory at once.
    package mutating func takeLines() -> [String] {
        defer { self.rows.removeAll() }
        return self.lines
    }
}

/// Points in time, relative to now, as text.
package struct RelativeTime: Sendable {
    /// The reference time.
    private let now: Date

    package init(now: Date) {
        self.now = now
    }

    /// A text such as `in 54 min` or `3 h ago`; a dash for `nil`.
    ///
    /// - Parameter moment: a time in the admin API's format (RFC 3339, UTC with milliseconds); any other text is
    ///   returned unchanged.
    package func text(_ moment: String?) -> String {
        guard let moment else { return "-" }
        guard let date = try? Self.format.parse(moment) else { return moment }
        let seconds = Int64((date.timeIntervalSince(self.now)).rounded())
        guard seconds != 0 else { return "now" }
        let amount = Self.amount(seconds.magnitude)
        return seconds > 0 ? "in \(amount)" : "\(amount) ago"
    }

    /// Whether a moment has passed, in the format of ``text(_:)``; `false` for any other text.
    package func isOver(_ moment: String) -> Bool { (try? Self.format.parse(moment)).map { $0 <= self.now } ?? false }

    /// Relative and absolute: `in 54 min (2026-11-19T08:30:00.250Z)`.
    package func longText(_ moment: String?) -> String {
        guard let moment else { return "-" }
        return "\(self.text(moment)) (\(moment))"
    }

    private static let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    /// Uses the largest unit of which there is at least one and a half, to keep the rounding error small.
    static func amount(_ seconds: UInt64) -> String {
        switch seconds {
        case ..<90: "\(seconds) s"
        case ..<5_400: "\((seconds + 30) / 60) min"
        case ..<129_600: "\((seconds + 1_800) / 3_600) h"
        default: "\((seconds + 43_200) / 86_400) d"
        }
    }
}
