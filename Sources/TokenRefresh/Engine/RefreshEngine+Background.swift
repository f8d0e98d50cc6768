internal import Synchronization
internal import TokenModel

/// Refreshes that nobody waits for: one task, one schedule, all accounts.
extension RefreshEngine {
    /// How many records are read, or refreshed, at once for nobody.
    static let mostErrands = 32
    /// How long a record that could not be read is left alone, at least; up to twice of it.
    private static let restAfterUnread = Duration.seconds(30)

    /// Rests until the next appointment, or until one comes before it, and sees to what is due.
    func keepAppointments() async {
        self.state.withLock { state in
            let now = self.timepiece.now.boot
            for account in self.plans.keys { state.schedule.set(now, for: account) }
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
            while state.stopping == .no, state.errands < Self.mostErrands,
                let account = state.schedule.takeDue(at: now)
            {
                guard let job = self.errand(for: account, now: now, &state) else { continue }
                state.errands += 1
                jobs.append(job)
            }
            let next = state.stopping == .no && state.errands < Self.mostErrands ? state.schedule.next : nil
            state.alarm = next ?? .distantFuture
            return (jobs, next)
        }
        for job in jobs { self.newJobs.yield(job) }
        return next
    }

    private func errand(for account: AccountID, now: BootInstant, _ state: inout State) -> Job? {
        guard state.desks[account]?.sight != nil else { return .look(account) }
        guard let due = self.appointment(of: account, now: now, &state) else { return nil }
        guard due <= now else {
            state.schedule.set(due, for: account)
            return nil
        }
        guard let demand = state.desks[account]?.keepAppointment() else { return nil }
        state.flights += 1
        return .fly(account, demand)
    }

    private func appointment(of account: AccountID, now: BootInstant, _ state: inout State) -> BootInstant? {
        guard let timing = self.plans[account]?.timing else { return nil }
        return state.desks[account]?.appointment(timing, now: now, random: self.random)
    }

    /// Moves an account in the schedule, after anything about it has changed.
    func reschedule(_ account: AccountID, _ state: inout State) {
        let due = self.appointment(of: account, now: self.timepiece.now.boot, &state)
        state.schedule.set(due, for: account)
        self.ringIfEarlier(&state)
    }

    /// An errand has ended: another may begin, if one had to wait for that.
    func errandEnded(_ state: inout State) {
        state.errands -= 1
        guard state.errands == Self.mostErrands - 1 else { return }
        state.alarm = .distantFuture
        self.ringIfEarlier(&state)
    }

    private func ringIfEarlier(_ state: inout State) {
        guard let next = state.schedule.next, next < state.alarm else { return }
        state.alarm = next
        self.bell.ring()
    }

    /// Reads the record of an account that nobody has asked for yet: it may have to be kept alive.
    func lookFirst(at account: AccountID) async {
        await self.look(at: account)
        self.state.withLock { state in
            if let desk = state.desks[account], desk.sight == nil, desk.unreadable == nil {
                let rest = Self.restAfterUnread * (1 + self.random())
                state.schedule.set(self.timepiece.now.boot.advanced(by: rest), for: account)
            }
            self.errandEnded(&state)
        }
    }
}
