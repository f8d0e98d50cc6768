internal import OAuth
package import TokenModel
internal import TokenStorage

/// From tokens in hand to tokens that are durable.
extension Flight {
    mutating func commit(_ grant: TokenGrant, basis: Basis, now: Moment) -> FlightAction {
        var record = basis.record
        record.generation = record.generation.next
        record.observedEpoch(by: self.epochs)
        record.tokens =
            basis.refreshToken != nil
            ? basis.record.tokens.map { Self.tokens(of: grant, after: $0, now: now) }
            : Self.minted(grant, after: basis.record.tokens, signsIn: self.plan.signsIn, now: now)
        // Nothing that was made at another provider is left in a mint.
        if record.tokens?.refreshToken == nil { record.formerProviders = [] }
        record.claim = nil
        record.failureRecord = nil
        record.acceptedProof = self.proofs.digest
        record.refreshedAt = now.wall
        return self.commit(Success(issued: .tokens(grant), record: record, receivedAt: now.boot))
    }

    /// Commits a refresh token that came without an access token: the old one may be dead by now. An access token that
    /// is still good stays beside it.
    mutating func commit(
        _ token: RotatedToken,
        because reason: VerdictReason,
        basis: Basis,
        now: Moment
    ) -> FlightAction {
        let failure = RefreshFailure.ambiguous(reason)
        let freshness = self.snapshot?.freshness
        let isKept = self.refresh.refused != basis.record.tokenVersion && freshness?.isUsable(at: now.boot) == true
        var record = basis.record
        record.generation = record.generation.next
        record.observedEpoch(by: self.epochs)
        // Both lifetimes count from one receipt: that of an access token which stays.
        let age = isKept ? basis.record.tokens.map { max($0.receivedAt.duration(to: now.wall), .zero) } : nil
        record.tokens = basis.record.tokens.map { Self.tokens(of: token, after: $0, keptFor: age, now: now) }
        record.claim = nil
        record.acceptedProof = self.proofs.digest
        let failureRecord = failure.failureRecord(
            after: basis.record.failureRecord,
            spent: .no,
            jitter: self.plan.jitter
        )
        record.failureRecord = failureRecord
        self.failure = failure
        let error = CredentialError(failureRecord, of: self.plan.account, retryAfter: failureRecord.retryIn)
        let kept = isKept ? freshness : nil
        return self.commit(
            Success(
                issued: .refreshTokenAlone(
                    token.refreshToken,
                    kept: kept ?? Freshness(usableUntil: nil, isDoubtful: false),
                    error
                ),
                record: record,
                receivedAt: now.boot.advanced(by: .zero - (age ?? .zero))
            )
        )
    }

    mutating func committed(
        _ success: Success,
        _ result: Result<Version, StoreError>,
        now: Moment
    ) -> FlightAction {
        switch result {
        case .success(let version):
            return self.stands(success, version, now: now)
        case .failure(let error) where error.code == .invalid:
            // No store will ever take these tokens, and what isn't durable is not used.
            self.basis?.spent = self.plan.mints == nil ? .maybe : .no
            guard let basis = self.basis else { return self.poison() }
            var record = basis.record
            record.failureRecord = RefreshFailure.ambiguous(.answerTooLarge).failureRecord(
                after: record.failureRecord,
                spent: basis.spent,
                jitter: self.plan.jitter
            )
            self.state = .writingBack(
                WriteBack(record: record, error: .unstorable(self.plan.account, error))
            )
            return .write(record, expecting: self.version)
        case .failure(let error) where error.code == .conflict && success.attempts == 0:
            var success = success
            success.attempts += 1
            return self.read(for: .commit(success))
        case .failure:
            return self.commitLater(success, now: now)
        }
    }

    mutating func commitAgain(
        _ success: Success,
        over result: Result<AccountVault.Entry?, StoreError>,
        now: Moment
    ) -> FlightAction {
        guard case .success(let entry) = result else { return self.commitLater(success, now: now) }
        guard let entry else {
            // Records are never removed: the store has lost it.
            self.version = nil
            return self.commit(success)
        }
        if entry.record == success.record { return self.stands(success, entry.version, now: now) }
        let isSuperseded =
            entry.record.grant != success.record.grant || entry.record.generation >= success.record.generation
        guard isSuperseded else {
            // Resealed, claimed by another, even declared dead: all less than tokens in hand. Also adopted for another
            // client: these tokens came under the old binding, and whether they belong to the other an operator has
            // to say of them anew.
            self.version = entry.version
            var success = success
            // A kill may have taken the old tokens out meanwhile, and another binding is remembered.
            success.record.keepHistory(of: entry.record)
            return self.commit(success)
        }
        self.see(entry, now: now)
        return self.end(.settled, dropping: success)
    }

