internal import Synchronization
package import TokenModel

/// Account counts for metrics.
extension RefreshEngine {
    /// How many accounts are in each state and have each issue, by provider. An account whose record could not be read yet
    /// is not counted.
    ///
    /// A record is read only if nothing else keeps the known one up to date. Reading takes no longer than about a
    /// second, or one call to an unreachable store. Members of families are counted by the index, without a read.
    package func accountCounts() async -> [ProviderID: AccountCounts] {
        let deadline = self.timepiece.now.boot.advanced(by: .seconds(1))
        var counts: [ProviderID: AccountCounts] = [:]
        for family in self.familyStatuses {
            for (state, count) in family.states {
                counts[family.provider, default: AccountCounts()].states[state, default: 0] += count
            }
            counts[family.provider]?.issues[.refreshOverdue, default: 0] += family.overdue
        }
        for plan in self.state.withLock({ Array($0.plans.named) }) {
            let now = self.timepiece.now.boot
            if now < deadline, self.knowsLittle(of: plan.account, now: now) { await self.look(at: plan.account) }
            if counts[plan.provider] == nil { counts[plan.provider] = AccountCounts() }
            guard self.hasSeen(plan.account), let status = self.knownStatus(of: plan.account) else { continue }
            counts[plan.provider]?.states[status.state, default: 0] += 1
            if let failureRecord = status.issue { counts[plan.provider]?.issues[failureRecord.kind, default: 0] += 1 }
        }
        return counts
    }

    /// Whether the record was never seen, or was seen long ago and is not reread periodically. Records are reread
    /// periodically while their account has a credential.
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

/// The numbers of a provider's accounts by state and by issue.
package struct AccountCounts: Equatable, Sendable {
    /// The number of accounts in each state. Every account has one state. All states are present, even with 0.
    package internal(set) var states = Dictionary(uniqueKeysWithValues: AccountStatus.State.allCases.map { ($0, 0) })
    /// The number of accounts with each kind of issue, which few accounts have beside their state. All kinds are
    /// present, even with 0.
    package internal(set) var issues = Dictionary(uniqueKeysWithValues: AccountIssue.Kind.allCases.map { ($0, 0) })
}
