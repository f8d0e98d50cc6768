package import TokenModel
package import TokenStorage

/// What can be had of an account as it was last seen.
package enum Availability: Equatable, Sendable {
    case usable(UpstreamCredential)
    /// No credential, and a refresh is not to be tried now, or can't help.
    case blocked(CredentialError)
    /// A refresh would help, and nothing in the record speaks against it.
    case refreshable
}

extension RecordSnapshot {
    /// What can be had for `refresh` at `now`.
    ///
    /// - Parameters:
    ///   - binding: whom the configuration lets the account's tokens go to. Tokens made for anyone else are neither used
    ///     nor spent.
    ///   - epochs: the kills that are known. What is dead by them is as good as not there.
    ///   - mints: whether the account's tokens are minted. It is never empty, and a mint may take the place of an access
    ///     token that was made for somebody else: nothing stored is sent. A refresh token is not thrown away so.
    package func availability(
        of account: AccountID,
        bound binding: AccountRecord.Binding,
        mints: Bool = false,
        under epochs: KillEpochs = KillEpochs(),
        for refresh: RefreshRequest = .usable,
        at now: BootInstant
    ) -> Availability {
        func emptied() -> CredentialError {
            .emptied(account, by: epochs.invalidation(on: self.entry?.record, of: account, at: binding.provider))
        }
        switch epochs.verdict(on: self.entry?.record, of: account, at: binding.provider) {
        case .live: break
        case .killed: return .blocked(.killed(account))
        case .dead: return mints ? .refreshable : .blocked(emptied())
        }
        guard let record = self.entry?.record, mints || record.tokens != nil else {
            let wasTaken = self.entry?.record.killed.isEmpty == false
            return mints ? .refreshable : .blocked(wasTaken ? emptied() : .empty(account))
        }
        let isOurs = record.binding.match(binding) != .other
        let boundElsewhere = self.issuerObstacle(of: account, bound: binding, mints)
        if !isOurs, let boundElsewhere { return .blocked(boundElsewhere) }
        let isUnwanted = !isOurs || refresh.isForced || refresh.refused == record.tokenVersion
        let credential = isUnwanted ? nil : self.credential(for: account, at: now)
        if let credential, !self.freshness.isDoubtful, refresh.ripe != record.tokenVersion {
            return .usable(credential)
        }
        // Where an issuer has its token endpoint says nothing of access tokens: those go on until they end.
        if isOurs,
            let obstacle = boundElsewhere
                ?? self.obstacle(account, record, mints: mints, isForced: refresh.isForced, at: now)
        {
            return credential.map { .usable($0) } ?? .blocked(obstacle)
        }
        return .refreshable
    }

    /// What keeps the refresh token from being sent to whom `binding` names; `nil` where it may, or there is none that would
    /// be.
    func issuerObstacle(of account: AccountID, bound binding: AccountRecord.Binding, _ mints: Bool) -> CredentialError?
    {
        guard let record = self.entry?.record, record.binding.match(binding) != .same,
            !mints || record.tokens?.refreshToken != nil
        else { return nil }
        return .boundElsewhere(account, to: record.binding, not: binding)
    }

    /// Whether the claim of another replica, which may be at work, may be broken once it has lapsed: never while the access
    /// token is still good.
    package func mayBreakClaim(for refresh: RefreshRequest, at now: BootInstant) -> Bool {
        let isGood = self.freshness.isUsable(at: now) && !self.freshness.isDoubtful
        return !isGood || (refresh.refused != nil && refresh.refused == self.tokenVersion)
    }

    private func obstacle(
        _ account: AccountID,
        _ record: AccountRecord,
        mints: Bool,
        isForced: Bool,
        at now: BootInstant
    ) -> CredentialError? {
        if !mints {
            if let failureRecord = record.failureRecord, failureRecord.endsGrant {
                return CredentialError(failureRecord, of: account, retryAfter: nil)
            }
            if record.tokens?.refreshToken == nil { return .withoutRefreshToken(account) }
        }
        // Whoever holds a claim has waited the backoff out already.
        guard let failureRecord = record.failureRecord, let retryAt, now < retryAt, record.claim == nil, !isForced
        else {
            return nil
        }
        return CredentialError(failureRecord, of: account, retryAfter: now.duration(to: retryAt))
    }

    private func credential(for account: AccountID, at now: BootInstant) -> UpstreamCredential? {
        guard let record = self.entry?.record, let accessToken = record.tokens?.accessToken,
            let usableUntil = self.freshness.usableUntil, now < usableUntil
        else { return nil }
        return UpstreamCredential(
            account: account,
            provider: record.binding.provider,
            formerProviders: record.formerProviders,
            grant: record.grant,
            generation: record.generation,
            observedEpoch: record.observedEpoch,
            accessToken: accessToken,
            usableUntil: usableUntil
        )
    }
}