    private mutating func commit(_ success: Success) -> FlightAction {
        if self.plan.journalsFirst, success.isJournalled == nil {
            self.state = .journalling(success)
            return .journal(success.record, isPrecaution: true)
        }
        self.state = .committing(success)
        return .write(success.record, expecting: self.version)
    }

    private mutating func commitLater(_ success: Success, now: Moment) -> FlightAction {
        guard self.plan.mints == nil else { return self.commitAfterPause(success, now: now) }
        guard success.isJournalled == nil else { return self.serve(success, now: now) }
        self.state = .journalling(success)
        return .journal(success.record, isPrecaution: false)
    }

    /// The journal holds the new tokens, or can't be written: then they are as safe as before.
    package mutating func didJournal(_ isKept: Bool, now: Moment) -> FlightAction {
        guard case .journalling(var success) = self.state else { return self.poison() }
        success.isJournalled = isKept
        // Then the store was not asked yet.
        if self.plan.journalsFirst { return self.commit(success) }
        return self.serve(success, now: now)
    }

    /// Serves those who wait from the journal, once; the store is asked again later.
    private mutating func serve(_ success: Success, now: Moment) -> FlightAction {
        guard success.isJournalled == true, !success.isPassed, case .tokens = success.issued else {
            return self.commitAfterPause(success, now: now)
        }
        self.state = .passing(success)
        // As the commit will leave it, unless another writer comes between; that one's version is no lower.
        let entry = AccountVault.Entry(record: success.record, version: self.version?.next ?? .first)
        return .pass(entry, receivedAt: success.receivedAt)
    }

    /// Those who waited have been served.
    package mutating func didPass(now: Moment) -> FlightAction {
        guard case .passing(var success) = self.state else { return self.poison() }
        success.isPassed = true
        return self.commitAfterPause(success, now: now)
    }

    private mutating func commitAfterPause(_ success: Success, now: Moment) -> FlightAction {
        var success = success
        success.attempts += 1
        // Within 500 ms of the store's return.
        let pause = min(Duration.milliseconds(50) * (1 << min(success.attempts - 1, 3)), .milliseconds(400))
        return self.pause(pause, for: .commit(success), now: now)
    }

    private mutating func stands(_ success: Success, _ version: Version, now: Moment) -> FlightAction {
        self.see(
            AccountVault.Entry(record: success.record, version: version),
            receipt: .here(at: success.receivedAt),
            now: now
        )
        switch success.issued {
        case .tokens:
            return self.end(.committed)
        case .refreshTokenAlone(_, let kept, let error):
            self.snapshot?.freshness = kept
            return self.end(.failed(error))
        }
    }

    /// A refresh token that is there from before, by another configuration, stays. One that comes along is of use only to
    /// an account that signs in (RFC 6749 §4.4.3).
    private static func minted(
        _ grant: TokenGrant,
        after old: TokenSet?,
        signsIn: Bool,
        now: Moment
    ) -> TokenSet {
        TokenSet(
            accessToken: grant.accessToken,
            refreshToken: signsIn ? grant.refreshToken : old?.refreshToken,
            receivedAt: now.wall,
            lifetime: grant.lifetime,
            refreshLifetime: signsIn ? grant.refreshLifetime : nil,
            scopes: grant.scopes
        )
    }

    /// - Parameter age: of the old access token where it stays.
    private static func tokens(
        of token: RotatedToken,
        after old: TokenSet,
        keptFor age: Duration?,
        now: Moment
    ) -> TokenSet {
        var tokens = old
        tokens.refreshToken = token.refreshToken
        tokens.refreshLifetime = token.refreshLifetime
        if let age {
            tokens.refreshLifetime = token.refreshLifetime.map { $0 + age }
        } else {
            tokens.accessToken = nil
            tokens.receivedAt = now.wall
            tokens.lifetime = .zero
        }
        return tokens
    }

    private static func tokens(of grant: TokenGrant, after old: TokenSet, now: Moment) -> TokenSet {
        let keepsRefreshToken = grant.refreshToken == nil
        let age = max(old.receivedAt.duration(to: now.wall), .zero)
        let leftOfOld = old.refreshLifetime.map { max($0 - age, .zero) }
        return TokenSet(
            accessToken: grant.accessToken,
            refreshToken: grant.refreshToken ?? old.refreshToken,
            receivedAt: now.wall,
            lifetime: grant.lifetime,
            refreshLifetime: grant.refreshLifetime ?? (keepsRefreshToken ? leftOfOld : nil),
            scopes: grant.scopes.isEmpty ? old.scopes : grant.scopes
        )
    }
}
