internal import Synchronization
package import TokenModel

/// What is counted of the accounts.
extension RefreshEngine {
    /// How many of the configuration's accounts are in which state, by provider. States without an account are there
    /// with 0; an account that could not be read yet is in none.
    ///
    /// The store is asked only for accounts that this process has not seen: it is told of changes to the others.
    package func accountCounts() async -> [ProviderID: [AccountStatus.State: Int]] {
        let none = Dictionary(uniqueKeysWithValues: AccountStatus.State.allCases.map { ($0, 0) })
        var counts: [ProviderID: [AccountStatus.State: Int]] = [:]
        for plan in self.plans.values {
            if counts[plan.provider] == nil { counts[plan.provider] = none }
            if !self.hasSeen(plan.account) { await self.look(at: plan.account) }
            guard self.hasSeen(plan.account), let status = self.knownStatus(of: plan.account) else { continue }
            counts[plan.provider]?[status.state, default: 0] += 1
        }
        return counts
    }

    private func hasSeen(_ account: AccountID) -> Bool {
        self.state.withLock { state in
            guard let desk = state.desks[account] else { return false }
            return desk.sight != nil || desk.unreadable != nil
        }
    }
}
