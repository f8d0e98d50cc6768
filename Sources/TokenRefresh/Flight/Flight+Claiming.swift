package import TokenModel
package import TokenStorage

/// From the record to a claim that has time for an exchange.
extension Flight {
    mutating func evaluate(_ result: Result<AccountVault.Entry?, StoreError>, now: Moment) -> FlightAction {
        let entry: AccountVault.Entry?
        switch result {
        case .success(let read):
            entry = read
        case .failure(let error) where error.code == .unreadable:
            return self.end(.failed(.unreadable(self.plan.account, error)))
        case .failure(let error):
            // A claim of ours may stand: then it is worth a few more reads to use it.
            guard self.term != nil, self.countStoreFailure() else {
                return self.end(.failed(.storeLost(self.plan.account, error)))
            }
            return self.pause(Self.storeRetry, for: .evaluate, now: now)
        }
        self.see(entry, now: now)
        if self.refresh.isForced, self.snapshot?.tokenVersion != self.firstTokenVersion {
            self.refresh.isForced = false
        }
        if let entry, self.holdsClaim(entry) { return self.holdOn(now: now) }
        return self.decide(now: now)
    }

    /// Goes by a record without a claim of ours.
    mutating func decide(now: Moment) -> FlightAction {
        guard let snapshot = self.snapshot else { return self.poison() }
        switch snapshot.availability(
            of: self.plan.account,
            bound: self.plan.binding,
            mints: self.plan.mints != nil,
            under: self.epochs,
            for: self.refresh,
            at: now.boot
        ) {
        case .usable: return self.end(.settled)
        case .blocked(let error): return self.end(.failed(error))
        case .refreshable: break
        }
        guard let entry = snapshot.entry, let claim = entry.record.claim else {
            return self.claimOrAsk(snapshot.entry, breaking: false, now: now)
        }
        // One flight per account and process: a claim of this incarnation that isn't ours belongs to a flight that has ended. What
        // an incarnation that has ended was to get comes back to nobody, and the provider's grace for that may last for seconds.
        let isAbandoned = claim.incarnation == self.plan.incarnation || claim.incarnation == self.deadHolder
        let isLapsed = self.watch.saw(claim, in: entry.version, at: now.boot) || isAbandoned
        let mayBreak = isAbandoned || snapshot.mayBreakClaim(for: self.refresh, at: now.boot)
        // While nobody waits and the token is good, another's claim is no affair of ours but to keep an eye on.
        if self.refresh.ripe == snapshot.tokenVersion, !mayBreak { return self.end(.settled) }
        guard isLapsed else { return self.pauseForClaim(now: now) }
        guard mayBreak else {
            return self.end(.failed(.claimedElsewhere(self.plan.account)))
        }
        guard self.plan.mints != nil || entry.record.failureRecord?.spent != .maybe else {
            // The broken claim was the one more use: the next comes after a backoff.
            self.basis = self.newBasis(of: entry)
            return self.writeBack(.claimBroken, now: now)
        }
        return self.claimOrAsk(entry, breaking: true, now: now)
    }

    /// This process may send to the provider now (`nil`), or why not.
    ///
    /// - Parameters:
    ///   - epochs: the kill log, as read after the record: what comes of this flight is stamped with it.
    ///   - binding: whom the tokens may go to, as far as that is known by now; `nil`: as before.
    package mutating func didAdmit(
        _ refusal: CredentialError?,
        under epochs: KillEpochs = KillEpochs(),
        boundTo binding: AccountRecord.Binding? = nil,
        now: Moment
    ) -> FlightAction {
        guard case .admitting(let breaking) = self.state else { return self.poison() }
        self.epochs = epochs
        if let binding { self.plan.binding = binding }
        if let refusal { return self.end(.failed(refusal)) }
        self.isAdmitted = true
        return self.claimOrAsk(self.snapshot?.entry, breaking: breaking, now: now)
    }

    mutating func claimed(
        _ record: AccountRecord,
        _ result: Result<Version, StoreError>,
        sentAt: BootInstant,
        now: Moment
    ) -> FlightAction {
        switch result {
        case .success(let version):
            self.mustRenew = false
            self.term = ClaimTerm(sentAt: sentAt, timeout: self.plan.answerTimeout)
            self.see(AccountVault.Entry(record: record, version: version), now: now)
            return self.redeemOrRenew(now: now)
        case .failure(let error):
            switch error.code {
            case .conflict:
                // Perhaps with a write of our own whose answer was lost; then the claim may stand since then.
                return self.read(for: .evaluate)
            case .unreachable:
                self.term = self.term ?? ClaimTerm(sentAt: sentAt, timeout: self.plan.answerTimeout)
                guard self.countStoreFailure() else {
                    return self.end(.failed(.storeLost(self.plan.account, error)))
                }
                return self.pause(Self.storeRetry, for: .evaluate, now: now)
            case .unwritable, .unreadable, .outdated, .invalid:
                return self.end(.failed(.storeLost(self.plan.account, error)))
            }
        }
    }

