internal import Logging
internal import Synchronization
internal import TokenModel

/// How the engine applies another configuration.
extension RefreshEngine {
    /// Replaces the account configurations.
    ///
    /// A flight whose request has been sent ends with the configuration that it began with, and commits, so no grant is
    /// lost. A flight that has sent nothing yet stops if its account is gone or is now refreshed with other requests. A
    /// removed account hands out no more credentials and starts no more flights. A flight in progress still serves its
    /// waiters, and its stored record stays. Held providers and accounts are tried again at once, since the old
    /// configuration may have caused the failures. If the provider refused the client and the client now has another
    /// secret, for example, it is tried although nobody needs a token.
    package func reload(_ plans: [AccountConfiguration], families: [AccountFamilyConfiguration] = [], waiters: Int) {
        let now = self.timepiece.now.boot
        let (served, relieved, changesFamilies) = self.state.withLock { state in
            let old = state.plans
            let failing = state.gates.filter { $0.value.isFailing }.keys
            state.plans = AccountPlans(plans, families: families)
            self.index.reload(state.plans)
            state.followRates()
            state.limits.waiters = waiters
            state.gates = Self.gates(state.plans, after: state.gates, now: now)
            for plan in old.named where state.plans[plan.account]?.provider != plan.provider {
                state.agenda.set(nil, for: plan.account, of: plan.provider)
            }
            // Members of families that are in use have a state too.
            let inUse = state.accountStates.keys.filter { !state.plans.isNamed($0) }
            for account in inUse where state.plans[account] == nil { self.retireIfGone(account, &state) }
            var served: [Account.Served] = []
            for plan in Array(state.plans.named) + inUse.compactMap({ state.plans[$0] }) {
                served += self.reload(plan, after: old[plan.account], now: now, &state)
            }
            let changesFamilies =
                state.plans.families.count != old.families.count
                || state.plans.families.contains { family, plan in
                    old.families[family].map { !plan.member.asks(like: $0.member) } ?? true
                }
            return (served, failing.filter { state.gates[$0]?.isFailing == false }, changesFamilies)
        }
        for provider in relieved {
            self.logger.notice(
                "a provider is not left alone any more: it has one account now, whose own backoff is all",
                metadata: [LogField.provider: "\(provider)"]
            )
        }
        self.settle(served)
        if changesFamilies { self.newJobs.yield(.index) }
    }

    private func reload(
        _ plan: AccountConfiguration,
        after old: AccountConfiguration?,
        now: BootInstant,
        _ state: inout State
    ) -> [Account.Served] {
        let asksOtherwise = old.map { !$0.asks(like: plan) || $0.scopes != plan.scopes } ?? false
        let landing =
            state.accountStates[plan.account]?
            .reload(
                binding: plan.binding,
                mints: plan.grant.mints,
                asksOtherwise: asksOtherwise,
                now: now
            ) ?? Account.Landing()
        if state.accountStates[plan.account] == nil { state.accountStates[plan.account] = Account(plan, state.epochs) }
        self.index(plan.account, state, anew: true)
        state.waiters -= landing.served.count
        if let event = landing.event { self.relay.post(event) }
        if state.accountStates[plan.account]?.snapshot == nil {
            state.agenda.set(now, for: plan.account, of: plan.provider)
            self.ringIfEarlier(&state)
        } else {
            self.reschedule(plan.account, &state)
        }
        return landing.served
    }

    /// Drops the state of an account that is no longer in the configuration, unless a flight of it is in progress.
    func retireIfGone(_ account: AccountID, _ state: inout State) {
        guard state.plans[account] == nil, state.accountStates[account]?.isFlying == false else { return }
        self.index(account, state)
        state.accountStates[account] = nil
        self.relay.post(.retired(account))
    }
}

extension AccountState {
    /// Creates the state of an account that is new to this process, or that comes into use again.
    init(_ plan: AccountConfiguration, _ epochs: KillEpochs = KillEpochs(), known: IndexedAccount? = nil) {
        self.init(
            account: plan.account,
            binding: plan.binding,
            mints: plan.grant.mints,
            epochs: epochs,
            known: known
        )
    }
}
