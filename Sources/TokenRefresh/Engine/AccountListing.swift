internal import Synchronization
package import TokenModel
internal import TokenStorage

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
        self.covers(status.account, at: status.provider) && (self.states.isEmpty || self.states.contains(status.state))
    }

    fileprivate func covers(_ account: AccountID, at provider: ProviderID) -> Bool {
        account.rawValue.utf8.starts(with: self.prefix.utf8) && (self.provider.map { $0 == provider } ?? true)
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
    /// How many accounts have a refresh token that should have been used by now.
    package let overdue: Int
}

/// All accounts at a glance: those that are configured by name, each with its status, and the others in numbers.
package struct AccountOverview: Equatable, Sendable {
    /// The accounts that are configured by name, and stored ones that the configuration does not have, up to 1,000 of
    /// these.
    package let named: [AccountStatus]
    package let families: [FamilyStatus]
}

extension RefreshEngine {
    /// The accounts that `filter` covers, sorted by name: those that are configured by name, existing members of families,
    /// and stored ones that the configuration does not have.
    ///
    /// - Parameters:
    ///   - after: the name to list behind; `nil` for the first page.
    ///   - limit: at most this many.
    package func accounts(_ filter: AccountFilter, after: AccountID?, limit: Int) async -> AccountPage {
        await self.indexOnce()
        var accounts: [AccountStatus] = []
        var after = after
        var wanted = max(limit + 1, 64)
        // The states of members are known well enough to leave most others out, and their statuses decide.
        while !Task.isCancelled {
            let names = self.names(filter, behind: after, count: wanted)
            for status in await self.statuses(of: names) where filter.covers(status) {
                guard accounts.count < limit else {
                    return AccountPage(accounts: accounts, next: accounts.last?.account)
                }
                accounts.append(status)
            }
            guard names.count == wanted, let last = names.last else {
                return AccountPage(accounts: accounts, next: nil)
            }
            after = last
            wanted = min(2 * wanted, 4_096)
        }
        return AccountPage(accounts: accounts, next: nil)
    }

    /// All accounts at a glance. The number of accounts in families hardly matters for the time that this takes.
    package func overview() async -> AccountOverview {
        await self.indexOnce()
        let plans = self.state.withLock { $0.plans }
        var others: [AccountID] = []
        self.index.forEach { account, known in
            if known.exists, plans.provider(of: account) == nil { others.append(account) }
        }
        let named = await self.statuses(of: (Array(plans.names) + others.sorted().prefix(1_000)).sorted())
        return AccountOverview(named: named, families: self.familyStatuses)
    }

    /// The configured families and their accounts in numbers, sorted by pattern. Reads no record.
    var familyStatuses: [FamilyStatus] {
        let now = self.timepiece.now.boot
        let (plans, epochs, gates) = self.state.withLock { ($0.plans, $0.epochs, $0.gates) }
        guard !plans.families.isEmpty else { return [] }
        var states: [AccountFamily: [AccountStatus.State: Int]] = [:]
        var overdue: [AccountFamily: Int] = [:]
        self.index.forEach { account, known in
            guard known.exists, let family = plans.family(of: account), let plan = plans.families[family]?.member
            else { return }
            let isHeld = gates[plan.provider]?.isHeld == true
            let state = known.state(of: account, at: plan.provider, under: epochs, isHeld: isHeld, now: now)
            states[family, default: [:]][state, default: 0] += 1
            if known.isOverdue(at: now), state != .killed, state != .empty { overdue[family, default: 0] += 1 }
        }
        return plans.families.values.sorted { $0.family < $1.family }.map { family in
            let known = states[family.family] ?? [:]
            return FamilyStatus(
                family: family.family,
                provider: family.member.provider,
                accounts: known.values.reduce(0, +),
                max: family.max,
                states: Dictionary(uniqueKeysWithValues: AccountStatus.State.allCases.map { ($0, known[$0] ?? 0) }),
                overdue: overdue[family.family] ?? 0
            )
        }
    }

    /// The first names behind `after` of accounts that `filter` may cover, sorted.
    private func names(_ filter: AccountFilter, behind after: AccountID?, count: Int) -> [AccountID] {
        let now = self.timepiece.now.boot
        let (plans, epochs, gates) = self.state.withLock { ($0.plans, $0.epochs, $0.gates) }
        // The index does not tell whether a refresh is in progress.
        let refreshing = filter.states.contains(.refreshing) ? self.refreshingMembers : []
        func mayBeListed(_ account: AccountID, at provider: ProviderID) -> Bool {
            filter.covers(account, at: provider) && after.map { $0 < account } ?? true
        }
        var names = plans.named.filter { mayBeListed($0.account, at: $0.provider) }.map(\.account)
        self.index.forEach { account, known in
            guard known.exists else { return }
            let provider = plans.provider(of: account)
            guard mayBeListed(account, at: provider ?? known.provider) else { return }
            if !filter.states.isEmpty, known.content != .unread {
                let isHeld = provider.flatMap { gates[$0] }?.isHeld == true
                let state = known.state(of: account, at: provider, under: epochs, isHeld: isHeld, now: now)
                guard filter.states.contains(state) || refreshing.contains(account) else { return }
            }
            names.append(account)
            // The list stays short, however many accounts there are.
            if names.count > 4 * count + 1_000 { names = Array(names.sorted().prefix(count)) }
        }
        return Array(names.sorted().prefix(count))
    }

    /// The members of families that this process refreshes, or another one as far as this one has seen.
    private var refreshingMembers: Set<AccountID> {
        self.state.withLock { state in
            var refreshing: Set<AccountID> = []
            for (account, accountState) in state.accountStates where !state.plans.isNamed(account) {
                let isClaimed = accountState.snapshot?.entry?.record.claim != nil
                if accountState.isFlying || isClaimed { refreshing.insert(account) }
            }
            return refreshing
        }
    }
}
