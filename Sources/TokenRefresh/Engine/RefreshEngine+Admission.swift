internal import Logging
internal import OAuth
internal import Synchronization
package import TokenModel
internal import TokenStorage

/// How a flight gets permission to send, and what its result says about the provider.
extension RefreshEngine {
    /// How long a flight that waits for its turn sleeps before it checks whether there is still a reason to go on.
    private static let longestNap = Duration.milliseconds(500)

    /// Waits until this process may send to the provider for this account.
    ///
    /// - Parameter ticket: set if the process may send.
    /// - Returns: why the process may not send; `nil` if it may.
    func admit(
        _ plan: AccountConfiguration,
        _ refresh: RefreshRequest,
        as ticket: inout ProviderGate.Ticket?
    ) async -> CredentialError? {
        switch self.queue(plan, refresh) {
        case .refused(let refusal): return CredentialError(refusal, of: plan.provider)
        case .at(let moment):
            var now = self.timepiece.now.boot
            while now < moment, self.mayGoOn(plan) {
                await self.timepiece.rest(until: min(moment, now.advanced(by: Self.longestNap)))
                now = self.timepiece.now.boot
            }
        }
        switch self.enter(plan, refresh) {
        case .success(let admitted):
            ticket = admitted
            return nil
        case .failure(let error):
            return error
        }
    }

    /// Why no request is sent yet if a backoff could not be written to the record. A request by an operator overrides
    /// this.
    func unwrittenObstacle(to plan: AccountConfiguration, _ refresh: RefreshRequest, _ entry: AccountVault.Entry?)
        -> CredentialError?
    {
        guard !refresh.isForced else { return nil }
        let now = self.timepiece.now.boot
        return self.state.withLock { $0.accountStates[plan.account]?.unwrittenObstacle(in: entry?.version, now: now) }
    }

    private func queue(_ plan: AccountConfiguration, _ refresh: RefreshRequest) -> ProviderGate.Place {
        let now = self.timepiece.now.boot
        let (place, isRateLimited): (ProviderGate.Place, Bool?) = self.state.withLock { state in
            // Whoever was turned away before comes first. Background refreshes begin in that order.
            let turn = state.accountStates[plan.account]?.turnedAway?.until
            let isInTurn = refresh.ripe != nil || turn.map { $0 <= now } ?? false
            // Nobody's turn comes any more once background refreshes have stopped.
            let backlog = isInTurn || state.endsSoon ? 0 : state.agenda.turnedAway(of: plan.provider)
            let patience = state.limits.wait(for: plan)
            guard
                let place = state.gates[plan.provider]?
                    .queue(plan.account, isForced: refresh.isForced, patience: patience, behind: backlog, now: now)
            else { return (.at(now), nil) }
            guard case .at(let moment) = place else { return (place, nil) }
            return (place, state.gates[plan.provider]?.crowding(wait: now.duration(to: moment), now: now))
        }
        if let isRateLimited {
            self.logger.log(
                level: isRateLimited ? .warning : .notice,
                isRateLimited
                    ? "refreshes wait: more are due than the provider's refresh_rate lets through"
                    : "refreshes no longer wait for the provider's refresh_rate",
                metadata: [LogField.provider: "\(plan.provider)"]
            )
        }
        return place
    }

    private func mayGoOn(_ plan: AccountConfiguration) -> Bool {
        self.obsolescence(of: plan) == nil
    }

    private func enter(_ plan: AccountConfiguration, _ refresh: RefreshRequest) -> Result<
        ProviderGate.Ticket, CredentialError
    > {
        let now = self.timepiece.now.boot
        return self.state.withLock { state in
            if let obstacle = state.obsolescence(of: plan) {
                state.gates[plan.provider]?.giveBack()
                return .failure(obstacle)
            }
            // Every provider in the configuration has a gate.
            guard
                let entry = state.gates[plan.provider]?
                    .admit(plan.account, isForced: refresh.isForced, now: now)
            else { return .failure(.notConfigured(plan.account)) }
            switch entry {
            case .failure(let refused):
                state.gates[plan.provider]?.giveBack()
                return .failure(CredentialError(refused.refusal, of: plan.provider))
            case .success(let ticket):
                let lifetime = state.accountStates[plan.account]?.snapshot?.entry?.record.tokens?.lifetime
                guard let wait = state.accountStates[plan.account]?.limit.admit(lifetime: lifetime, now: now) else {
                    return .success(ticket)
                }
                state.gates[plan.provider]?.withdraw(ticket, of: plan.account, now: now)
                return .failure(.tooOften(plan.account, retryAfter: wait))
            }
        }
    }

