internal import Logging
package import OAuth
internal import ProviderClient
internal import Synchronization
package import TokenModel
package import TokenStorage

/// How an account gets the tokens of another authorization: by an operator's import, or by a sign-in.
extension RefreshEngine {
    /// Replaces the stored tokens by new ones under a new grant. The provider is not asked. If there is no access
    /// token, the first use refreshes. A flight for the previous tokens drops its result.
    ///
    /// - Parameters:
    ///   - expiresIn: the access token's lifetime; `nil` for the account's default lifetime.
    ///   - scopes: the granted scopes, if known; only for display.
    package func importTokens(
        _ refreshToken: Secret,
        accessToken: Secret? = nil,
        expiresIn: Duration? = nil,
        scopes: [String] = [],
        for account: AccountID
    ) async throws(AccountChangeError) {
        try self.checkSecret(refreshToken, of: account)
        let one = AccountImport(
            account,
            refreshToken: refreshToken,
            accessToken: accessToken,
            expiresIn: expiresIn,
            scopes: scopes
        )
        let now = self.timepiece.now
        let stored = try await self.replaceTokens(
            of: account,
            under: .random(),
            receivedAt: now.boot,
            by: self.epochs(for: account),
            // Somebody repeats an import whose response was lost, and the token may be spent by now. The records of accounts
            // that are configured by name do not tell.
            unless: { $0.hasImported(refreshToken) && $0.tokens?.refreshToken != refreshToken ? .importedBefore : nil }
        ) { one.tokens(for: $0, at: now.wall) }
        guard stored.outcome != .importedBefore else { throw .importedBefore(account) }
        if stored.mayHaveHadTokens { await self.tell(of: account, grant: stored.grant) }
        try await self.checkForKill(of: stored.entry?.record, account)
        self.logger.info("tokens were imported", metadata: [LogField.account: "\(account)"])
    }

    /// Refuses the client's secret as a refresh token.
    func checkSecret(_ refreshToken: Secret, of account: AccountID) throws(AccountChangeError) {
        guard let plan = self.plan(of: account) else { throw .notConfigured(account) }
        guard !plan.endpoint.isClientSecret(refreshToken) else {
            throw AccountChangeError(
                .invalidTokens,
                "account \(account): refresh_token is the client_secret of provider \(plan.provider), which is no account's "
                    + "token; import the refresh_token of the provider's token answer"
            )
        }
    }

    /// Stores the tokens that a sign-in brought. Beside what ``importTokens(_:accessToken:expiresIn:scopes:for:)`` checks,
    /// they must be of the provider and client that are still configured, of the same subject as before unless that may
    /// change, and not killed since the sign-in began.
    ///
    /// After ``AccountChangeError/Code/storeLost`` the same tokens may be stored by another call. They may be in the store
    /// already.
    package func importTokens(
        of signIn: SignedInTokens,
        for account: AccountID
    ) async throws(AccountChangeError) {
        let stored = try await self.replaceTokens(
            of: account,
            under: signIn.grant,
            receivedAt: signIn.receivedAt.boot,
            by: self.epochs(for: account),
            signIn
        ) { _ in
            TokenSet(
                accessToken: signIn.tokens.accessToken,
                refreshToken: signIn.tokens.refreshToken,
                receivedAt: signIn.receivedAt.wall,
                lifetime: min(signIn.tokens.lifetime, Freshness.longestLifetime),
                refreshLifetime: signIn.tokens.refreshLifetime,
                scopes: signIn.tokens.scopes
            )
        }
        if stored.mayHaveHadTokens { await self.tell(of: account, grant: stored.grant) }
        try await self.checkForKill(of: stored.entry?.record, account)
        self.logger.info("somebody signed in", metadata: [LogField.account: "\(account)"])
    }

