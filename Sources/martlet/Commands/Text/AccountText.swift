internal import FoundationEssentials

/// Accounts as people read them.
package struct AccountText: Sendable {
    private let times: RelativeTime

    package init(times: RelativeTime) {
        self.times = times
    }

    /// One line an account.
    package func table(_ accounts: [AccountReply]) -> [String] {
        var table = TextTable("ACCOUNT", "PROVIDER", "STATE", "TOKEN ENDS", "LAST REFRESH", "LAST ERROR")
        for account in accounts {
            table.add([
                account.name,
                account.provider,
                account.configured ? account.stateText : "\(account.stateText), not configured",
                self.times.text(account.expiresAt),
                self.times.text(account.lastRefreshAt),
                account.lastError ?? "-",
            ])
        }
        return table.lines
    }

    /// All there is to know about one.
    package func details(_ account: AccountReply) -> [String] {
        var facts = FactList()
        facts.add("account", account.name)
        facts.add("provider", account.provider)
        facts.add("state", account.stateText)
        if !account.configured { facts.add("configured", "no, only its record is left in the store") }
        facts.add("token ends", self.times.longText(account.expiresAt))
        facts.add("last refresh", self.times.longText(account.lastRefreshAt))
        facts.add("last error", account.lastError ?? "-")
        switch account.lastError {
        case "tokens_killed"?:
            facts.add("what helps", "its tokens were killed and stay dead: sign in again, and martlet accounts import")
        case "tokens_removed"?:
            facts.add("what helps", "its tokens were removed: sign in again, and martlet accounts import")
        default: break
        }
        facts.add("generation", String(account.generation))
        facts.add("scopes", account.scopes.isEmpty ? "-" : account.scopes.joined(separator: " "))
        return facts.lines
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
        var table = TextTable("TOKEN", "AT THE PROVIDER", "REASON", "ENDS")
        for token in tokens {
            table.add([token.kind, token.outcome, token.reason ?? "-", self.times.text(token.endsAt)])
        }
        return table.lines
    }
}