    /// Writes the claim, or writes it anew.
    mutating func claim() -> FlightAction {
        guard let basis = self.basis else { return self.poison() }
        var record = basis.learned
        record.claim = AccountRecord.Claim(
            incarnation: self.plan.incarnation,
            id: self.plan.claim,
            standsFor: ClaimTerm.length(timeout: self.plan.answerTimeout)
        )
        self.state = .claiming(record)
        return .write(record, expecting: self.version)
    }

    private func holdsClaim(_ entry: AccountVault.Entry) -> Bool {
        // Where the tokens were adopted for another client, what stands is no longer the record that was claimed.
        entry.record.claim?.id == self.plan.claim && self.basis?.record.tokenVersion == entry.record.tokenVersion
            && self.basis?.record.binding == entry.record.binding
    }

    /// The claim stands, by a write whose answer was lost, or before the one second try.
    private mutating func holdOn(now: Moment) -> FlightAction {
        self.mustRenew ? self.claim() : self.redeemOrRenew(now: now)
    }

    private mutating func redeemOrRenew(now: Moment) -> FlightAction {
        guard let term = self.term, let basis = self.basis else { return self.poison() }
        if now.boot <= term.sendBy {
            self.state = .redeeming
            self.awaitsAnswerSince = now.boot
            return basis.refreshToken.map { .redeem($0, sendBy: term.sendBy) } ?? .mint(sendBy: term.sendBy)
        }
        self.renewals += 1
        guard self.renewals <= Self.mostRenewals else { return self.giveUpClaim() }
        return self.claim()
    }

    private mutating func pauseForClaim(now: Moment) -> FlightAction {
        let since = self.awaitsAnswerSince ?? now.boot
        self.awaitsAnswerSince = since
        let isEarly = since.duration(to: now.boot) < self.plan.timeout
        return self.pause(isEarly ? Self.pollInterval : Self.latePollInterval, for: .evaluate, now: now)
    }

    private mutating func claimOrAsk(_ entry: AccountVault.Entry?, breaking: Bool, now: Moment) -> FlightAction {
        guard self.isAdmitted else {
            self.state = .admitting(breaking: breaking)
            return .admit
        }
        guard var basis = self.newBasis(of: entry) else {
            return self.end(.failed(.withoutRefreshToken(self.plan.account)))
        }
        if breaking, self.plan.mints == nil {
            basis.spent = .maybe
            basis.isLastUse = true
            basis.record.failureRecord = RefreshFailure.claimBroken.failureRecord(
                after: basis.record.failureRecord,
                spent: .maybe,
                jitter: 0
            )
        }
        self.basis = basis
        self.proofs.prefer(basis.record)
        return self.claim()
    }

    private func newBasis(of entry: AccountVault.Entry?) -> Basis? {
        if let grant = self.plan.mints { return self.newBasis(ofMint: entry?.record, grant) }
        guard let record = entry?.record, let refreshToken = record.tokens?.refreshToken else { return nil }
        let spent = record.failureRecord?.spent ?? .no
        var unclaimed = record
        unclaimed.claim = nil
        // From before the refresh token is sent it is bound to where that goes.
        unclaimed.binding.issuer = record.binding.issuer.settled(by: self.plan.binding.issuer)
        // What this flight has learned of the same refresh token still holds.
        let isSame = self.basis?.record.tokenVersion == record.tokenVersion
        return Basis(
            record: unclaimed,
            refreshToken: refreshToken,
            spent: isSame && self.basis?.spent == .maybe ? .maybe : spent,
            isLastUse: spent == .maybe || (isSame && self.basis?.isLastUse == true)
        )
    }

    /// What is there already goes on, if it is ours; else a grant begins.
    private func newBasis(ofMint stored: AccountRecord?, _ grant: GrantID) -> Basis {
        let isLive =
            stored.map { self.epochs.verdict(on: $0, of: self.plan.account, at: self.plan.binding.provider) } == .live
        // What is written over and was killed is known again.
        var killed = stored
        if !isLive { killed?.rememberKilled() }
        var record = AccountRecord(
            grant: grant,
            generation: .none,
            tokens: nil,
            observedEpoch: self.epochs.last,
            observedEntry: self.epochs.lastEntry,
            binding: self.plan.binding,
            killed: killed?.killed ?? []
        )
        if let stored, isLive, stored.binding.match(self.plan.binding) == .same {
            record = stored
            record.binding.issuer = stored.binding.issuer.settled(by: self.plan.binding.issuer)
        }
        record.claim = nil
        let isSame = self.basis?.record.tokenVersion == record.tokenVersion
        var refreshToken = self.plan.signsIn ? record.tokens?.refreshToken : nil
        if let basis = self.basis, isSame, basis.refreshToken == nil, refreshToken != nil {
            // It was found dead in this flight, and what says so could not be written yet.
            record.tokens?.refreshToken = nil
            refreshToken = nil
        }
        return Basis(
            record: record,
            refreshToken: refreshToken,
            spent: .no,
            isLastUse: isSame && self.basis?.isLastUse == true
        )
    }

    mutating func countStoreFailure() -> Bool {
        self.storeFailures += 1
        return self.storeFailures <= Self.mostStoreFailures
    }
}