    /// What ``replaceTokens(of:under:receivedAt:by:_:unless:_:)`` has done.
    struct StoredTokens {
        let outcome: ImportOutcome
        /// The account's record afterwards.
        let entry: AccountVault.Entry?
        /// The new grant.
        let grant: GrantID
        /// Whether a replica may have other tokens of the account, so that all must be told.
        let mayHaveHadTokens: Bool
    }

    /// - Parameters:
    ///   - grant: the id of the new authorization.
    ///   - receivedAt: when the tokens came.
    ///   - epochs: the kills, from a read of the log that began after the order.
    ///   - signIn: `nil` for an import.
    ///   - remembers: whether the record remembers the refresh token as imported, as it does for members of families.
    ///   - skip: returns what to do instead of replacing these tokens, which are live; `nil` to replace them.
    ///   - tokens: the tokens, by the account's configuration.
    func replaceTokens(
        of account: AccountID,
        under grant: GrantID,
        receivedAt: BootInstant,
        by epochs: KillEpochs,
        _ signIn: SignedInTokens? = nil,
        remembers: Bool = false,
        unless skip: (AccountRecord) -> ImportOutcome? = { _ in nil },
        _ tokens: (AccountConfiguration) -> TokenSet
    ) async throws(AccountChangeError) -> StoredTokens {
        guard let plan = self.plan(of: account) else { throw .notConfigured(account) }
        guard !plan.grant.mints else { throw .minted(account, by: plan.grant) }
        let proposed = tokens(plan)
        guard let refreshToken = proposed.refreshToken, TokenSyntax.isRefreshToken(refreshToken),
            proposed.accessToken.map(TokenSyntax.isAccessToken) != false
        else {
            throw AccountChangeError(
                .invalidTokens,
                "account \(account): an imported token is empty, or has a space or control character"
            )
        }
        let family = self.state.withLock { $0.plans.family(of: account) }
        // A member that exists may have any number of siblings already.
        let reserved = self.index.exists(account) ? nil : family
        if let reserved, !self.index.reserve(account, in: reserved) { throw .familyFull(account, reserved) }
        defer { if let reserved { self.index.giveBack(account, in: reserved) } }
        var isFirst = false
        var outcome = ImportOutcome.imported
        let isUnknown = family != nil && self.index[account] == nil
        let rewrite = try await self.rewrite(account, isMissing: isUnknown) { entry, plan throws(AccountChangeError) in
            isFirst = entry == nil
            outcome = .imported
            // An earlier call has stored them, and its response was lost.
            if let signIn, entry?.record.grant == signIn.grant { return nil }
            guard epochs.verdict(on: nil, of: account, at: plan.provider) == .live else {
                throw .killed(account, by: epochs, at: [plan.provider])
            }
            guard !plan.grant.mints else { throw .minted(account, by: plan.grant) }
            // Its writer has read more of the log than this call. A kill since then takes these tokens too, and they must not
            // replace any that came after it.
            if let entry, entry.record.observedEpoch > epochs.last {
                let observed = signIn?.observedEpoch ?? epochs.last
                let later = try await self.epochs(for: account)
                switch later.verdict(on: observed, of: account, at: plan.provider) {
                case .live: break
                case .dead: throw .killedMeanwhile(account)
                case .killed: throw .killed(account, by: later, at: [plan.provider])
                }
            }
            let isLive = epochs.verdict(on: entry?.record, of: account, at: plan.provider) == .live
            if let old = entry?.record, isLive, old.tokens != nil {
                if let other = skip(old) {
                    outcome = other
                    return nil
                }
                outcome = .replaced
            }
            var record = AccountRecord(
                grant: grant,
                generation: proposed.accessToken == nil ? .none : Generation.none.next,
                tokens: tokens(plan),
                observedEpoch: epochs.last,
                observedEntry: epochs.lastEntry,
                binding: plan.binding
            )
            if let signIn { try record.take(signIn, over: entry?.record, of: account, by: epochs, plan) }
            var old = entry?.record
            if !isLive { old?.rememberKilled() }
            if let old {
                // A kill or a removal took the successor of a token that was imported before.
                let wasTaken = outcome == .imported && old.hasImported(refreshToken)
                guard !wasTaken, !old.hasKilled(refreshToken), proposed.accessToken.map(old.hasKilled) != true else {
                    throw .takenToken(account, by: epochs.invalidation(on: old, of: account, at: plan.provider))
                }
                await self.takeAwayIfPossible(old, of: account)
                record.killed = old.killed
                record.imported = old.imported
                // The proof belongs to the client, not to the grant.
                record.acceptedProof = old.acceptedProof
            }
            if family != nil || remembers || !record.imported.isEmpty { record.rememberImport(of: refreshToken) }
            return record
        }
        let isStored = rewrite.hasWritten || rewrite.entry?.record.grant == grant
        if isStored {
            self.take(rewrite.entry, of: account, receipt: .here(at: receivedAt))
        }
        // Another process may have imported the account, and the hint was lost.
        self.note(rewrite.entry, of: account)
        return StoredTokens(
            outcome: outcome,
            entry: isStored ? rewrite.entry : nil,
            grant: grant,
            // If the account had no record and the log has no import for it, no replica has tokens of it. The record alone
            // is enough to inform them.
            mayHaveHadTokens: isStored && (!isFirst || self.kills.lastImport(of: account) != nil)
        )
    }

