package import TokenModel
package import TokenStorage

/// What an account offers, according to its record as last seen.
package enum Availability: Equatable, Sendable {
    case usable(UpstreamCredential)
    /// There is no credential, and a refresh must not be tried now or can't help.
    case blocked(CredentialError)
    /// A refresh would help, and nothing in the record forbids it.
    case refreshable
}

extension RecordSnapshot {
    /// What the account offers for `refresh` at `now`.
    ///
    /// - Parameters:
    ///   - binding: the provider, issuer and client that the configuration allows the account's tokens to be sent to.
    ///     Tokens issued for anyone else are neither used nor spent.
    ///   - epochs: the known kills. Tokens that they kill count as absent.
    ///   - mints: whether the account's tokens are minted. Such an account is never empty, and a mint may replace an
    ///     access token that was issued for somebody else, since nothing stored is sent. A mint never replaces a
    ///     refresh token that was issued for somebody else.
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
        // The location of an issuer's token endpoint does not matter for access tokens. They stay usable until they
        // expire.
        if isOurs,
            let obstacle = boundElsewhere
                ?? self.obstacle(account, record, mints: mints, isForced: refresh.isForced, at: now)
        {
            return credential.map { .usable($0) } ?? .blocked(obstacle)
        }
        return .refreshable
    }

    /// Why the refresh token must not be sent to the configured `binding`; `nil` if it may be sent or none would be
    /// sent.
    func issuerObstacle(of account: AccountID, bound binding: AccountRecord.Binding, _ mints: Bool) -> CredentialError?
    {
        guard let record = self.entry?.record, record.binding.match(binding) != .same,
            !mints || record.tokens?.refreshToken != nil
        else { return nil }
        return .boundElsewhere(account, to: record.binding, not: binding)
    }

    /// Whether a lapsed claim of another replica, which may still be working, may be broken. It may not while the
    /// access token is still valid.
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
        // The holder of a claim has already waited for the backoff to end.
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
            usableUntil: usableUntil,
            scopes: Set(record.tokens?.scopes ?? []),
            isGrantRefused: record.failureRecord?.endsGrant == true
        )
    }

    /// The grant of the account's tokens, if it stands, whether the access token can be used or not.
    func standingGrant(
        of account: AccountID,
        bound binding: AccountRecord.Binding,
        under epochs: KillEpochs
    ) -> GrantID? {
        guard let record = self.entry?.record, record.tokens != nil, record.failureRecord?.endsGrant != true,
            record.binding.match(binding) != .other,
            epochs.verdict(on: record, of: account, at: binding.provider) == .live
        else { return nil }
        return record.grant
    }
}
