package import Logging
package import ProviderClient
internal import Synchronization
package import TokenModel
package import TokenStorage

/// Hands out credentials and keeps their tokens fresh, correctly with several processes on one store.
///
/// In this process one flight at a time refreshes an account, however many callers wait for it. A claim in the store
/// keeps other processes from spending the same refresh token. A flight belongs to ``run()``, so a caller's
/// cancellation does not affect it. The decisions are made in ``AccountState`` (waiters), ``Flight`` (one refresh),
/// ``Freshness`` (how long a token is usable) and ``RefreshTiming`` (background refreshes).
///
/// Callers are served only while ``run()`` runs. It returns after ``stop()`` when all flights have ended.
package final class RefreshEngine: Sendable {
    typealias Waiter = CheckedContinuation<Result<UpstreamCredential, CredentialError>, Never>
    typealias Account = AccountState<Waiter>

    enum Job: Sendable {
        /// Run a flight with the configuration at the time of the decision, even if it has changed since.
        case fly(AccountConfiguration, RefreshRequest)
        /// Read a record that this process has not read yet.
        case look(AccountConfiguration)
        /// Read all records that this process knows, since the store has fallen back.
        case lookAtAll
        /// Read all records, since another configuration decides what they are good for.
        case index
        case watchDeadlines(AccountID)
    }

    struct State {
        /// The current configuration.
        var plans: AccountPlans
        /// One for each account that is configured by name, for each member of a family that is in use, and for each
        /// account that was removed from the configuration while a flight of it was in progress.
        var accountStates: [AccountID: Account]
        var limits: RefreshLimits
        /// The known kills.
        var epochs = KillEpochs()
        /// One for each provider of the plans.
        var gates: [ProviderID: ProviderGate]
        var lastWaiter: UInt64 = 0
        var waiters = 0
        /// Flights that have begun or are about to.
        var flights = 0
        var stopping = Stopping.no
        /// Accounts whose refresh token was sent, and whose new one is not safe yet.
        var exposed: Set<AccountID> = []
        /// Those of ``exposed`` that ``stopNow()`` did not wait for.
        var abandoned: Set<AccountID> = []
        /// Whether no errand begins any more.
        var endsSoon = false
        /// The earliest moment of the next claim, after the store has fallen back.
        var claimsRestUntil = BootInstant.distantPast
        /// All known accounts are about to be read again.
        var isLookDue = false
        /// The index of accounts has been filled.
        var isIndexed = false
        /// When the index is compared with the store again.
        var nextComparison = BootInstant.distantPast
        /// The number of records that were put back.
        var repairs: UInt64 = 0
        var agenda = Agenda()
        /// The moment until which the scheduler sleeps; `distantFuture` if it waits for the bell only.
        var alarm = BootInstant.distantFuture
    }

    let vault: AccountVault
    let kills: any KillReader
    let incarnation: IncarnationID
    /// Knows which other incarnations on this host have ended, and keeps tokens that the store does not accept.
    let host: any HostState
    let timepiece: Timepiece
    let logger: Logger
    let relay: EventRelay
    let onEvent: @Sendable (RefreshEvent) -> Void
    let state: Mutex<State>
    let jobs: AsyncStream<Job>
    let newJobs: AsyncStream<Job>.Continuation
    let random: @Sendable () -> Double
    let endpoint: @Sendable (AccountRecord.Binding) -> (any TokenEndpoint)?
    /// Wakes the scheduler before its time.
    let bell = Bell()
    /// The stored accounts that are not configured by name.
    package let index: AccountIndex

    /// - Parameters:
    ///   - plans: one for each account that is configured by name. If an account occurs twice, the later one wins.
    ///   - kills: read before a refresh token is spent and after new tokens are stored.
    ///   - incarnation: the incarnation of this process. No other engine on the same store may use it.
    ///   - host: the state on this host that outlives the process.
    ///   - random: draws evenly from 0 to 1, for the jitter of backoffs and schedules.
    ///   - endpoint: returns the endpoint that revokes tokens with a binding that no account names any more; `nil` if
    ///     the configuration does not know the provider either.
    ///   - onEvent: receives the events for operators. It must pass them on and return.
    ///   - onCredential: receives every new or withdrawn credential, in order. It must pass it on and return, and must
    ///     not call the engine.
    package init(
        plans: [AccountConfiguration],
        families: [AccountFamilyConfiguration] = [],
        vault: AccountVault,
        kills: any KillReader,
        incarnation: IncarnationID,
        host: any HostState = NoHostState(),
        limits: RefreshLimits = RefreshLimits(),
        timepiece: Timepiece = .system,
        logger: Logger,
        random: @escaping @Sendable () -> Double = { .drawn(in: 0...1) },
        endpoint: @escaping @Sendable (AccountRecord.Binding) -> (any TokenEndpoint)? = { _ in nil },
        onEvent: @escaping @Sendable (RefreshEvent) -> Void = { _ in },
        onCredential: @escaping @Sendable (CredentialEvent) -> Void
    ) {
        self.vault = vault
        self.kills = kills
        self.incarnation = incarnation
        self.host = host
        self.timepiece = timepiece
        self.logger = logger
        self.random = random
        self.endpoint = endpoint
        self.relay = EventRelay(onCredential)
        self.onEvent = onEvent
        let plans = AccountPlans(plans, families: families)
        let accountStates = Dictionary(uniqueKeysWithValues: plans.named.map { ($0.account, Account($0)) })
        let gates = Self.gates(plans, now: timepiece.now.boot)
        self.index = AccountIndex(plans)
        self.state = Mutex(State(plans: plans, accountStates: accountStates, limits: limits, gates: gates))
        self.state.withLock { $0.followRates() }
        (self.jobs, self.newJobs) = AsyncStream.makeStream()
    }

    /// The current configuration of an account; `nil` if it has none. A member of a family has one whether it exists or
    /// not.
    func plan(of account: AccountID) -> AccountConfiguration? { self.state.withLock { $0.plans[account] } }

    var limits: RefreshLimits { self.state.withLock { $0.limits } }

    /// The account's credential: at once if a valid one is known, otherwise after a flight has brought one.
    ///
    /// - Parameter refused: the generation that an upstream responded 401 to. If the current generation is another one,
    ///   its credential is returned. Otherwise it is refreshed, at most once per generation. If a 401 led to this very
    ///   generation and an upstream refused it at first use, no 401 refreshes the account for 60 s, and *the credential
    ///   of the same generation is returned*. Pass the 401 on in that case.
    /// - Throws: the error for the caller. After a failed refresh, callers whose token was refused or who have no valid
    ///   token get the error of that refresh.
    package func credential(for account: AccountID, refused: Generation? = nil) async throws(CredentialError)
        -> UpstreamCredential
    {
        try await self.wait(for: account, .credential(refused: refused)).get()
    }

    /// Records that an upstream gave another response than 401 to a token of `generation`. From then on a 401 means
    /// that this token has died, and not that the upstream refuses everything. This is cheap; one call per generation
    /// is enough.
    package func accepted(_ generation: Generation, for account: AccountID) {
        self.state.withLock { $0.accountStates[account]?.accepted(generation) }
    }

    /// The number of callers that wait for a refresh now, over all accounts.
    package var waiterCount: Int { self.state.withLock { $0.waiters } }

    /// The number of refreshes in progress.
    package var flightCount: Int { self.state.withLock { $0.flights } }

    /// The number of records that the store had lost and that were put back.
    package var repairCount: UInt64 { self.state.withLock { $0.repairs } }

    /// Stops after the flights in progress. From now on no flight starts; valid credentials are still handed out.
    package func stop() {
        self.stop(.graceful)
    }

    /// Stops without waiting for providers. Call it before their connections are closed: from now on an exchange that
    /// ends without a response counts as abandoned.
    package func stopNow() {
        self.stop(.now)
    }

    /// The accounts whose refresh token was sent to the provider, and whose answer has not come, or is neither in the store
    /// nor in the journal. A process that ends now may lose their grants.
    package var exposedAccounts: [AccountID] { self.state.withLock { $0.exposed.sorted { $0.rawValue < $1.rawValue } } }

    /// The accounts whose grants may be lost because of ``stopNow()``. Complete when ``run()`` has returned.
    package var abandonedAccounts: [AccountID] {
        self.state.withLock { $0.abandoned.sorted { $0.rawValue < $1.rawValue } }
    }

    func stop(_ stopping: Stopping) {
        let isIdle = self.state.withLock { state in
            state.stopping = max(state.stopping, stopping)
            return state.flights == 0
        }
        if isIdle { self.newJobs.finish() }
    }

    /// Waits until `request` has a result: from known state, from a flight, from the deadline or from the caller's
    /// cancellation.
    func wait(for account: AccountID, _ request: CredentialRequest) async -> Result<UpstreamCredential, CredentialError>
    {
        let now = self.timepiece.now.boot
        let (known, id): (Result<UpstreamCredential, CredentialError>?, WaiterID) = self.state.withLock { state in
            state.lastWaiter += 1
            let id = WaiterID(rawValue: state.lastWaiter)
            guard let plan = state.plans[account] else { return (.failure(.notConfigured(account)), id) }
            guard self.activate(plan, &state) else { return (.failure(.empty(account)), id) }
            return (state.accountStates[account]?.resolve(request, now: now), id)
        }
        if let known {
            self.relay.deliver()
            return known
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                self.enter(waiter, as: id, for: request, of: account)
            }
        } onCancel: {
            let waiter = self.state.withLock { state in
                let waiter = state.accountStates[account]?.cancel(id)
                if waiter != nil { state.waiters -= 1 }
                return waiter
            }
            waiter?.resume(returning: .failure(.waitCancelled(account, isUnderWay: true)))
        }
    }

    private func enter(_ waiter: Waiter, as id: WaiterID, for request: CredentialRequest, of account: AccountID) {
        let now = self.timepiece.now.boot
        let (answer, plan): (Account.Answer, AccountConfiguration?) = self.state.withLock { state in
            // The task is marked as cancelled before its handler runs. So the waiter is found, whichever of the two
            // comes first here.
            if Task.isCancelled { return (.now(waiter, .failure(.waitCancelled(account, isUnderWay: false))), nil) }
            guard let plan = state.plans[account] else {
                return (.now(waiter, .failure(.notConfigured(account))), nil)
            }
            guard self.activate(plan, &state) else { return (.now(waiter, .failure(.empty(account))), nil) }
            let obstacle: CredentialError? =
                if state.stopping > .no {
                    .stopping(account)
                } else if state.waiters >= state.limits.waiters {
                    .tooManyWaiters(state.limits.waiters)
                } else {
                    nil
                }
            let answer = state.accountStates[account]?.ask(
                waiter,
                as: id,
                for: request,
                timeout: state.limits.wait(for: plan),
                unless: obstacle,
                now: now
            )
            if case .waits(let start, _) = answer {
                state.waiters += 1
                if start != nil { state.flights += 1 }
            }
            return (answer ?? .now(waiter, .failure(.notConfigured(account))), plan)
        }
        switch answer {
        case .now(let waiter, let result):
            self.relay.deliver()
            waiter.resume(returning: result)
        case .waits(let start, let watch):
            if let start, let plan { self.newJobs.yield(.fly(plan, start)) }
            if watch { self.newJobs.yield(.watchDeadlines(account)) }
        }
    }

    /// Updates the credential caches, then resumes the waiters.
    func settle(_ served: [Account.Served]) {
        self.relay.deliver()
        for served in served { served.waiter.resume(returning: served.result) }
    }
}
