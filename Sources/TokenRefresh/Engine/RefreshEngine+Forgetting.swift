internal import Logging
package import OAuth
internal import ProviderClient
internal import Synchronization
package import TokenModel
internal import TokenStorage

/// Removal of an account's tokens on an operator's request.
extension RefreshEngine {
    /// Has the provider revoke the account's tokens (RFC 7009) and forgets them, whatever the provider did. This also
    /// works for a stored account that is no longer in the configuration.
    ///
    /// First an entry is written to the kill log. It makes every token that was issued until then dead for all
    /// replicas. Remaining tokens, such as those from a refresh in progress, are taken away and revoked like killed
    /// tokens.
    ///
    /// - Returns: the result for each token. If the tokens were revoked or refused, it also contains tokens taken away
    ///   earlier (for example by an interrupted removal) that are not revoked yet.
    package func forget(_ account: AccountID) async throws(AccountChangeError) -> [ForgottenToken] {
        let configured = self.plan(of: account)
        let before = await self.read(account)
        // This also holds if the account is removed from the configuration from now on: a removal that has begun is
        // finished.
        let standIn = configured == nil ? try self.standIn(for: account, by: before) : nil
        guard let plan = configured ?? standIn else { throw .notConfigured(account) }
        // A name that only fits a family leaves no entry in the log.
        if case .success(nil) = before, !self.exists(account) { throw .notConfigured(account) }
        let epochs = try await self.tellOfRemoval(of: account)
        defer { self.kills.storedDead(account) }
        // A refresh may have been committed before the log entry, and a sweep may have emptied the record after it.
        let entry: AccountVault.Entry?
        do throws(StoreError) {
            entry = try await self.read(account).get()
        } catch {
            throw AccountChangeError(account, error)
        }
        let isDead = entry.map { entry in
            entry.record.tokens != nil
                && epochs.verdict(on: entry.record, of: account, at: entry.record.binding.provider) != .live
        }
        let known = (try? before.get())?.record
        var outcomes: [ForgottenToken] = []
        var settled: [Secret] = []
        if let doomed = isDead == true ? entry?.record : known, let tokens = doomed.tokens {
            outcomes = await self.revoke(tokens, of: doomed, plan)
            settled = [tokens.refreshToken, tokens.accessToken].compactMap { $0 }
            // The tokens may still be alive. The provider is asked again for a day, and also when it is back in the
            // configuration.
            if outcomes.contains(where: \.isUnreachable) { try await self.writeDown(doomed, of: account) }
            if isDead == true, let entry { await self.empty(entry, of: account, by: epochs, plan) }
            self.logger.info("tokens were forgotten", metadata: [LogField.account: "\(account)"])
        }
        await self.markRemoved(account, by: epochs)
        if !outcomes.isEmpty {
            // The tokens that could not be revoked now are among the waiting ones, and each is named once only.
            guard !outcomes.contains(where: \.isUnreachable) else { return outcomes }
        }
        // No revocation waits for an account that never lost tokens. Finding that out from the store means reading all
        // waiting revocations.
        guard entry != nil, known.map({ !$0.killed.isEmpty }) ?? true else { return outcomes }
        do throws(AccountChangeError) {
            // A sweep may have recorded the tokens that were revoked here, and may be about to revoke them too.
            return outcomes + (try await self.unrevoked(of: account, besides: settled))
        } catch {
            // The removal just now is done, even if the other tokens are unknown.
            guard outcomes.isEmpty else { return outcomes }
            throw error
        }
    }

    /// Replaces dead tokens, which were sent to their provider for revocation, by an empty record. If another process
    /// writes meanwhile or the store is unreachable, the sweep finds the tokens.
    private func empty(
        _ entry: AccountVault.Entry,
        of account: AccountID,
        by epochs: KillEpochs,
        _ plan: AccountConfiguration
    ) async {
        var dead = entry.record
        dead.rememberKilled()
        let record = AccountRecord(
            grant: .random(),
            generation: .none,
            tokens: nil,
            observedEpoch: epochs.last,
            observedEntry: epochs.lastEntry,
            binding: (self.plan(of: account) ?? plan).binding,
            killed: dead.killed,
            subject: dead.subject,
            imported: dead.imported,
            isRemoved: self.state.withLock { $0.plans.family(of: account) } != nil
        )
        let written = await self.write(record, for: account, expecting: entry.version)
        guard case .success(let version) = written else { return }
        let emptied = AccountVault.Entry(record: record, version: version)
        self.take(emptied, of: account, receipt: .stored)
        self.note(emptied, of: account)
    }

    /// Notes in the record of a member that it does not exist any more, whoever has taken its tokens, or is about to. Live
    /// tokens are those of a later import.
    private func markRemoved(_ account: AccountID, by epochs: KillEpochs) async {
        guard self.state.withLock({ $0.plans.family(of: account) }) != nil else { return }
        do throws(AccountChangeError) {
            let rewrite = try await self.rewrite(account, isDone: { record, _ in record.isRemoved }) {
                entry,
                plan throws(AccountChangeError) in
                guard var record = entry?.record, !record.isRemoved,
                    record.tokens == nil || epochs.verdict(on: record, of: account, at: plan.provider) != .live
                else { return nil }
                record.isRemoved = true
                return record
            }
            self.take(rewrite.entry, of: account, receipt: .stored)
            self.note(rewrite.entry, of: account)
        } catch {
            self.logger.warning(
                "a removed account could not be noted as such; it may be listed as empty after a later kill",
                metadata: [LogField.account: "\(account)", LogField.message: "\(error.message)"]
            )
        }
    }