    /// Logs changes of a provider's availability. The refusal of the client is reported as an event instead.
    func log(_ changes: ProviderGate.Changes, of plan: AccountConfiguration) {
        let facts: Logger.Metadata = [LogField.account: "\(plan.account)", LogField.provider: "\(plan.provider)"]
        if changes.refusesClient == false {
            self.logger.notice("a provider takes the client again", metadata: facts)
        }
        switch changes.isFailing {
        case true?:
            self.logger.warning("a provider keeps failing; requests to it pause for a while", metadata: facts)
        case false?:
            self.logger.notice("a provider answers again", metadata: facts)
        case nil: break
        }
    }

    /// The availability of each configured provider in this process.
    package var providers: [ProviderID: ProviderAvailability] {
        self.state.withLock { state in
            let configured = Set(state.plans.all.map(\.provider))
            return state.gates.filter { configured.contains($0.key) }.mapValues(\.availability)
        }
    }

    /// A gate for each provider of `plans`. Existing gates are kept.
    static func gates(
        _ plans: AccountPlans,
        after known: [ProviderID: ProviderGate] = [:],
        now: BootInstant
    ) -> [ProviderID: ProviderGate] {
        var gates: [ProviderID: ProviderGate] = [:]
        let families = Set(plans.families.values.map(\.member.provider))
        for (provider, plans) in Dictionary(grouping: plans.all, by: \.provider) {
            guard let plan = plans.first else { continue }
            let timeout = plan.timeout
            // Whether there is one account or more decides what a failure says about the provider. A family has many.
            let accounts = plans.count + (families.contains(provider) ? 1 : 0)
            var gate = known[provider] ?? ProviderGate(plan.rate, accounts: accounts, timeout: timeout)
            gate.reload(plan.rate, accounts: accounts, timeout: timeout, now: now)
            gates[provider] = gate
        }
        return gates
    }
}

extension RefreshEngine.State {
    /// Has as many background refreshes in progress as the providers' rates of the present plans allow.
    mutating func followRates() {
        for plan in self.plans.all { self.agenda.setRate(plan.rate.perSecond, of: plan.provider) }
    }
}

extension FlightOutcome {
    /// The outcome with the provider's next probe as the retry time, if the provider refuses the client and the error
    /// has no retry time. This flight itself has caused the hold.
    func telling(_ retryAt: BootInstant?, now: BootInstant) -> FlightOutcome {
        guard case .failed(let error) = self.result, error.code == .providerConfig, error.retryAfter == nil, let retryAt
        else { return self }
        var outcome = self
        outcome.result = .failed(error.with(retryAfter: now.duration(to: retryAt)))
        return outcome
    }

    /// What the outcome says about whether the provider accepts the client.
    var clientLesson: ProviderHold.Lesson { self.lesson == .nothing && self.uses > 0 ? .silence : self.lesson }

    /// What the outcome says about whether the provider can be asked at all.
    var resume: ProviderBreaker.Lesson {
        if self.lesson != .nothing { return .responded }
        switch self.failure {
        // The provider did not cause these: the store was too slow, the configuration changed, or the process is
        // stopping.
        case .notSent(.sendingTooLate)?, .notSent(.shutDown)?, .claimBroken?, nil: return .nothing
        case .notSent?, .ambiguous?, .throttled?: return .failed
        case .notProvider?: return .notProvider
        case .config?, .accountConfig?, .refused?, .dead?: return .responded
        }
    }
}

extension CredentialError {
    /// The error that callers get because a provider's gate refused a request.
    init(_ refusal: ProviderGate.Refusal, of provider: ProviderID) {
        switch refusal {
        case .refusesClient(let retryAfter):
            self = .providerHeld(provider, retryAfter: retryAfter)
        case .failing(let retryAfter):
            self.init(
                .refreshFailed,
                "provider \(provider) failed again and again and is left alone for a while",
                retryAfter: retryAfter
            )
        case .unanswered(let retryAfter):
            self.init(
                .refreshFailed,
                "provider \(provider) answers none of many token requests; a new one is sent now and then, to find out",
                retryAfter: retryAfter
            )
        case .notProvider(let retryAfter):
            self = .notProvider(provider, retryAfter: retryAfter)
        case .crowded(let retryAfter):
            self.init(
                .refreshFailed,
                "more refreshes are due at provider \(provider) than its refresh_rate lets through in time",
                retryAfter: retryAfter,
                restraint: .provider
            )
        }
    }
}
