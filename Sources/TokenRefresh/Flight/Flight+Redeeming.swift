package import OAuth
package import TokenModel
internal import TokenStorage

/// The steps from the provider's response to the record to write.
extension Flight {
    /// Takes the result of the exchange: a response, no response, or no connection. `now` is the time at which the
    /// result was known.
    package mutating func didRedeem(_ verdict: TokenVerdict, now: Moment) -> FlightAction {
        guard case .redeeming = self.state, var basis = self.basis else { return self.poison() }
        if case .notSent = verdict {} else { self.uses += 1 }
        if let action = self.proveAgain(after: verdict) { return action }
        if let action = self.signIn(after: verdict) { return action }
        switch self.plan.mints == nil ? verdict : verdict.ofMint {
        case .success(let grant):
            self.lesson = .accepted
            return self.commit(grant, basis: basis, now: now)
        case .rotated(let token, let reason) where token.refreshToken != basis.refreshToken:
            self.lesson = .accepted
            return self.commit(token, because: reason, basis: basis, now: now)
        case .dead(let reason):
            self.lesson = .accepted
            return self.read(for: .declareDead(reason))
        case .config where self.refusal != nil:
            // Another proof got a different refusal, so the provider did not refuse the client.
            return self.writeBack(.refused(self.refusal ?? .noKnownReason), now: now)
        case .config(let reason):
            self.lesson = .refused
            return self.writeBack(.config(reason), now: now)
        case .accountConfig(let reason):
            self.lesson = .accepted
            return self.writeBack(.accountConfig(reason), now: now)
        case .throttled(let retryAfter):
            return self.writeBack(.throttled(retryAfter: retryAfter), now: now)
        case .notSent(.sendingTooLate) where self.lateStarts < Self.mostLateStarts:
            self.lateStarts += 1
            return self.claim()
        case .notSent(let reason):
            return self.writeBack(.notSent(reason), now: now)
        case .ambiguous(let reason), .rotated(_, let reason):
            basis.spent = self.plan.mints == nil ? .maybe : .no
            guard !basis.isLastUse else {
                self.basis = basis
                return self.writeBack(.ambiguous(reason), now: now)
            }
            basis.isLastUse = true
            self.basis = basis
            self.mustRenew = true
            return self.claim()
        case .conflict(let reason):
            self.lesson = .accepted
            guard !basis.isLastUse else { return self.writeBack(.refused(reason), now: now) }
            basis.isLastUse = true
            self.basis = basis
            self.mustRenew = true
            return self.read(for: .evaluate)
        case .refused(let reason):
            return self.writeBack(.refused(self.refusal ?? reason), now: now)
        case .notProvider(let reason):
            return self.writeBack(.notProvider(reason), now: now)
        }
    }

    /// Writes into the record that there are no tokens, the reason, and when to retry. The claim is removed.
    mutating func writeBack(_ failure: RefreshFailure, now: Moment) -> FlightAction {
        guard let basis = self.basis else { return self.poison() }
        self.failure = failure
        var record = basis.record
        let failureRecord = failure.failureRecord(
            after: record.failureRecord,
            spent: basis.spent,
            mints: self.plan.mints != nil,
            jitter: self.plan.jitter
        )
        record.failureRecord = failureRecord
        let retryAfter = failureRecord.retryIn > .zero ? failureRecord.retryIn : nil
        let error = CredentialError(failureRecord, of: self.plan.account, retryAfter: retryAfter)
        return self.writeBack(WriteBack(record: record, error: error))
    }

    /// Removes the unused claim. The store is too slow to leave time for an exchange.
    mutating func giveUpClaim() -> FlightAction {
        guard let basis = self.basis else { return self.poison() }
        return self.writeBack(WriteBack(record: basis.learned, error: .storeTooSlow(self.plan.account)))
    }

    /// Cancels the last action (the write of a claim, the redeeming or the mint) before it begins, since there is a
    /// reason against it by now. Results of earlier actions stay in the record, and a claim that is in the store is
    /// removed.
    package mutating func didWithdraw(_ reason: CredentialError) -> FlightAction {
        switch self.state {
        case .claiming, .redeeming: break
        case .ready, .reading, .admitting, .committing, .journalling, .passing, .writingBack, .pausing, .ended:
            return self.poison()
        }
        guard let basis = self.basis else { return self.poison() }
        guard self.snapshot?.entry?.record.claim?.id == self.plan.claim else { return self.end(.failed(reason)) }
        return self.writeBack(WriteBack(record: basis.learned, error: reason))
    }

