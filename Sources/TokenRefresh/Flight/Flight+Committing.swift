internal import OAuth
package import TokenModel
internal import TokenStorage

/// The steps from received tokens to durable ones.
extension Flight {
    mutating func commit(_ grant: TokenGrant, basis: Basis, now: Moment) -> FlightAction {
        var record = basis.record
        record.generation = record.generation.next
        record.observedEpoch(by: self.epochs)
        record.tokens =
            basis.refreshToken != nil
            ? basis.record.tokens.map { Self.tokens(of: grant, after: $0, now: now) }
            : Self.minted(grant, after: basis.record.tokens, signsIn: self.plan.signsIn, now: now)
        // A minted set contains no token from another provider.
        if record.tokens?.refreshToken == nil { record.formerProviders = [] }
        record.claim = nil
        record.failureRecord = nil
        record.acceptedProof = self.proofs.digest
        record.refreshedAt = now.wall
        return self.commit(Success(issued: .tokens(grant), record: record, receivedAt: now.boot))
    }

    /// Commits a refresh token that came without an access token. The old refresh token may be dead by now. An access
    /// token that is still valid stays beside the new refresh token.
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
        // Both lifetimes count from one receipt. If the old access token stays, that is its receipt.
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
            // No store will ever accept these tokens, and tokens that aren't durable are not used.
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
            // Records are never removed, so the store has lost this one.
            self.version = nil
            return self.commit(success)
        }
        if entry.record == success.record { return self.stands(success, entry.version, now: now) }
        let isSuperseded =
            entry.record.grant != success.record.grant || entry.record.generation >= success.record.generation
        guard isSuperseded else {
            // The record was sealed anew, claimed by another process or even declared dead. The new tokens outweigh all
            // of that. The record may also have been adopted for another client. Our tokens were issued under the old
            // binding, and an operator must decide anew whether they belong to the other client.
            self.version = entry.version
            var success = success
            // A kill may have removed the old tokens meanwhile, and another binding is remembered.
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

    /// Continues after the journal was written, or could not be written. In the latter case the tokens are no less safe
    /// than before.
    package mutating func didJournal(_ isKept: Bool, now: Moment) -> FlightAction {
        guard case .journalling(var success) = self.state else { return self.poison() }
        success.isJournalled = isKept
        // The store has not been asked yet in this case.
        if self.plan.journalsFirst { return self.commit(success) }
        return self.serve(success, now: now)
    }

    /// Serves the waiters from the journal, once. The store is tried again later.
    private mutating func serve(_ success: Success, now: Moment) -> FlightAction {
        guard success.isJournalled == true, !success.isPassed, case .tokens = success.issued else {
            return self.commitAfterPause(success, now: now)
        }
        self.state = .passing(success)
        // The entry as the commit will write it, unless another writer comes between. That writer's version is at least
        // as high.
        let entry = AccountVault.Entry(record: success.record, version: self.version?.next ?? .first)
        return .pass(entry, receivedAt: success.receivedAt)
    }

    /// Continues after the waiters have been served.
    package mutating func didPass(now: Moment) -> FlightAction {
        guard case .passing(var success) = self.state else { return self.poison() }
        success.isPassed = true
        return self.commitAfterPause(success, now: now)
    }

    private mutating func commitAfterPause(_ success: Success, now: Moment) -> FlightAction {
        var success = success
        success.attempts += 1
        // The commit follows within 500 ms after the store is back.
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

    /// The token set of a mint. A refresh token from an earlier configuration stays. A refresh token in the response is
    /// used only if the account signs in (RFC 6749 §4.4.3).
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

    /// - Parameter age: the age of the old access token if it stays; otherwise `nil`.
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
