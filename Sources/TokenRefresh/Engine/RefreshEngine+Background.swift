internal import Synchronization
package import TokenModel

/// Refreshes that nobody waits for: one task, one agenda, all accounts.
extension RefreshEngine {
    /// How long a record that could not be read is left alone, at least; up to twice of it.
    private static let restAfterUnread = Duration.seconds(30)

    /// Rests until the next appointment, or until one comes before it, and sees to what is due.
    func keepAppointments() async {
        self.state.withLock { state in
            let now = self.timepiece.now.boot
            for plan in state.plans.values { state.agenda.set(now, for: plan.account, of: plan.provider) }
        }
        while !Task.isCancelled {
            let next = self.startErrands()
            await withTaskGroup { group in
                group.addTask { await self.bell.wait() }
                if let next { group.addTask { await self.timepiece.rest(until: next) } }
                await group.next()
                group.cancelAll()
            }
        }
    }

    /// Starts what is due, as much of it as may be under way at once.
    ///
    /// - Returns: when to come again; `nil`: when the bell rings.
    private func startErrands() -> BootInstant? {
        let (jobs, next) = self.state.withLock { state in
            let now = self.timepiece.now.boot
            var jobs: [Job] = []
            while state.stopping == .no, !state.endsSoon, let account = state.agenda.takeDue(at: now) {
                guard let plan = state.plans[account], let job = self.errand(for: plan, now: now, &state) else {
                    continue
                }
                state.agenda.begin(account, of: plan.provider, until: now.advanced(by: plan.timeout))
                jobs.append(job)
            }
            let next = state.stopping == .no && !state.endsSoon ? state.agenda.next : nil
            state.alarm = next ?? .distantFuture
            return (jobs, next)
        }
        for job in jobs { self.newJobs.yield(job) }
        return next
    }

    /// Begins no errand any more: the process is about to stop, and what it has asked a provider it must wait for.
    package func stopErrands() { self.state.withLock { $0.endsSoon = true } }

    private func errand(for plan: AccountConfiguration, now: BootInstant, _ state: inout State) -> Job? {
        let account = plan.account
        guard state.accountStates[account]?.snapshot != nil else { return .look(plan) }
        guard let due = self.appointment(of: plan, now: now, &state) else { return nil }
        guard due <= now else {
            state.agenda.set(due, for: account, of: plan.provider)
            return nil
        }
        guard let refresh = state.accountStates[account]?.keepAppointment() else { return nil }
        state.flights += 1
        return .fly(plan, refresh)
    }

    private func appointment(of plan: AccountConfiguration, now: BootInstant, _ state: inout State) -> BootInstant? {
        state.accountStates[plan.account]?.appointment(plan.timing, now: now, random: self.random)
    }

    /// Moves an account in the schedule, after anything about it has changed.
    func reschedule(_ account: AccountID, _ state: inout State) {
        guard let plan = state.plans[account] else { return }
        let due = self.appointment(of: plan, now: self.timepiece.now.boot, &state)
        state.agenda.set(due, for: account, of: plan.provider)
        self.ringIfEarlier(&state)
    }

    /// An errand has ended: another of the same provider may begin, if one had to wait for that.
    func errandEnded(_ plan: AccountConfiguration, _ state: inout State) {
        state.agenda.end(plan.account, of: plan.provider)
        self.ringIfEarlier(&state)
    }

    func ringIfEarlier(_ state: inout State) {
        guard let next = state.agenda.next, next < state.alarm else { return }
        state.alarm = next
        self.bell.ring()
    }

    /// Reads the record of an account that nobody has asked for yet: it may have to be kept alive.
    func lookFirst(by plan: AccountConfiguration) async {
        let account = plan.account
        await self.look(at: account)
        self.state.withLock { state in
            if let now = state.plans[account], let accountState = state.accountStates[account],
                accountState.snapshot == nil,
                accountState.unreadable == nil
            {
                let rest = Self.restAfterUnread * (1 + self.random())
                state.agenda.set(self.timepiece.now.boot.advanced(by: rest), for: account, of: now.provider)
            }
            self.errandEnded(plan, &state)
        }
    }
}

/// The same questions from those who know which token set a request carried, not only its number.
extension RefreshEngine {
    /// The account's credential, after an upstream answered 401 to `refused`, which may be of a grant that was replaced since:
    /// then what is there now is as good as unrefused. Else as ``credential(for:refused:)``.
    package func credential(for account: AccountID, after refused: TokenVersion) async throws(CredentialError)
        -> UpstreamCredential
    {
        try await self.credential(
            for: account,
            refused: self.isCurrentGrant(refused, of: account) ? refused.generation : nil
        )
    }

    /// As ``accepted(_:for:)``, for a token set of the account's current grant; one of an older grant says nothing.
    package func accepted(_ tokenVersion: TokenVersion, for account: AccountID) {
        if self.isCurrentGrant(tokenVersion, of: account) { self.accepted(tokenVersion.generation, for: account) }
    }

    /// Tells that an upstream refused the token set with which a request was sent again after a 401: where it refuses
    /// everything, refreshing is of no use.
    package func refusedAgain(_ tokenVersion: TokenVersion, for account: AccountID) {
        let now = self.timepiece.now.boot
        self.state.withLock { $0.accountStates[account]?.refusedAgain(tokenVersion, now: now) }
    }

    /// Tells that a request has carried an access token: an account that is used is refreshed before its token ends.
    /// Cheap; once per token set is enough.
    package func used(_ tokenVersion: TokenVersion, of account: AccountID) {
        self.state.withLock { state in
            if state.accountStates[account]?.used(tokenVersion) == true { self.reschedule(account, &state) }
        }
    }

    private func isCurrentGrant(_ tokenVersion: TokenVersion, of account: AccountID) -> Bool {
        self.state.withLock { $0.accountStates[account]?.snapshot?.tokenVersion?.grant } == tokenVersion.grant
    }
}
