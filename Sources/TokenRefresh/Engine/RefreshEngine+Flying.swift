internal import Logging
internal import OAuth
internal import ProviderClient
internal import Synchronization
internal import TokenModel
internal import TokenStorage

/// Performs the actions that a flight decides on.
extension RefreshEngine {
    func fly(_ plan: AccountConfiguration, _ refresh: RefreshRequest) async {
        let account = plan.account
        // The order stays the same for the whole flight, whatever other flights learn meanwhile.
        let proofs = plan.endpoint.proofs
        let flightPlan = FlightParameters(
            account: account,
            binding: plan.binding,
            mints: plan.grant.mints ? .random() : nil,
            signsIn: plan.grant == .password,
            proofs: ProofOrder(
                digests: proofs.map { $0.proofSecret.map(TokenDigest.init(of:)) },
                acceptedAt: plan.endpoint.proofAcceptedAt
            ),
            timeout: plan.timeout,
            answerTimeout: plan.endpoint.answerTimeout,
            journalsFirst: self.vault.guarantees.reach == .network,
            incarnation: self.incarnation,
            claim: .random(),
            refresh: refresh,
            epochs: self.state.withLock { $0.epochs },
            jitter: self.random()
        )
        let (snapshot, watch) = self.state.withLock {
            ($0.accountStates[account]?.snapshot, $0.accountStates[account]?.watch)
        }
        var flight = Flight(flightPlan, snapshot: snapshot, watch: watch ?? ClaimWatch())
        var ticket: ProviderGate.Ticket?
        var complaint: BootInstant?
        var place: JournalPlace?
        var failpoints = Failpoints()
        var action = flight.begin()
        while true {
            if let since = flight.awaitsAnswerSince {
                self.state.withLock { $0.accountStates[account]?.awaitsAnswerSince = since }
            }
            await failpoints.reach(action, of: flight)
            switch action {
            case .read:
                let result = await self.read(account)
                let isHolderDead = await self.isHolderDead(result)
                action = flight.didRead(result, isHolderDead: isHolderDead, now: self.timepiece.now)
            case .admit:
                let binding = await self.learnIssuer(by: plan)
                // Checked first with the known kills, since an admission counts against the limits. The log is read
                // after the admission.
                var epochs = self.state.withLock { $0.epochs }
                var refusal = Self.refusal(of: flight.snapshot?.entry?.record, of: plan, by: epochs)
                if refusal == nil {
                    refusal = flight.snapshot?.issuerObstacle(of: account, bound: binding, plan.grant.mints)
                }
                if refusal == nil { refusal = self.unwrittenObstacle(to: plan, refresh, flight.snapshot?.entry) }
                if refusal == nil { refusal = await self.admit(plan, refresh, as: &ticket) }
                if refusal == nil { (refusal, epochs) = await self.evaluate(flight.snapshot?.entry?.record, of: plan) }
                action = flight.didAdmit(refusal, under: epochs, boundTo: binding, now: self.timepiece.now)
            case .write(let record, let expecting):
                if record.claim != nil { await self.waitOutFall() }
                if record.claim != nil, let reason = self.obsolescence(of: plan) {
                    action = flight.didWithdraw(reason)
                    continue
                }
                if let old = flight.snapshot?.entry?.record, old.grant != record.grant {
                    await self.takeAwayIfPossible(old, of: account)
                }
                let sentAt = self.timepiece.now.boot
                // Inserted before the write, since the store's change notification may come before its response.
                let version = self.vault.version(behind: expecting)
                self.state.withLock { _ = $0.accountStates[account]?.flightWrites.insert(version) }
                let result = await self.write(record, for: account, as: version, expecting: expecting)
                self.state.withLock { state in
                    switch result {
                    case .success:
                        // A store that falls back may lose this claim too. No other process may know of the claim to
                        // put it back.
                        let entry = AccountVault.Entry(record: record, version: version)
                        state.accountStates[account]?.didWrite(entry)
                    // Another process's write may get that number later.
                    case .failure: state.accountStates[account]?.flightWrites.remove(version)
                    }
                }
                self.log(result, of: account, complaint: &complaint)
                if case .success = result {
                    self.isSafe(account)
                    self.logTakeover(of: account, by: record, after: flight.snapshot?.entry?.record)
                }
                action = flight.didWrite(result, sentAt: sentAt, now: self.timepiece.now)
            case .redeem(let refreshToken, let sendBy):
                // A flight that sends a token always has an issuer.
                let issuer = flight.issuer ?? plan.binding.issuer
                let endpoint = proofs[flight.proof].sending(onlyTo: issuer)
                let spent = flight.snapshot?.tokenVersion
                self.state.withLock { _ = $0.exposed.insert(account) }
                let result = await self.exchange(by: plan) {
                    await endpoint.redeem(refreshToken, scopes: plan.scopes) {
                        self.mayStillSend(by: sendBy, for: plan, spending: spent)
                    }
                }
                self.noteExposure(of: account, by: result)
                switch result {
                case .success(let verdict): action = flight.didRedeem(verdict, now: self.timepiece.now)
                case .failure(let reason): action = flight.didWithdraw(reason)
                }
            case .mint(let sendBy):
                let endpoint = proofs[flight.proof]
                let result = await self.exchange(by: plan) {
                    await endpoint.mint(scopes: plan.scopes) { self.mayStillSend(by: sendBy, for: plan) }
                }
                switch result {
                case .success(let verdict): action = flight.didRedeem(verdict, now: self.timepiece.now)
                case .failure(let reason): action = flight.didWithdraw(reason)
                }
            case .journal(let record, let isPrecaution):
                place = await self.host.keep(record, for: account)
                if place != nil { self.isSafe(account) }
                if !isPrecaution || place == nil { self.log(isJournalled: place != nil, account) }
                action = flight.didJournal(place != nil, now: self.timepiece.now)
            case .pass(let entry, let receivedAt):
                self.take(entry, of: account, receipt: .here(at: receivedAt), isStored: false)
                action = flight.didPass(now: self.timepiece.now)
            case .pause(let until):
                await self.timepiece.rest(until: until)
                action = flight.didPause(self.state.withLock { $0.stopping })
            case .end(let outcome):
                if ticket != nil, outcome.uses == 0 {
                    self.state.withLock { $0.accountStates[account]?.limit.giveBack() }
                }
                if let place, !outcome.leavesJournal { await self.host.release(place) }
                self.state.withLock { state in
                    // New tokens were dropped although nothing has replaced them.
                    if state.exposed.remove(account) != nil, case .failed = outcome.result,
                        outcome.dropped != nil || outcome.droppedRefreshToken != nil
                    {
                        state.abandoned.insert(account)
                    }
                }
                self.land(plan, outcome, by: ticket, wasBackground: refresh.ripe != nil)
                await self.lookForKill(after: outcome, plan)
                await self.doubtMove(of: outcome.snapshot?.entry?.record, by: plan)
                return
            }
        }
    }

