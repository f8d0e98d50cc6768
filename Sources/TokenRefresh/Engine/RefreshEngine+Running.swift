internal import Logging
internal import Synchronization
internal import TokenModel
internal import TokenStorage

/// Tasks that run as long as the process does.
extension RefreshEngine {
    /// Runs the flights and follows the writes of other processes. Call it once.
    ///
    /// It returns after ``stop()`` when the last flight has ended. A flight whose tokens can't be stored keeps trying.
    /// Cancelling the task ends that too. Even then an exchange with a provider is awaited, and its tokens are written
    /// if the store accepts them at the first try.
    package func run() async {
        await withTaskCancellationHandler {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.keepIndexing() }
                group.addTask { await self.followChanges() }
                group.addTask { await self.rereadNowAndThen() }
                group.addTask { await self.keepAppointments() }
                for await job in self.jobs {
                    group.addTask { await self.perform(job) }
                }
                group.cancelAll()
            }
        } onCancel: {
            self.stop(.now)
        }
        self.close()
    }

    private func perform(_ job: Job) async {
        switch job {
        case .fly(let plan, let refresh):
            // Cancellation ends only the pauses of a flight, and neither an exchange nor a write to the store.
            await self.fly(plan, refresh)
        case .look(let plan):
            await self.lookFirst(by: plan)
        case .lookAtAll:
            await self.lookAtAll()
        case .index:
            try? await self.indexAccounts()
        case .watchDeadlines(let account):
            await self.watchDeadlines(of: account)
        }
    }

    private func followChanges() async {
        let changes = self.vault.changes { [weak self] in self?.storeIsBack(isAnother: $0) }
        for await change in changes {
            guard !Task.isCancelled else { return }
            if let version = change.version, self.knows(version, of: change.account) { continue }
            if self.isInUse(change.account) {
                await self.look(at: change.account)
            } else {
                self.noteChange(of: change.account, to: change.version)
            }
        }
    }

    /// Whether the known record is this very write, or the last flight wrote it. Most change notifications are about
    /// such writes.
    private func knows(_ version: Version, of account: AccountID) -> Bool {
        self.state.withLock { state in
            guard let accountState = state.accountStates[account] else {
                return self.index[account]?.version == version
            }
            return accountState.snapshot?.entry?.version == version || accountState.flightWrites.contains(version)
        }
    }

    private func rereadNowAndThen() async {
        while !Task.isCancelled {
            await self.timepiece.rest(until: self.timepiece.now.boot.advanced(by: self.limits.rereadInterval))
            self.retireIdle()
            await self.rereadChanged()
        }
    }

    /// Reads each record again whose account has a credential here and whose version differs from the known one. The
    /// store is asked at most once a second, however many accounts there are. Now and then this goes through all records,
    /// in case a hint about a member of a family was lost.
    private func rereadChanged() async {
        let now = self.timepiece.now.boot
        var (unseen, comparesAll) = self.state.withLock { state in
            let comparesAll = state.isIndexed && !state.plans.families.isEmpty && state.nextComparison <= now
            if comparesAll { state.nextComparison = now.advanced(by: Self.comparisonInterval) }
            return (Set(state.accountStates.values.lazy.filter(\.hasAnnouncedCredential).map(\.account)), comparesAll)
        }
        // A page shows a thousand records, so that these few reads are fewer than the pages.
        if !comparesAll, unseen.count * 1_000 < self.index.count {
            for account in unseen where !Task.isCancelled { await self.look(at: account) }
            return
        }
        var last: AccountID?
        while comparesAll || !unseen.isEmpty, !Task.isCancelled {
            guard let page = try? await self.vault.versions(behind: last) else { return }
            guard let end = page.last else {
                for account in unseen where !Task.isCancelled { await self.look(at: account) }
                return
            }
            for (account, version) in page {
                guard !Task.isCancelled else { return }
                if unseen.remove(account) != nil {
                    if !self.knows(version, of: account) { await self.look(at: account) }
                } else if comparesAll, !self.isInUse(account), !self.knows(version, of: account) {
                    self.noteChange(of: account, to: version)
                }
            }
            guard comparesAll || !unseen.isEmpty else { return }
            last = end.account
            await self.timepiece.rest(until: self.timepiece.now.boot.advanced(by: .seconds(1)))
        }
    }

    /// How often the index of accounts is compared with the store.
    private static let comparisonInterval = Duration.seconds(600)

    /// Returns when nobody waits. The next waiter starts it again.
    private func watchDeadlines(of account: AccountID) async {
        while !Task.isCancelled,
            let next = self.state.withLock({ $0.accountStates[account]?.nextDeadlineOrUnwatched() })
        {
            await self.timepiece.rest(until: next)
            let now = self.timepiece.now.boot
            let late = self.state.withLock { state in
                let late = state.accountStates[account]?.expire(now: now) ?? []
                state.waiters -= late.count
                return late
            }
            self.settle(late)
        }
    }

    /// Reads a record that may have changed, and applies its content.
    ///
    /// - Returns: whether the store could tell what is there.
    @discardableResult
    func look(at account: AccountID) async -> Bool {
        guard self.plan(of: account) != nil else { return true }
        self.goByKnownIssuer(of: account)
        switch await self.read(account) {
        case .success(let entry):
            let now = self.timepiece.now
            self.note(entry, of: account)
            self.serve(account) { $0.observe(entry, now: now) }
            await self.takeOver(entry, of: account)
            return true
        case .failure(let error) where error.code == .unreadable:
            let isNew = self.state.withLock { state in
                let isNew = state.accountStates[account]?.observeUnreadable(.unreadable(account, error))
                return self.noteUnreadable(account, state) || isNew == true
            }
            if isNew { self.logUnreadable(account) }
            return true
        case .failure:
            // This was a hint only. A flight that needs the record reads it again.
            return false
        }
    }

    /// Applies a change to the account's state and serves the waiters that it satisfies.
    func serve(_ account: AccountID, _ change: (inout Account) -> Account.Landing) {
        let served = self.state.withLock { state in
            guard var accountState = state.accountStates[account] else { return [Account.Served]() }
            state.accountStates[account] = nil
            let landing = change(&accountState)
            state.accountStates[account] = accountState
            state.waiters -= landing.served.count
            if let event = landing.event { self.relay.post(event) }
            self.reschedule(account, &state)
            return landing.served
        }
        self.settle(served)
    }

    /// Logged once, when this process first finds out.
    func logUnreadable(_ account: AccountID) {
        self.logger.error("a record does not open and is kept", metadata: [LogField.account: "\(account)"])
    }

    /// No flight runs any more. All remaining waiters get an error.
    private func close() {
        let served = self.state.withLock { state in
            state.stopping = .now
            state.waiters = 0
            var served: [Account.Served] = []
            for account in state.accountStates.keys { served += state.accountStates[account]?.close() ?? [] }
            return served
        }
        self.newJobs.finish()
        self.settle(served)
    }
}
