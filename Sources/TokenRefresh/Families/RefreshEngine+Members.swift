internal import Logging
internal import Synchronization
package import TokenModel
package import TokenStorage

/// Members of families, of which there may be a hundred thousand.
///
///     unknown ──import, hint──▶ indexed ──request, due refresh──▶ in use (has an ``AccountState``)
///                                  ▲                                  │
///                                  └──── nobody used it for a while ──┘
///
/// A member that nobody uses costs an entry of the index and one of the agenda. No token of it is in memory.
extension RefreshEngine {
    /// How long a member stays in use after its last request, refresh or change. A failover loses no write this old, so
    /// that nothing needs to be put back for a member that is not in use.
    private static let idleTime = Duration.seconds(600)
    /// Records that other processes have written are read again within this time.
    private static let readingSpread = Duration.seconds(300)

    /// Whether the account exists: it is configured by name, or it is a member of a family that was imported or signed in
    /// and not removed since. Reads neither the store nor a provider, and holds the lock of the index only: it may be
    /// called on an event loop.
    package func exists(_ account: AccountID) -> Bool { self.index.exists(account) }

    /// Makes sure that the account has a state.
    ///
    /// - Returns: `false` for a member that does not exist. A name that nobody knows leaves nothing behind.
    func activate(_ plan: AccountConfiguration, _ state: inout State) -> Bool {
        if state.accountStates[plan.account] != nil { return true }
        guard let known = self.index[plan.account], known.exists else { return false }
        state.accountStates[plan.account] = Account(plan, state.epochs, known: known)
        return true
    }

    func isInUse(_ account: AccountID) -> Bool { self.state.withLock { $0.accountStates[account] != nil } }

    // MARK: - The index

    /// Reads all records and remembers the accounts that are not configured by name. Call it before callers are served.
    package func indexAccounts() async throws(StoreError) {
        try await self.vault.forEach { account in
            self.state.withLock { _ = self.noteUnreadable(account, $0) }
        } _: { account, entry in
            self.note(entry, of: account)
        }
        self.state.withLock { $0.isIndexed = true }
    }

    /// The same if it was not done yet.
    ///
    /// - Returns: whether it is done.
    @discardableResult
    func indexOnce() async -> Bool {
        if self.state.withLock({ $0.isIndexed }) { return true }
        do throws(StoreError) { try await self.indexAccounts() } catch { return false }
        return true
    }

    /// Tries until it is done.
    func keepIndexing() async {
        while await !self.indexOnce(), !Task.isCancelled {
            await self.timepiece.rest(until: self.timepiece.now.boot.advanced(by: .seconds(1)))
        }
    }

    /// Takes over a record that was just read or written, of an account that is neither configured by name nor in use.
    func note(_ entry: AccountVault.Entry?, of account: AccountID) {
        let now = self.timepiece.now
        self.state.withLock { state in
            guard !state.plans.isNamed(account), state.accountStates[account] == nil else { return }
            let known = self.index[account]
            // Nobody may fill the index with names that do not exist.
            guard entry != nil || known != nil else { return }
            // Reads overtake one another.
            if let newest = known?.version, entry.map({ $0.version < newest }) ?? true { return }
            let plan = state.plans[account]
            let snapshot = RecordSnapshot(entry, after: nil, knownSince: known?.firstSeenAt, now: now)
            let found = IndexedAccount(
                snapshot,
                of: account,
                bound: plan?.binding,
                under: state.epochs,
                timing: plan?.timing,
                jitter: known?.jitter ?? self.random()
            )
            self.index.set(found, for: account)
            guard let plan else { return }
            // A claim may be that of a process which has ended.
            let due = entry?.record.claim != nil ? now.boot : found.due(snapshot, plan.timing, now: now.boot)
            if let due, due <= now.boot { _ = self.activate(plan, &state) }
            state.agenda.set(due, for: account, of: plan.provider)
            self.ringIfEarlier(&state)
        }
    }

    /// - Returns: whether this is new.
    func noteUnreadable(_ account: AccountID, _ state: State) -> Bool {
        guard !state.plans.isNamed(account), let provider = state.plans[account]?.provider else { return false }
        let known = self.index[account]
        guard known?.content != .unreadable else { return false }
        self.index.set(IndexedAccount(unreadable: provider, jitter: known?.jitter ?? self.random()), for: account)
        return true
    }

    /// Notes that another process wrote the record of an account that is not in use. The record is read later: a bulk
    /// import elsewhere must not cost as many reads here at once.
    func noteChange(of account: AccountID, to version: Version?) {
        let now = self.timepiece.now.boot
        self.state.withLock { state in
            guard !state.plans.isNamed(account) else { return }
            let plan = state.plans[account]
            let known = self.index[account]
            self.index.set(
                known?.changed(to: version)
                    ?? IndexedAccount(unreadAt: version, provider: plan?.provider, jitter: self.random()),
                for: account
            )
            guard let plan else { return }
            let due = now.advanced(by: Self.readingSpread * self.random())
            state.agenda.set(due, for: account, of: plan.provider)
            self.ringIfEarlier(&state)
        }
    }

    /// Keeps the index up to date for a member that is in use.
    ///
    /// - Parameter anew: whether another configuration may decide what the known record is good for.
    func index(_ account: AccountID, _ state: State, anew: Bool = false) {
        guard !state.plans.isNamed(account), let accountState = state.accountStates[account] else { return }
        if accountState.unreadable != nil {
            _ = self.noteUnreadable(account, state)
            return
        }
        guard let snapshot = accountState.snapshot, snapshot.entry != nil else { return }
        let known = self.index[account]
        guard anew || known?.version != snapshot.entry?.version || known?.content == .unread else { return }
        self.index.set(
            IndexedAccount(
                snapshot,
                of: account,
                bound: accountState.binding,
                under: state.epochs,
                timing: state.plans[account]?.timing,
                jitter: accountState.jitter?.value ?? known?.jitter ?? self.random()
            ),
            for: account
        )
    }

    /// Takes the members out of use that nobody has used for a while.
    func retireIdle() {
        let now = self.timepiece.now.boot
        self.state.withLock { state in
            for (account, accountState) in state.accountStates where !state.plans.isNamed(account) {
                // Nothing becomes of an account that was removed, however often it is asked for.
                let idleTime = self.index.exists(account) ? Self.idleTime : .zero
                guard accountState.isIdle(since: now.advanced(by: .zero - idleTime), now: now) else { continue }
                // The agenda keeps the time of its next refresh, which is far.
                if let due = state.plans[account].flatMap({ self.appointment(of: $0, now: now, &state) }),
                    due < now.advanced(by: Self.idleTime)
                {
                    continue
                }
                state.accountStates[account] = nil
                self.relay.post(.retired(account))
            }
        }
        self.relay.deliver()
    }
}

extension IndexedAccount {
    /// When the refresh token must be used; `nil` if there is none to use.
    fileprivate func due(_ snapshot: RecordSnapshot, _ timing: RefreshTiming, now: BootInstant) -> BootInstant? {
        self.content == .tokens ? timing.due(snapshot, isUsed: false, jitter: self.jitter, now: now) : nil
    }
}
