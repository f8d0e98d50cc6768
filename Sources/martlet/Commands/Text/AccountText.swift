package import FoundationEssentials

/// Accounts as people read them.
package struct AccountText: Sendable {
    private let times: RelativeTime

    package init(times: RelativeTime) {
        self.times = times
    }

    /// One line an account, and below them where to read more of those that something is wrong with.
    package func table(_ accounts: [AccountReply]) -> [String] {
        var table = TextTable("ACCOUNT", "PROVIDER", "STATE", "TOKEN ENDS", "LAST REFRESH", "LAST ERROR")
        for account in accounts {
            let state = account.troubledStateText(self.times)
            table.add([
                account.name,
                account.provider,
                account.configured ? state : "\(state), not configured",
                self.times.text(account.expiresAt),
                self.times.text(account.lastRefreshAt),
                account.lastError ?? account.trouble?.reason ?? "-",
            ])
        }
        return table.lines + self.hint(accounts.filter(\.isInTrouble))
    }

    private func hint(_ troubled: [AccountReply]) -> [String] {
        guard let first = troubled.first else { return [] }
        let some = troubled.count == 1 ? "1 account is" : "\(troubled.count) accounts are"
        let name = PlainText.line(first.name)
        return ["", "\(some) in trouble: martlet accounts show \(name) says why, and what helps"]
    }

    /// All there is to know about one.
    ///
    /// - Parameter kills: as ``AccountReply/remedy(kills:)`` takes them.
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

    /// A token that is still to be revoked, and what comes of that.
    private func outlook(of token: RemovedTokenReply) -> String {
        let wait =
            token.isNobodys
            ? "nobody is asked, as its provider or client is not configured" : "its provider is asked again by itself"
        let nextTry = token.nextTryAt.map { "; its turn comes \(self.times.text($0))" } ?? ""
        let end = token.endsAt.map { "; it ends \(self.times.text($0))" } ?? ""
        return "\(token.kind) token: \(wait)\(nextTry)\(end)"
    }

    /// That tokens were imported.
    ///
    /// - Parameter before: the account as it was until then, where that is known.
    package func imported(_ account: AccountReply, over before: AccountReply?) -> String {
        let isFirst = before.map { $0.state == "empty" } ?? true
        let name = PlainText.line(account.name)
        let use =
            account.expiresAt.map { "its access token ends \(self.times.text($0))" }
            ?? "its first use fetches an access token"
        return "\(isFirst ? "imported tokens for" : "replaced the tokens of") \(name); \(use)"
    }

    /// What became of tokens that were removed, one line each.
    package func table(_ tokens: [RemovedTokenReply]) -> [String] {
        var table = TextTable("TOKEN", "AT THE PROVIDER", "REASON", "NEXT TRY", "ENDS")
        for token in tokens {
            let (nextTry, end) = (self.times.text(token.nextTryAt), self.times.text(token.endsAt))
            table.add([token.kind, token.outcome, token.reason ?? "-", nextTry, end])
        }
        return table.lines
    }
}

/// Names and values, one pair a line, the values one below the other.
package struct FactList: Sendable {
    private var facts: [(name: String, value: String)] = []

    package init() {}

    /// Puts a pair below the others.
    package mutating func add(_ name: String, _ value: String) {
        self.facts.append((name, PlainText.line(value)))
    }

    /// One a pair.
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
    private var rows: [[String]] = []

    package init(_ headings: String...) {
        self.headings = headings
    }

    /// Puts a row below the others. A missing cell is empty; one too many is left out.
    package mutating func add(_ cells: [String]) {
        let cells = cells.prefix(self.headings.count).map(PlainText.line)
        self.rows.append(cells + Array(repeating: "", count: self.headings.count - cells.count))
    }

    /// The lines, without spaces at their ends.
    package var lines: [String] {
        let all = [self.headings] + self.rows
        let widths = self.headings.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        return all.map { row in
            let line = zip(row, widths)
                .map { cell, width in cell + String(repeating: " ", count: width - cell.count) }
                .joined(separator: "  ")
            return String(line.reversed().drop { $0 == " " }.reversed())
        }
    }
}

/// Moments as people say them.
package struct RelativeTime: Sendable {
    /// What "now" is.
    private let now: Date

    package init(now: Date) {
        self.now = now
    }

    /// `in 54 min`, `3 h ago`; a dash for `nil`.
    ///
    /// - Parameter moment: as the admin API writes it (RFC 3339, UTC with milliseconds); what is none is shown as it is.
    package func text(_ moment: String?) -> String {
        guard let moment else { return "-" }
        guard let date = try? Self.format.parse(moment) else { return moment }
        let seconds = Int64((date.timeIntervalSince(self.now)).rounded())
        guard seconds != 0 else { return "now" }
        let amount = Self.amount(seconds.magnitude)
        return seconds > 0 ? "in \(amount)" : "\(amount) ago"
    }

    /// Whether a moment has come, as ``text(_:)`` takes it; what is none has not.
    package func isOver(_ moment: String) -> Bool { (try? Self.format.parse(moment)).map { $0 <= self.now } ?? false }

    /// Both ways: `in 54 min (2026-11-19T08:30:00.250Z)`.
    package func longText(_ moment: String?) -> String {
        guard let moment else { return "-" }
        return "\(self.text(moment)) (\(moment))"
    }

    private static let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    /// In the largest unit there is at least one and a half of, so that little is lost in rounding.
    private static func amount(_ seconds: UInt64) -> String {
        switch seconds {
        case ..<90: "\(seconds) s"
        case ..<5_400: "\((seconds + 30) / 60) min"
        case ..<129_600: "\((seconds + 1_800) / 3_600) h"
        default: "\((seconds + 43_200) / 86_400) d"
        }
    }
}