    private mutating func writeBack(_ writeBack: WriteBack) -> FlightAction {
        self.state = .writingBack(writeBack)
        return .write(writeBack.record, expecting: self.version)
    }

    mutating func wroteBack(
        _ writeBack: WriteBack,
        _ result: Result<Version, StoreError>,
        now: Moment
    ) -> FlightAction {
        switch result {
        case .success(let version):
            self.see(AccountVault.Entry(record: writeBack.record, version: version), now: now)
            return self.end(.failed(writeBack.error), declaredDead: self.declaresDead(writeBack))
        case .failure(let error) where error.code == .conflict:
            return self.read(for: .writeBack(writeBack))
        case .failure(let error) where error.code == .unreachable:
            return self.writeBackLater(writeBack, now: now)
        case .failure:
            return self.endUnwritten(writeBack)
        }
    }

    mutating func writeBackAgain(
        _ writeBack: WriteBack,
        over result: Result<AccountVault.Entry?, StoreError>,
        now: Moment
    ) -> FlightAction {
        guard case .success(let entry) = result else { return self.writeBackLater(writeBack, now: now) }
        let expected = self.version
        self.see(entry, now: now)
        guard let entry, entry.record.tokenVersion == writeBack.record.tokenVersion else {
            return self.decide(now: now)
        }
        if entry.record == writeBack.record {
            return self.end(.failed(writeBack.error), declaredDead: self.declaresDead(writeBack))
        }
        guard entry.record.claim?.id == self.plan.claim || entry.version == expected else {
            return self.end(.failed(writeBack.error))
        }
        var writeBack = writeBack
        // An operator has adopted the tokens for another client meanwhile. That stands; our failure concerned the
        // previous client.
        if entry.record.binding.match(writeBack.record.binding) != .same {
            writeBack.record.adopt(entry.record.binding)
        }
        if entry.record.tokens == nil, writeBack.record.tokens != nil {
            // A kill has removed the tokens. They stay removed, and our failure concerned those tokens.
            writeBack.record = entry.record
            writeBack.record.claim = nil
        }
        return self.writeBack(writeBack)
    }

    /// Whether this flight's own failure makes the record dead, and it was not dead when the flight began to use it.
    private func declaresDead(_ writeBack: WriteBack) -> Bool {
        writeBack.record.failureRecord?.endsGrant == true && self.basis?.record.failureRecord?.endsGrant != true
    }

    private mutating func writeBackLater(_ writeBack: WriteBack, now: Moment) -> FlightAction {
        var writeBack = writeBack
        writeBack.attempts += 1
        guard writeBack.attempts < Self.mostStoreFailures else { return self.endUnwritten(writeBack) }
        return self.pause(Self.storeRetry, for: .writeBack(writeBack), now: now)
    }

    /// The claim stays and lapses. A process that breaks it must treat the refresh token as possibly spent.
    private mutating func endUnwritten(_ writeBack: WriteBack) -> FlightAction {
        self.end(.failed(writeBack.error), unwritten: self.failure == nil ? nil : writeBack.error)
    }

    /// Reads the record after the provider said that the grant is dead, since the store may have newer tokens.
    mutating func declareDead(
        _ reason: VerdictReason,
        after result: Result<AccountVault.Entry?, StoreError>,
        now: Moment
    ) -> FlightAction {
        let entry: AccountVault.Entry?
        switch result {
        case .success(let read):
            entry = read
        case .failure(let error):
            guard error.code != .unreadable, self.countStoreFailure() else {
                return self.end(.failed(.storeLost(self.plan.account, error)))
            }
            return self.pause(Self.storeRetry, for: .declareDead(reason), now: now)
        }
        self.see(entry, now: now)
        guard let record = entry?.record, record.tokenVersion == self.basis?.record.tokenVersion,
            record.failureRecord?.endsGrant != true,
            record.binding == self.basis?.record.binding, record.tokens != nil,
            record.claim == nil || record.claim?.id == self.plan.claim
        else {
            // The record was superseded, adopted for another client or killed, or another replica is about to find out
            // with the same refresh token.
            return self.decide(now: now)
        }
        return self.writeBack(.dead(reason), now: now)
    }
}
