internal import Synchronization
package import TokenModel

/// What is counted of the accounts.
extension RefreshEngine {
    /// How many of the configuration's accounts are in which state, and in which trouble, by provider. An account that
    /// could not be read yet is in none.
    ///
    /// Records are read only where nothing else keeps what is known up to date, and no longer than for about a second,
    /// or one call of a store that is away.
    package func accountCounts() async -> [ProviderID: AccountCounts] {
        let deadline = self.timepiece.now.boot.advanced(by: .seconds(1))
        var counts: [ProviderID: AccountCounts] = [:]
        for plan in self.state.withLock({ Array($0.plans.values) }) {
            let now = self.timepiece.now.boot
            if now < deadline, self.knowsLittle(of: plan.account, now: now) { await self.look(at: plan.account) }
            if counts[plan.provider] == nil { counts[plan.provider] = AccountCounts() }
            guard self.hasSeen(plan.account), let status = self.knownStatus(of: plan.account) else { continue }
            counts[plan.provider]?.states[status.state, default: 0] += 1
            if let failureRecord = status.issue { counts[plan.provider]?.issues[failureRecord.kind, default: 0] += 1 }
        }
        return counts
    }

    /// Whether the record was never seen, or was seen a while ago and is not read again now and then, as it is while its
    /// account has a credential.
    private func knowsLittle(of account: AccountID, now: BootInstant) -> Bool {
        self.state.withLock { state in
            guard let accountState = state.accountStates[account], !accountState.hasAnnouncedCredential else {
                return false
            }
            guard let snapshot = accountState.snapshot else { return true }
            return snapshot.readAt.duration(to: now) >= state.limits.rereadInterval
        }
    }

    private func hasSeen(_ account: AccountID) -> Bool {
        self.state.withLock { state in
            guard let accountState = state.accountStates[account] else { return false }
            return accountState.snapshot != nil || accountState.unreadable != nil
        }
    }
}

/// How many accounts of a provider are how.
package struct AccountCounts: Equatable, Sendable {
    /// Each has one. All states are there, also with 0.
    package internal(set) var states = Dictionary(uniqueKeysWithValues: AccountStatus.State.allCases.map { ($0, 0) })
    /// Few have one, beside their state. All kinds are there, also with 0.
    package internal(set) var issues = Dictionary(uniqueKeysWithValues: AccountIssue.Kind.allCases.map { ($0, 0) })
}