    /// Makes a token request, unless there is a reason against it by now.
    private func exchange(
        by plan: AccountConfiguration,
        _ ask: () async -> TokenVerdict
    ) async -> Result<TokenVerdict, CredentialError> {
        if let reason = self.obsolescence(of: plan) { return .failure(reason) }
        let account = plan.account
        let sentAt = self.timepiece.now.boot
        self.state.withLock { $0.gates[plan.provider]?.sent(for: account, now: sentAt) }
        let verdict = await ExchangeSubject.account.withValue(account) { await ask() }
        let now = self.timepiece.now.boot
        self.state.withLock { $0.gates[plan.provider]?.ended(for: account, wasAnswered: verdict.isAnswer, now: now) }
        return .success(verdict)
    }

    /// The account's present refresh token is in the store or in the journal.
    private func isSafe(_ account: AccountID) { self.state.withLock { _ = $0.exposed.remove(account) } }

    /// After an exchange, only new tokens leave the account exposed: they are not stored yet.
    private func noteExposure(of account: AccountID, by result: Result<TokenVerdict, CredentialError>) {
        self.state.withLock { state in
            switch result {
            case .success(.success), .success(.rotated): return
            // Cut short, so the provider may have spent the token.
            case .success(.ambiguous) where state.stopping == .now: state.abandoned.insert(account)
            default: break
            }
            state.exposed.remove(account)
        }
    }

    /// - Parameter version: the version to write; if `nil`, the one that follows `expecting`.
    func write(
        _ record: AccountRecord,
        for account: AccountID,
        as version: Version? = nil,
        expecting: Version?
    ) async -> Result<Version, StoreError> {
        let version = version ?? self.vault.version(behind: expecting)
        do throws(StoreError) {
            try await self.vault.write(record, for: account, as: version, expecting: expecting)
            return .success(version)
        } catch {
            return .failure(error)
        }
    }

    /// Logs that the store does not accept a record: at once, and again each minute while a flight keeps trying.
    private func log(
        _ result: Result<Version, StoreError>,
        of account: AccountID,
        complaint: inout BootInstant?
    ) {
        guard case .failure(let error) = result, error.code != .conflict else { return }
        let now = self.timepiece.now.boot
        if let complaint, complaint.duration(to: now) < .seconds(60) { return }
        complaint = now
        self.logger.error(
            "the store does not take a record, and is tried again: mend the store before this process is stopped",
            metadata: [LogField.account: "\(account)", LogField.code: "\(error.code.rawValue)"]
        )
    }

