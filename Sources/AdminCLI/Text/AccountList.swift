internal import TextCoding

/// A table of accounts that arrive in pages.
package struct AccountList: Sendable {
    private let times: RelativeTime
    private var table = TextTable("ACCOUNT", "PROVIDER", "STATE", "TOKEN ENDS", "LAST REFRESH", "LAST ERROR")
    /// How many accounts were in trouble so far, and the first of them.
    private var troubled: (count: Int, first: String) = (0, "")

    package init(times: RelativeTime) {
        self.times = times
    }

    /// One line per account, and at first the headings.
    package mutating func take(_ page: [AccountReply]) -> [String] {
        for account in page {
            let state = account.troubledStateText(self.times)
            self.table.add([
                account.name,
                account.provider,
                account.configured ? state : "\(state), not configured",
                self.times.text(account.expiresAt),
                self.times.text(account.lastRefreshAt),
                account.lastError ?? account.trouble?.reason ?? "-",
            ])
            guard account.isInTrouble else { continue }
            self.troubled = (self.troubled.count + 1, self.troubled.count == 0 ? account.name : self.troubled.first)
        }
        return self.table.takeLines()
    }

    /// What helps the accounts in trouble, as the last lines.
    package var hint: [String] {
        guard self.troubled.count > 0 else { return [] }
        let some = self.troubled.count == 1 ? "1 account is" : "\(self.troubled.count.grouped) accounts are"
        let name = PlainText.line(self.troubled.first)
        return ["", "\(some) in trouble: martlet accounts show \(name) says why, and what helps"]
    }
}
