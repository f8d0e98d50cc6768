package import TokenModel

/// Which accounts to list.
package struct AccountFilter: Equatable, Sendable {
    /// The beginning of the names; empty for all.
    package var prefix = ""
    /// `nil` for all providers.
    package var provider: ProviderID?
    /// Empty for all states.
    package var states: Set<AccountStatus.State> = []

    package init(prefix: String = "", provider: ProviderID? = nil, states: Set<AccountStatus.State> = []) {
        self.prefix = prefix
        self.provider = provider
        self.states = states
    }

    package func covers(_ status: AccountStatus) -> Bool {
        status.account.rawValue.utf8.starts(with: self.prefix.utf8)
            && (self.provider.map { $0 == status.provider } ?? true)
            && (self.states.isEmpty || self.states.contains(status.state))
    }
}

/// A part of the accounts that a filter covers, sorted by name.
package struct AccountPage: Equatable, Sendable {
    package let accounts: [AccountStatus]
    /// The name to list behind for the next page; `nil` where this is the last one.
    package let next: AccountID?
}

/// The accounts of a family, in numbers.
package struct FamilyStatus: Equatable, Sendable {
    package let family: AccountFamily
    package let provider: ProviderID
    /// How many accounts exist.
    package let accounts: Int
    /// How many may exist.
    package let max: Int
    /// Every existing account has one state. All states are present, even with 0.
    package let states: [AccountStatus.State: Int]
}

/// All accounts at a glance: those that are configured by name, each with its status, and the others in numbers.
package struct AccountOverview: Equatable, Sendable {
    /// The accounts that are configured by name, and stored ones that the configuration does not have.
    package let named: [AccountStatus]
    package let families: [FamilyStatus]
    /// All accounts, those of families too, by provider.
    package let counts: [ProviderID: AccountCounts]
}

extension RefreshEngine {
    /// The accounts that `filter` covers, sorted by name.
    ///
    /// - Parameters:
    ///   - after: the name to list behind; `nil` for the first page.
    ///   - limit: at most this many.
    package func accounts(_ filter: AccountFilter, after: AccountID?, limit: Int) async -> AccountPage {
        let all = await self.statuses().filter { status in
            filter.covers(status) && (after.map { $0 < status.account } ?? true)
        }
        let page = Array(all.prefix(limit))
        return AccountPage(accounts: page, next: page.count < all.count ? page.last?.account : nil)
    }

    /// All accounts at a glance. The number of accounts in families does not matter for the time that this takes.
    package func overview() async -> AccountOverview {
        AccountOverview(named: await self.statuses(), families: [], counts: await self.accountCounts())
    }

    /// Imports tokens for up to ``largestImport`` accounts at once, which costs little more than for one.
    ///
    /// - Returns: what came of each, in the same order.
    package func importTokens(_ imports: [AccountImport], existing: ExistingAccounts) async -> [ImportOutcome] {
        var outcomes: [ImportOutcome] = []
        for one in imports {
            do throws(AccountChangeError) {
                try await self.importTokens(
                    one.refreshToken,
                    accessToken: one.accessToken,
                    expiresIn: one.expiresIn,
                    scopes: one.scopes,
                    for: one.account
                )
                outcomes.append(.imported)
            } catch {
                outcomes.append(.refused(error))
            }
        }
        return outcomes
    }

    /// The most accounts of one call of ``importTokens(_:existing:)``.
    package static let largestImport = 256

    /// Whether the account exists: it is configured by name, or it is of a family and was imported or signed in. Reads
    /// neither the store nor a provider.
    package func exists(_ account: AccountID) -> Bool { self.isConfigured(account) }
}