    /// A kill may have come between the read of the log and the write. The written tokens are dead then.
    func checkForKill(of record: AccountRecord?, _ account: AccountID) async throws(AccountChangeError) {
        guard let record, let epochs = try? await self.kills.read() else { return }
        if let refusal = self.refusal(of: record, account, by: epochs) { throw refusal }
    }

    /// Why tokens that were just stored are dead already; `nil` if they are not. They get revoked.
    func refusal(of record: AccountRecord, _ account: AccountID, by epochs: KillEpochs) -> AccountChangeError? {
        switch epochs.verdict(on: record, of: account, at: record.binding.provider) {
        case .live: return nil
        case .killed:
            self.kills.storedDead(account)
            return .killed(account, by: epochs, at: [], record)
        case .dead:
            self.kills.storedDead(account)
            return .killedMeanwhile(account)
        }
    }

    /// Tells the other replicas of an import. Without this they would find out by themselves, but later.
    func tell(of account: AccountID, grant: GrantID) async {
        do throws(StoreError) {
            try await self.kills.changed(account, grant: grant)
        } catch {
            self.logger.warning(
                "the other replicas could not be told of an import",
                metadata: [LogField.account: "\(account)", LogField.code: "\(error.code.rawValue)"]
            )
        }
    }

    /// The current configuration of an account that tokens may come for, and what the kill log says now. A sign-in starts
    /// with this.
    ///
    /// - Throws: ``AccountChangeError/Code/killed`` where no tokens may come, ``AccountChangeError/Code/familyFull`` where the
    ///   family has no room for another account.
    package func expectTokens(
        for account: AccountID
    ) async throws(AccountChangeError) -> (configuration: AccountConfiguration, epochs: KillEpochs) {
        guard let plan = self.plan(of: account) else { throw .notConfigured(account) }
        guard !plan.grant.mints else { throw .minted(account, by: plan.grant) }
        let epochs = try await self.epochs(for: account)
        guard epochs.verdict(on: nil, of: account, at: plan.provider) == .live else {
            throw .killed(account, by: epochs, at: [plan.provider])
        }
        if let family = self.state.withLock({ $0.plans.family(of: account) }), !self.index.exists(account) {
            guard self.index.reserve(account, in: family) else { throw .familyFull(account, family) }
            self.index.giveBack(account, in: family)
        }
        return (plan, epochs)
    }
}