    /// The account's tokens that were taken away for any reason and are not revoked yet, in the form of ``forget(_:)``.
    /// This reads all waiting revocations.
    ///
    /// - Parameter settled: tokens to leave out.
    package func unrevoked(
        of account: AccountID,
        besides settled: [Secret] = []
    ) async throws(AccountChangeError) -> [ForgottenToken] {
        do throws(StoreError) {
            return try await self.kills.unrevoked(of: account, besides: settled)
        } catch {
            throw AccountChangeError(account, error)
        }
    }

    /// Makes the tokens dead for all replicas. Each replica stops using them when it reads the log entry.
    ///
    /// - Returns: the kills that make the tokens dead.
    private func tellOfRemoval(of account: AccountID) async throws(AccountChangeError) -> KillEpochs {
        do throws(StoreError) {
            try await self.kills.changed(account, grant: nil)
        } catch {
            throw AccountChangeError(account, error)
        }
        return try await self.epochs(for: account)
    }

    /// A substitute for the configuration of an account that is not configured; `nil` if the store does not know the
    /// account either.
    private func standIn(
        for account: AccountID,
        by read: Result<AccountVault.Entry?, StoreError>
    ) throws(AccountChangeError) -> AccountConfiguration? {
        do throws(StoreError) {
            return try read.get().map { entry in
                AccountConfiguration(
                    account: account,
                    provider: entry.record.binding.provider,
                    endpoint: self.revoker(of: entry.record.binding)
                )
            }
        } catch {
            throw AccountChangeError(account, error)
        }
    }

    /// The endpoint that revokes tokens with this binding. It comes from another account of the same client if there is
    /// one, otherwise from a provider without accounts.
    func revoker(of binding: AccountRecord.Binding) -> any TokenEndpoint {
        let alike = self.state.withLock { $0.plans.all.first { binding.match($0.binding) == .same } }
        return alike?.endpoint.sending(onlyTo: binding.issuer) ?? self.endpoint(binding) ?? GoneTokenEndpoint(binding)
    }

    /// Records the tokens for a later revocation. If that fails, they stay in the account's record and are dead there.
    private func writeDown(_ record: AccountRecord, of account: AccountID) async throws(AccountChangeError) {
        do throws(StoreError) {
            try await self.kills.storeForRevocation(record, of: account)
        } catch {
            throw AccountChangeError(account, error)
        }
    }

    private func revoke(_ tokens: TokenSet, of record: AccountRecord, _ plan: AccountConfiguration) async
        -> [ForgottenToken]
    {
        // Tokens that were issued for another client or issuer than the configured one are sent there and nowhere else.
        let isPlans = record.binding.match(plan.binding) == .same
        return await self.revoke(
            tokens,
            at: isPlans ? plan.endpoint.sending(onlyTo: record.binding.issuer) : self.revoker(of: record.binding)
        )
    }

    func revoke(_ tokens: TokenSet, at endpoint: any TokenEndpoint) async -> [ForgottenToken] {
        var outcomes: [ForgottenToken] = []
        if let refreshToken = tokens.refreshToken {
            let endsAt = tokens.refreshLifetime.map { tokens.receivedAt.advanced(by: $0) }
            let verdict = await endpoint.revoke(refreshToken, kind: .refreshToken)
            outcomes.append(ForgottenToken(kind: .refreshToken, verdict: verdict, endsAt: endsAt))
        }
        if let accessToken = tokens.accessToken {
            let verdict = await endpoint.revoke(accessToken, kind: .accessToken)
            outcomes.append(ForgottenToken(kind: .accessToken, verdict: verdict, endsAt: tokens.expiresAt))
        }
        return outcomes
    }
}

extension ForgottenToken {
    var isUnreachable: Bool {
        switch self.verdict {
        case .unreachable, .clientRefused: true
        case .revoked, .refused, .unsupported: false
        }
    }
}

/// The result for a token that is no longer kept.
package struct ForgottenToken: Equatable, Sendable {
    package let kind: RevocableToken
    package let verdict: RevocationVerdict
    /// When the token expires by itself, if known.
    package let endsAt: WallTime?
    /// When its provider is asked again, if known.
    package let nextTryAt: WallTime?

    package init(kind: RevocableToken, verdict: RevocationVerdict, endsAt: WallTime?, nextTryAt: WallTime? = nil) {
        self.kind = kind
        self.verdict = verdict
        self.endsAt = endsAt
        self.nextTryAt = nextTryAt
    }
}

/// The endpoint of a provider or client that the configuration does not have any more. It sends nothing.
struct GoneTokenEndpoint: TokenEndpoint {
    let binding: EndpointBinding
    let timeout = Duration.zero

    init(_ binding: AccountRecord.Binding) {
        self.binding = EndpointBinding(issuer: binding.issuer, clientID: binding.clientID)
    }

    func redeem(
        _ refreshToken: Secret,
        scopes: [String],
        mayStillSend: @escaping @Sendable () -> Bool
    ) async -> TokenVerdict {
        .notSent(.notConfigured)
    }

    func mint(scopes: [String], mayStillSend: @escaping @Sendable () -> Bool) async -> TokenVerdict {
        .notSent(.notConfigured)
    }

    func revoke(_ token: Secret, kind: RevocableToken) async -> RevocationVerdict {
        .unreachable(.notConfigured)
    }
}
