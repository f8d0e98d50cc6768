package import Logging
package import ProviderClient
internal import Synchronization
package import TokenModel
package import TokenStorage

/// Hands out passes and keeps the tokens behind them fresh, correctly with several processes on one store.
///
/// One flight at a time refreshes an account here, whoever waits for it; a claim in the store keeps the other processes
/// from spending the same refresh token. A flight belongs to ``run()``: no caller's cancellation touches it. What is
/// decided, and when, stands in ``AccountState`` (who waits), ``Flight`` (one refresh), ``Freshness`` (until when) and
/// ``RefreshTiming`` (when nobody waits).
///
/// ``run()`` must run for a caller to be served; it ends after ``stop()``, when all flights have.
package final class RefreshEngine: Sendable {
    typealias Waiter = CheckedContinuation<Result<UpstreamCredential, CredentialError>, Never>
    typealias Account = AccountState<Waiter>

    enum Job: Sendable {
        /// By the plan of the moment at which it was decided, whatever the configuration says by then.
        case fly(AccountConfiguration, RefreshRequest)
        /// Read a record that this process knows nothing of yet.
        case look(AccountConfiguration)
        /// Read all records that it knows: the store has fallen back.
        case lookAtAll
        case watchDeadlines(AccountID)
    }

    struct State {
        /// What the configuration says now.
        var plans: [AccountID: AccountConfiguration]
        /// One for each plan, and for each account that was taken out while a flight of its was under way.
        var accountStates: [AccountID: Account]
        var limits: RefreshLimits
        /// The kills that are known.
        var epochs = KillEpochs()
        /// One for each provider of the plans.
        var gates: [ProviderID: ProviderGate]
        var lastWaiter: UInt64 = 0
        var waiters = 0
        /// Begun, or about to be.
        var flights = 0
        var stopping = Stopping.no
        /// No errand begins any more.
        var endsSoon = false
        /// No claim is written before this: the store has fallen back.
        var claimsRestUntil = BootInstant.distantPast
        /// How many records were put back.
        var repairs: UInt64 = 0
        var agenda = Agenda()
        /// What the scheduler rests for; `distantFuture` for nothing.
        var alarm = BootInstant.distantFuture
    }

    let vault: AccountVault
    let kills: any KillReader
    let incarnation: IncarnationID
    /// Knows which other incarnations on this host have ended, and keeps successes that the store does not take.
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

    /// - Parameters:
    ///   - plans: one for each account; a later one of the same account wins.
    ///   - kills: asked before a refresh token is spent, and after new tokens are stored.
    ///   - boot: of this process, and of no other engine on the same store.
    ///   - host: what outlives the process here.
    ///   - random: draws evenly from 0 to 1, for the jitter of backoffs and schedules.
    ///   - endpoint: where tokens made for somebody are revoked whom no account names any more; `nil` where the configuration
    ///     knows no such provider either.
    ///   - onEvent: told of what operators should hear of. It hands over and returns.
    ///   - onPass: told of every new or withdrawn pass, in order. It hands over and returns, and does not call the engine.
    package init(
        plans: [AccountConfiguration],
        vault: AccountVault,
        kills: any KillReader,
        incarnation: IncarnationID,
        host: any HostState = NoHostState(),
        limits: RefreshLimits = RefreshLimits(),
        timepiece: Timepiece = .system,
        logger: Logger,
        random: @escaping @Sendable () -> Double = { .random(in: 0...1) },
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
        let plans = Self.byAccount(plans)
        let gates = Self.gates(plans, now: timepiece.now.boot)
        self.state = Mutex(
            State(plans: plans, accountStates: plans.mapValues { Account($0) }, limits: limits, gates: gates)
        )
        (self.jobs, self.newJobs) = AsyncStream.makeStream()
    }

    static func byAccount(_ plans: [AccountConfiguration]) -> [AccountID: AccountConfiguration] {
        Dictionary(plans.map { ($0.account, $0) }) { _, later in later }
    }

    /// What the configuration says of an account now; `nil` where it says nothing.
    func plan(of account: AccountID) -> AccountConfiguration? { self.state.withLock { $0.plans[account] } }

    var limits: RefreshLimits { self.state.withLock { $0.limits } }

    /// The account's credential: at once while a valid one is known, else when a flight has brought one.
    ///
    /// - Parameter refused: The generation that an upstream answered 401 to. If the current one is another, that comes
    ///   back. Else it is refreshed, at most once per generation; but where a 401 brought this very generation and it
    ///   was refused at first use, no 401 refreshes the account for 60 s, and *the credential of the same generation comes
    ///   back*: pass the 401 on then.
    /// - Throws: What the one who asks is to be answered; after a failed refresh its own error, to those whose token
    ///   was refused and to those who have no valid one.
    package func credential(for account: AccountID, refused: Generation? = nil) async throws(CredentialError)
        -> UpstreamCredential
    {
        try await self.wait(for: account, .credential(refused: refused)).get()
    }

    /// Tells that an upstream answered otherwise than 401 to a token of `generation`: from then on a 401 to it is
    /// taken for its end, not for an upstream that refuses everything. Cheap; once per generation is enough.
    package func accepted(_ generation: Generation, for account: AccountID) {
        self.state.withLock { $0.accountStates[account]?.accepted(generation) }
    }

    /// How many wait for a refresh now, over all accounts.
    package var waiterCount: Int { self.state.withLock { $0.waiters } }

    /// How many refreshes are under way.
    package var flightCount: Int { self.state.withLock { $0.flights } }

    /// How many records the store had lost and were put back.
    package var repairCount: UInt64 { self.state.withLock { $0.repairs } }

    /// Stops after the flights under way. From now on no flight starts; valid passes are still given.
    package func stop() {
        self.stop(.graceful)
    }

    func stop(_ stopping: Stopping) {
        let isIdle = self.state.withLock { state in
            state.stopping = max(state.stopping, stopping)
            return state.flights == 0
        }
        if isIdle { self.newJobs.finish() }
    }

    /// Waits until `request` is answered: by what is known, by a flight, by the deadline, or by the caller's going.
    func wait(for account: AccountID, _ request: CredentialRequest) async -> Result<UpstreamCredential, CredentialError>
    {
        let now = self.timepiece.now.boot
        let (known, id): (Result<UpstreamCredential, CredentialError>?, WaiterID) = self.state.withLock { state in
            state.lastWaiter += 1
            let id = WaiterID(rawValue: state.lastWaiter)
            guard state.plans[account] != nil else { return (.failure(.notConfigured(account)), id) }
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
            // The task is marked before its handler runs: whichever comes first here, the waiter is found.
            if Task.isCancelled { return (.now(waiter, .failure(.waitCancelled(account, isUnderWay: false))), nil) }
            guard let plan = state.plans[account] else {
                return (.now(waiter, .failure(.notConfigured(account))), nil)
            }
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

    /// Tells the slots, then lets the waiters go.
    func settle(_ served: [Account.Served]) {
        self.relay.deliver()
        for served in served { served.waiter.resume(returning: served.result) }
    }
}