/// The tokens of a sign-in, and what they were issued for.
package struct SignedInTokens: Sendable {
    package let tokens: TokenGrant
    package let receivedAt: Moment
    /// Drawn once for these tokens, however often they are tried to be stored.
    package let grant: GrantID
    /// The provider, issuer and client that issued them.
    package let binding: AccountRecord.Binding
    /// The end of the kill log when the sign-in began: a kill since then covers the tokens.
    package let observedEpoch: Epoch
    package let observedEntry: KillID?
    /// Who signed in; `nil` if the provider does not say.
    package let subject: TokenDigest?
    /// Whether that may be somebody else than before.
    package let replacesSubject: Bool

    package init(
        _ tokens: TokenGrant,
        receivedAt: Moment,
        grant: GrantID = .random(),
        binding: AccountRecord.Binding,
        observedEpoch: Epoch,
        observedEntry: KillID?,
        subject: TokenDigest?,
        replacesSubject: Bool
    ) {
        self.tokens = tokens
        self.receivedAt = receivedAt
        self.grant = grant
        self.binding = binding
        self.observedEpoch = observedEpoch
        self.observedEntry = observedEntry
        self.subject = subject
        self.replacesSubject = replacesSubject
    }
}

extension AccountRecord {
    /// Takes over what a sign-in knows of its tokens.
    fileprivate mutating func take(
        _ signIn: SignedInTokens,
        over old: AccountRecord?,
        of account: AccountID,
        by epochs: KillEpochs,
        _ plan: AccountConfiguration
    ) throws(AccountChangeError) {
        guard signIn.binding.match(plan.binding) == .same else {
            throw AccountChangeError(
                .notConfigured,
                "account \(account): its provider, token endpoint or client was changed since the sign-in began; sign in again"
            )
        }
        // What the issuer said at the sign-in counts if it is more than what is known now.
        self.binding.issuer = plan.binding.issuer.settled(by: signIn.binding.issuer)
        self.observedEpoch = signIn.observedEpoch
        self.observedEntry = signIn.observedEntry
        self.subject = signIn.subject
        guard epochs.verdict(on: self, of: account, at: plan.provider) == .live else {
            throw .killedMeanwhile(account)
        }
        if let before = old?.subject, before != signIn.subject, !signIn.replacesSubject {
            throw .anotherSubject(account, isKnown: signIn.subject != nil)
        }
    }
}

extension AccountChangeError {
    /// The error for an import of a killed or removed token. The record does not tell which of the two applies to this
    /// token.
    fileprivate static func takenToken(
        _ account: AccountID,
        by invalidation: KillEpochs.Invalidation
    ) -> AccountChangeError {
        let what =
            switch (invalidation.kill, invalidation.removal) {
            case (nil, .some): "was removed here: it"
            case (.some, .some): "was killed or removed here, and"
            default: "was killed, and"
            }
        return AccountChangeError(
            .killed,
            "account \(account): that token \(what) stays dead; sign in again: martlet login \(account)"
        )
    }

    fileprivate static func importedBefore(_ account: AccountID) -> AccountChangeError {
        AccountChangeError(
            .exists,
            "account \(account): that token was imported for it before, and its successor stays; to begin anew: martlet login "
                + "\(account)"
        )
    }

    fileprivate static func killedMeanwhile(_ account: AccountID) -> AccountChangeError {
        AccountChangeError(
            .killed,
            "account \(account): its tokens were killed or removed meanwhile, these with them; sign in again: martlet login "
                + "\(account)"
        )
    }

    /// - Parameter isKnown: whether the provider says who signed in now.
    fileprivate static func anotherSubject(_ account: AccountID, isKnown: Bool) -> AccountChangeError {
        AccountChangeError(
            .subjectDiffers,
            isKnown
                ? "account \(account): somebody else signed in than before, perhaps because the browser was signed in as another "
                    + "user; if that is meant: martlet login \(account) --replace-subject"
                : "account \(account): the provider no longer says who signs in, so it can't be told whether it is the same as "
                    + "before; if that is meant: martlet login \(account) --replace-subject"
        )
    }
}
