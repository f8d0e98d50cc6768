internal import Synchronization
package import TokenModel

/// Background refreshes: one task and one agenda for all accounts.
extension RefreshEngine {
    /// The minimum wait before a record is read again after a failed read; the maximum is twice this.
    private static let restAfterUnread = Duration.seconds(30)

    /// Sleeps until the next errand is due or an earlier one is scheduled, and starts the errands that are due.
    func keepAppointments() async {
        self.state.withLock { state in
            let now = self.timepiece.now.boot
            for plan in state.plans.named { state.agenda.set(now, for: plan.account, of: plan.provider) }
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

    /// Starts the errands that are due, within the limits on errands in progress.
    ///
    /// - Returns: when to call this again; `nil` to wait until the bell rings.
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

    /// Stops starting errands. The process is about to stop, and it would have to wait for the response to every
    /// request.
    package func stopBackgroundRefreshes() { self.state.withLock { $0.endsSoon = true } }

    private func errand(for plan: AccountConfiguration, now: BootInstant, _ state: inout State) -> Job? {
        let account = plan.account
        guard state.accountStates[account]?.snapshot != nil else { return .look(plan) }
        guard let due = self.appointment(of: plan, now: now, &state) else { return nil }
        guard due <= now else {
            state.agenda.set(due, for: account, of: plan.provider, state.accountStates[account]?.urgency ?? .unused)
            return nil
        }
        guard let refresh = state.accountStates[account]?.keepAppointment() else { return nil }
        state.flights += 1
        return .fly(plan, refresh)
    }

    func appointment(of plan: AccountConfiguration, now: BootInstant, _ state: inout State) -> BootInstant? {
        state.accountStates[plan.account]?.appointment(plan.timing, now: now, random: self.random)
    }

    /// Reschedules an account after anything about it has changed.
    func reschedule(_ account: AccountID, _ state: inout State) {
        guard let plan = state.plans[account] else { return }
        let due = self.appointment(of: plan, now: self.timepiece.now.boot, &state)
        state.agenda.set(due, for: account, of: plan.provider, state.accountStates[account]?.urgency ?? .unused)
        self.index(account, state)
        self.ringIfEarlier(&state)
    }

    /// Records that an errand has ended. Another one of the same provider may begin if it had to wait for that.
    func errandEnded(_ plan: AccountConfiguration, _ state: inout State) {
        state.agenda.end(plan.account, of: plan.provider)
        self.ringIfEarlier(&state)
    }

    func ringIfEarlier(_ state: inout State) {
        guard let next = state.agenda.next, next < state.alarm else { return }
        state.alarm = next
        self.bell.ring()
    }

    /// Reads the record of an account that nobody has requested yet. It may have to be kept alive.
    func lookFirst(by plan: AccountConfiguration) async {
        let account = plan.account
        let hasRead = await self.look(at: account)
        self.state.withLock { state in
            if !hasRead, let now = state.plans[account], state.accountStates[account]?.snapshot == nil {
                let rest = Self.restAfterUnread * (1 + self.random())
                state.agenda.set(self.timepiece.now.boot.advanced(by: rest), for: account, of: now.provider)
            }
            self.errandEnded(plan, &state)
        }
    }
}

/// Variants for callers that know the token set of a request and not only its generation.
extension RefreshEngine {
    /// The account's credential after an upstream responded 401 to `refused`. If `refused` belongs to a grant that was
    /// replaced since, the current credential counts as not refused. Otherwise like ``credential(for:refused:)``.
    package func credential(for account: AccountID, after refused: TokenVersion) async throws(CredentialError)
        -> UpstreamCredential
    {
        try await self.credential(
            for: account,
            refused: self.isCurrentGrant(refused, of: account) ? refused.generation : nil
        )
    }

    /// Like ``accepted(_:for:)``, for a token set of the account's current grant. A token set of an older grant is
    /// ignored.
    package func accepted(_ tokenVersion: TokenVersion, for account: AccountID) {
        if self.isCurrentGrant(tokenVersion, of: account) { self.accepted(tokenVersion.generation, for: account) }
    }

    /// Records that an upstream refused the token set with which a request was replayed after a 401. If an upstream
    /// refuses everything, refreshing does not help.
    package func refusedAgain(_ tokenVersion: TokenVersion, for account: AccountID) {
        let now = self.timepiece.now.boot
        self.state.withLock { $0.accountStates[account]?.refusedAgain(tokenVersion, now: now) }
    }

    /// Records that a request has carried an access token. An account in use is refreshed before its token expires.
    /// This is cheap; one call per token set is enough.
    package func used(_ tokenVersion: TokenVersion, of account: AccountID) {
        self.state.withLock { state in
            if state.accountStates[account]?.used(tokenVersion) == true { self.reschedule(account, &state) }
        }
    }

    private func isCurrentGrant(_ tokenVersion: TokenVersion, of account: AccountID) -> Bool {
        self.state.withLock { $0.accountStates[account]?.snapshot?.tokenVersion?.grant } == tokenVersion.grant
    }
}