    private func land(
        _ plan: AccountConfiguration,
        _ outcome: FlightOutcome,
        by ticket: ProviderGate.Ticket?,
        wasBackground: Bool
    ) {
        let moment = self.timepiece.now
        let now = moment.boot
        let (landing, start, changes, events, becameUnreadable, isOver) = self.state.withLock { state in
            // A response from an endpoint of the previous configuration says nothing about the current one. A kill does
            // not invalidate a response. In both cases a probe's place is given back.
            let counts = state.asks(like: plan)
            let changes =
                state.gates[plan.provider]?
                .learned(
                    counts ? outcome.clientLesson : .nothing,
                    counts ? outcome.resume : .nothing,
                    by: ticket,
                    of: plan.account,
                    now: now
                ) ?? ProviderGate.Changes()
            let obstacle: CredentialError? =
                if state.stopping > .no {
                    .stopping(plan.account)
                } else if state.plans[plan.account] == nil {
                    .notConfigured(plan.account)
                } else {
                    nil
                }
            let outcome = outcome.telling(state.gates[plan.provider]?.availability.retryAt, now: now)
            let wasReadable = state.accountStates[plan.account]?.unreadable == nil
            let landing =
                state.accountStates[plan.account]?.land(outcome, unless: obstacle, now: now) ?? Account.Landing()
            let becameUnreadable = wasReadable && state.accountStates[plan.account]?.unreadable != nil
            state.waiters -= landing.served.count
            if landing.start == nil { state.flights -= 1 }
            if let event = landing.event { self.relay.post(event) }
            if landing.start == nil { self.retireIfGone(plan.account, &state) }
            self.restIfCrowded(plan.account, of: plan.provider, outcome, wasBackground, now: now, &state)
            self.reschedule(plan.account, &state)
            if wasBackground { self.errandEnded(plan, &state) }
            let start = landing.start.map { (plan: state.plans[plan.account] ?? plan, refresh: $0) }
            let events = self.events(of: plan, outcome, changes, at: moment, &state)
            return (landing, start, changes, events, becameUnreadable, state.stopping > .no && state.flights == 0)
        }
        self.log(plan, outcome, hasTried: ticket != nil)
        if becameUnreadable { self.logUnreadable(plan.account) }
        self.log(changes, of: plan)
        self.tell(events)
        self.settle(landing.served)
        if let start { self.newJobs.yield(.fly(start.plan, start.refresh)) }
        if isOver { self.newJobs.finish() }
    }

    /// Has background refreshes wait until their token requests would not have to wait for long, or until the provider or
    /// the store may be asked again that a queue waits for.
    private func restIfCrowded(
        _ account: AccountID,
        of provider: ProviderID,
        _ outcome: FlightOutcome,
        _ wasBackground: Bool,
        now: BootInstant,
        _ state: inout State
    ) {
        guard case .failed(let error) = outcome.result, let wait = state.gates[provider]?.wait(now: now) else { return }
        if error.restraint == .provider {
            let pause = wait - .seconds(1)
            // Requests that were only turned away behind others must not delay these.
            guard wasBackground || pause > .zero else { return }
            state.agenda.rest(until: now.advanced(by: max(pause, .milliseconds(100))), of: provider)
        } else if wasBackground, state.accountStates[account]?.turnedAway != nil {
            let pause = min(max(error.retryAfter ?? .zero, .seconds(1)), .seconds(10))
            state.agenda.rest(until: now.advanced(by: pause), of: provider)
        }
    }

    /// - Parameter hasTried: whether the flight was admitted to ask the provider. A flight that found an account empty,
    ///   dead or backing off has no news, and any caller can start such flights one after the other.
    private func log(_ plan: AccountConfiguration, _ outcome: FlightOutcome, hasTried: Bool) {
        var facts: Logger.Metadata = [
            LogField.account: "\(plan.account)",
            LogField.provider: "\(plan.provider)",
            LogField.uses: .stringConvertible(outcome.uses),
        ]
        if let generation = outcome.snapshot?.tokenVersion?.generation {
            facts[LogField.generation] = .stringConvertible(generation.rawValue)
        }
        if let reason = outcome.snapshot?.entry?.record.failureRecord?.reason { facts[LogField.reason] = "\(reason)" }
        switch outcome.result {
        case .committed:
            if let tokens = outcome.snapshot?.entry?.record.tokens {
                facts[LogField.endsAt] = "\(tokens.expiresAt.rfc3339)"
            }
            // A hundred thousand members of a family are refreshed all the time.
            let isMember = self.state.withLock { $0.plans.family(of: plan.account) } != nil
            self.logger.log(level: isMember ? .debug : .info, "an account was refreshed", metadata: facts)
        case .settled:
            self.logger.debug("a refresh found the account as it should be", metadata: facts)
        case .failed(let error):
            facts[LogField.code] = "\(error.code.rawValue)"
            facts[LogField.message] = "\(error.message)"
            if let retryAfter = error.retryAfter {
                facts[LogField.retryAfter] = .stringConvertible(retryAfter.components.seconds)
            }
            self.logger.log(level: hasTried ? .warning : .debug, "a refresh failed", metadata: facts)
        }
        if outcome.dropped != nil || outcome.droppedRefreshToken != nil {
            self.logger.warning("tokens came for an account that has others by now, and were dropped", metadata: facts)
        }
    }
}

extension TokenVerdict {
    /// Whether the verdict comes from a response of the provider.
    fileprivate var isAnswer: Bool {
        switch self {
        case .notSent, .ambiguous: false
        default: true
        }
    }
}
