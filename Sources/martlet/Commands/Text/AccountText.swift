internal import FoundationEssentials

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
