internal import Logging
package import OAuth
internal import ProviderClient
internal import Synchronization
package import TokenModel
internal import TokenStorage

/// An account's tokens are taken away by an operator's word.
extension RefreshEngine {
    /// Has the provider revoke the account's tokens (RFC 7009), and forgets them, whatever the provider did. Also of an
    /// account that is not in the configuration any more, of which there is a record.
    ///
    /// An entry of the kill log comes first: every token that was issued by then is dead for all replicas, and what is left of
    /// them, such as those of a refresh under way, is taken away and revoked like killed tokens.
    ///
    /// - Returns: what became of each token; and, where that was revoked or refused, those taken away before, such as by a
    ///   removal that broke off, that are not revoked yet.
    package func forget(_ account: AccountID) async throws(AccountChangeError) -> [ForgottenToken] {
        let configured = self.plan(of: account)
        let before = await self.read(account)
        // Also where the account is taken out of the configuration from now on: a removal that has begun goes through.
        let standIn = configured == nil ? try self.standIn(for: account, by: before) : nil
        guard let plan = configured ?? standIn else { throw .notConfigured(account) }
        let epochs = try await self.tellOfRemoval(of: account)
        defer { self.kills.storedDead() }
        // A refresh may have been committed before the entry; a sweep may have emptied the record behind it.
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
            // They may live on: the provider is asked again for a day, also when it is back in the configuration.
            if outcomes.contains(where: \.isUnreachable) { try await self.writeDown(doomed, of: account) }
            if isDead == true, let entry { await self.empty(entry, of: account, by: epochs, plan) }
            self.logger.info("tokens were forgotten", metadata: [LogField.account: "\(account)"])
            // What could not be revoked now is among those that wait, and is named once.
            guard !outcomes.contains(where: \.isUnreachable) else { return outcomes }
        }
        // Of an account that nothing was ever taken from nothing waits: to look for that takes reading all that does.
        guard entry != nil, known.map({ !$0.killed.isEmpty }) ?? true else { return outcomes }
        do throws(AccountChangeError) {
            // A sweep may have written down, and be about to ask of, what was revoked here.
            return outcomes + (try await self.unrevoked(of: account, besides: settled))
        } catch {
            // What was removed just now is removed, whatever else can't be known.
            guard outcomes.isEmpty else { return outcomes }
            throw error
        }
    }

    /// Writes an empty record in place of dead tokens that were taken to their provider. Where another writes meanwhile, or
    /// the store is away, the sweep finds them.
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
            killed: dead.killed
        )
        let written = await self.write(record, for: account, expecting: entry.version)
        guard case .success(let version) = written else { return }
        self.take(AccountVault.Entry(record: record, version: version), of: account, receipt: .stored)
    }

    /// The account's tokens that were taken away, by whatever, and are not revoked yet, as ``forget(_:)`` names them. To look
    /// for them takes reading all that wait.
    ///
    /// - Parameter settled: tokens that are left out.
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

    /// First for all replicas: each stops using the tokens that are there by now when it hears of this.
    ///
    /// - Returns: by what they are dead.
    private func tellOfRemoval(of account: AccountID) async throws(AccountChangeError) -> KillEpochs {
        do throws(StoreError) {
            try await self.kills.changed(account, grant: nil)
        } catch {
            throw AccountChangeError(account, error)
        }
        return try await self.epochs(for: account)
    }

    /// To go by where the configuration says nothing of the account; `nil` where the store does not, either.
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

    /// Goes by another account of the same client, where there is one, else by the provider without any.
    private func revoker(of binding: AccountRecord.Binding) -> any TokenEndpoint {
        let alike = self.state.withLock { $0.plans.values.first { binding.match($0.binding) == .same } }
        return alike?.endpoint.sending(onlyTo: binding.issuer) ?? self.endpoint(binding) ?? GoneTokenEndpoint(binding)
    }

    /// Where that fails the tokens stay in the account's record, and are dead there.
    private func writeDown(_ record: AccountRecord, of account: AccountID) async throws(AccountChangeError) {
        do throws(StoreError) {
            try await self.kills.takeAway(record, of: account)
        } catch {
            throw AccountChangeError(account, error)
        }
    }

    private func revoke(_ tokens: TokenSet, of record: AccountRecord, _ plan: AccountConfiguration) async
        -> [ForgottenToken]
    {
        // What was made for another than the configuration names now goes to that one, and to nobody else.
        let isPlans = record.binding.match(plan.binding) == .same
        let endpoint =
            isPlans ? plan.endpoint.sending(onlyTo: record.binding.issuer) : self.revoker(of: record.binding)
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
    fileprivate var isUnreachable: Bool {
        switch self.verdict {
        case .unreachable, .clientRefused: true
        case .revoked, .refused, .unsupported: false
        }
    }
}

/// What became of a token that is not kept any more.
package struct ForgottenToken: Equatable, Sendable {
    package let kind: RevocableToken
    package let verdict: RevocationVerdict
    /// When it ends by itself, where that is known.
    package let endsAt: WallTime?
    /// When its provider is asked again, where that is known.
    package let nextTryAt: WallTime?

    package init(kind: RevocableToken, verdict: RevocationVerdict, endsAt: WallTime?, nextTryAt: WallTime? = nil) {
        self.kind = kind
        self.verdict = verdict
        self.endsAt = endsAt
        self.nextTryAt = nextTryAt
    }
}

/// Stands for a provider, or a client, that the configuration does not have any more: nothing is sent there.
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
