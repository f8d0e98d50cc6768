package import TokenModel
package import TokenStorage

/// The steps from the record to a claim that leaves enough time for an exchange.
extension Flight {
    mutating func evaluate(_ result: Result<AccountVault.Entry?, StoreError>, now: Moment) -> FlightAction {
        let entry: AccountVault.Entry?
        switch result {
        case .success(let read):
            entry = read
        case .failure(let error) where error.code == .unreadable:
            return self.end(.failed(.unreadable(self.plan.account, error)))
        case .failure(let error):
            // Our claim may be in the store. Using it is worth a few more reads.
            guard self.term != nil, self.countStoreFailure() else {
                return self.end(.failed(.storeLost(self.plan.account, error)))
            }
            return self.pause(Self.storeRetry, for: .evaluate, now: now)
        }
        self.see(entry, now: now)
        if self.refresh.isForced, self.snapshot?.tokenVersion != self.firstTokenVersion {
            self.refresh.isForced = false
        }
        if let entry, self.holdsClaim(entry) { return self.continueWithClaim(now: now) }
        return self.decide(now: now)
    }

    /// Chooses the next step for a record without a claim of ours.
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
            return self.claimOrAdmit(snapshot.entry, breaking: false, now: now)
        }
        // A process has one flight per account, so a claim of this incarnation that isn't ours belongs to a flight that
        // has ended. If an incarnation has ended, nobody receives the response to its request, and the provider's grace
        // period for that may last only seconds.
        let isAbandoned = claim.incarnation == self.plan.incarnation || claim.incarnation == self.deadHolder
        let isLapsed = self.watch.saw(claim, in: entry.version, at: now.boot) || isAbandoned
        let mayBreak = isAbandoned || snapshot.mayBreakClaim(for: self.refresh, at: now.boot)
        // While nobody waits and the token is valid, another process's claim only needs watching.
        if self.refresh.ripe == snapshot.tokenVersion, !mayBreak { return self.end(.settled) }
        guard isLapsed else { return self.pauseForClaim(now: now) }
        guard mayBreak else {
            return self.end(.failed(.claimedElsewhere(self.plan.account)))
        }
        guard self.plan.mints != nil || entry.record.failureRecord?.spent != .maybe else {
            // The broken claim belonged to the one repeated use. The next use comes after a backoff.
            self.basis = self.newBasis(of: entry)
            return self.writeBack(.claimBroken, now: now)
        }
        return self.claimOrAdmit(entry, breaking: true, now: now)
    }

    /// Takes the admission decision: `nil` if this process may send to the provider now, otherwise the reason why not.
    ///
    /// - Parameters:
    ///   - epochs: the kill log, read after the record. The result of this flight stores its last epoch.
    ///   - binding: the provider, issuer and client that the tokens may be sent to, as far as known now; `nil` if
    ///     unchanged.
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
        return self.claimOrAdmit(self.snapshot?.entry, breaking: breaking, now: now)
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
                // The conflicting write may be our own whose response was lost. Our claim may then be in the store
                // already.
                return self.read(for: .evaluate)
            case .unreachable:
                self.term = self.term ?? ClaimTerm(sentAt: sentAt, timeout: self.plan.answerTimeout)
                guard self.countStoreFailure() else {
                    return self.end(.failed(.storeLost(self.plan.account, error)))
                }
                return self.pause(Self.storeRetry, for: .evaluate, now: now)
            case .unwritable, .unreadable, .outdated, .moved, .locked, .invalid:
                return self.end(.failed(.storeLost(self.plan.account, error)))
            }
        }
    }

    /// Writes or renews the claim.
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
        // If an operator adopted the tokens for another client, the record is no longer the one that we claimed.
        entry.record.claim?.id == self.plan.claim && self.basis?.record.tokenVersion == entry.record.tokenVersion
            && self.basis?.record.binding == entry.record.binding
    }

    /// Our claim is in the store, either from a write whose response was lost or from before the one repeated try.
    private mutating func continueWithClaim(now: Moment) -> FlightAction {
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

    private mutating func claimOrAdmit(_ entry: AccountVault.Entry?, breaking: Bool, now: Moment) -> FlightAction {
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
        // The token is bound to its destination before it is sent.
        unclaimed.binding.issuer = record.binding.issuer.settled(by: self.plan.binding.issuer)
        // What this flight has learned about the same refresh token still holds.
        let isSame = self.basis?.record.tokenVersion == record.tokenVersion
        return Basis(
            record: unclaimed,
            refreshToken: refreshToken,
            spent: isSame && self.basis?.spent == .maybe ? .maybe : spent,
            isLastUse: spent == .maybe || (isSame && self.basis?.isLastUse == true)
        )
    }

    /// The existing grant continues if it is alive and ours. Otherwise a new grant begins.
    private func newBasis(ofMint stored: AccountRecord?, _ grant: GrantID) -> Basis {
        let isLive =
            stored.map { self.epochs.verdict(on: $0, of: self.plan.account, at: self.plan.binding.provider) } == .live
        // Killed tokens that get overwritten stay known as killed.
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
            // This flight found the refresh token dead and could not write that yet.
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

/// The lifetime of a claim as its holder counts it. It starts when the claim's write was *sent*, so that the claim ends
/// for the holder no later than for any process that has read it.
package struct ClaimTerm: Equatable, Sendable {
    /// When the write was handed to the store.
    package let sentAt: BootInstant
    /// The longest duration of one token request.
    package let timeout: Duration

    package init(sentAt: BootInstant, timeout: Duration) {
        self.sentAt = sentAt
        self.timeout = timeout
    }

    /// How long a claim is valid: one token request, and 4 s for the store before and after it.
    package static func length(timeout: Duration) -> Duration { timeout + .seconds(4) }

    /// From this moment on other processes may break the claim.
    package var end: BootInstant { self.sentAt.advanced(by: Self.length(timeout: self.timeout)) }

    /// The latest moment to send the token request, so that it ends 1 s before the claim does. After it the claim must
    /// be renewed.
    package var sendBy: BootInstant { self.end.advanced(by: .zero - self.timeout - .seconds(1)) }
}
