internal import Logging
internal import Synchronization
internal import TokenModel

/// Going by another configuration.
extension RefreshEngine {
    /// Takes these plans in place of those there were.
    ///
    /// A flight whose request has gone ends by the plan that it began with, and commits: no grant is lost. One that has sent
    /// nothing yet does not any more where its account is gone, or is asked for elsewhere. An account that is gone gives
    /// no more passes and starts no more flights; those who wait for one are served by it, and what is stored of it stays.
    /// A provider that is held, or an account, is tried at once: the configuration may have been the reason. Where a client
    /// was refused that has another secret now, say, that is found out although nobody needs a token.
    package func follow(_ plans: [AccountPlan], waiters: Int) {
        let now = self.timepiece.now.boot
        let (served, relieved) = self.state.withLock { state in
            let old = state.plans
            let failing = state.gates.filter { $0.value.isFailing }.keys
            state.plans = Self.byAccount(plans)
            state.limits.waiters = waiters
            state.gates = Self.gates(state.plans, after: state.gates, now: now)
            for plan in old.values where state.plans[plan.account]?.provider != plan.provider {
                state.agenda.set(nil, for: plan.account, of: plan.provider)
            }
            for account in old.keys where state.plans[account] == nil { self.retireIfGone(account, &state) }
            var served: [Desk.Served] = []
            for plan in state.plans.values {
                served += self.follow(plan, after: old[plan.account], now: now, &state)
            }
            return (served, failing.filter { state.gates[$0]?.isFailing == false })
        }
        for provider in relieved {
            self.logger.notice(
                "a provider is not left alone any more: it has one account now, whose own backoff is all",
                metadata: [LogField.provider: "\(provider)"]
            )
        }
        self.settle(served)
    }

    private func follow(
        _ plan: AccountPlan,
        after old: AccountPlan?,
        now: BootInstant,
        _ state: inout State
    ) -> [Desk.Served] {
        let asksOtherwise = old.map { !$0.asks(like: plan) || $0.scopes != plan.scopes } ?? false
        let landing =
            state.desks[plan.account]?
            .follow(
                binding: plan.binding,
                mints: plan.grant.mints,
                asksOtherwise: asksOtherwise,
                now: now
            ) ?? Desk.Landing()
        if state.desks[plan.account] == nil { state.desks[plan.account] = Desk(plan, state.epochs) }
        state.waiters -= landing.served.count
        if let event = landing.event { self.relay.post(event) }
        if state.desks[plan.account]?.sight == nil {
            state.agenda.set(now, for: plan.account, of: plan.provider)
            self.ringIfEarlier(&state)
        } else {
            self.reschedule(plan.account, &state)
        }
        return landing.served
    }

    /// Gives up the desk of an account that is no longer in the configuration, when no flight of its is under way.
    func retireIfGone(_ account: AccountID, _ state: inout State) {
        guard state.plans[account] == nil, state.desks[account]?.isFlying == false else { return }
        state.desks[account] = nil
        self.relay.post(.retired(account))
    }
}

extension AccountDesk {
    /// The desk of an account that is new here.
    init(_ plan: AccountPlan, _ epochs: KillEpochs = KillEpochs()) {
        self.init(
            account: plan.account,
            binding: plan.binding,
            mints: plan.grant.mints,
            epochs: epochs
        )
    }
}
