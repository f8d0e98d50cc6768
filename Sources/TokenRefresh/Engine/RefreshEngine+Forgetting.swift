internal import Logging
internal import OAuth
internal import ProviderClient
internal import Synchronization
package import TokenModel
internal import TokenStorage

/// An account's tokens are taken away by an operator's word.
extension RefreshEngine {
    /// Has the provider revoke the account's tokens (RFC 7009), and writes an empty record in their place, whatever
    /// the provider did. Also of an account that is not in the configuration any more, of which there is a record.
    ///
    /// - Returns: what became of each token; and, where that was revoked or refused, those taken away before, such as by a
    ///   removal that broke off, that are not revoked yet.
    package func forget(_ account: AccountID) async throws(AccountChangeError) -> [ForgottenToken] {
        let read = await self.read(account)
        // Also where the account is taken out from now on: a removal that has begun goes through.
        var standIn = self.plan(of: account)
        if standIn == nil {
            switch read {
            case .success(let entry?): standIn = self.standIn(for: account, by: entry.record)
            case .success(nil): throw .notConfigured(account)
            case .failure(let error): throw AccountChangeError(account, error)
            }
        }
        // What the sweep may take away in the meantime is answered for here too.
        let before = try? read.get()?.record
        var epochs = try await self.tellOfRemoval(of: account)
        let grant = GrantID.random()
        var revoked: Set<TokenMark> = []
        var settled: [Secret] = []
        var outcomes: [ForgottenToken] = []
        // Of earlier rounds too, between which and the write a refresh's commit has come.
        var dead: AccountRecord?
        let rewrite = try await self.rewrite(account, standIn: standIn) { entry, plan throws(AccountChangeError) in
            guard let record = entry?.record else { return nil }
            let isSwept = record.tokens == nil && record.mark == before?.mark
            let tokens = isSwept ? before?.tokens : record.tokens
            guard tokens != nil || dead != nil else { return nil }
            if record.tokens != nil,
                epochs.verdict(on: record, of: account, at: record.binding.provider) == .live
            {
                // Stored since that was said, such as a mint's: it goes as the others do, at all replicas.
                epochs = try await self.tellOfRemoval(of: account)
            }
            if let tokens, revoked.insert(record.mark).inserted {
                let round = await self.revoke(tokens, of: record, plan)
                outcomes += round
                settled += [tokens.refreshToken, tokens.accessToken].compactMap { $0 }
                // They may live on: the provider is asked again for a day, also when it is back in the configuration.
                if round.contains(where: \.isUnreachable) { try await self.writeDown(record, of: account) }
            }
            // They stay dead, also where the provider can't revoke them.
            var removed = dead ?? record
            removed.tokens = record.tokens
            removed.rememberKilled(of: record)
            removed.rememberKilled()
            dead = removed
            return AccountRecord(
                grant: grant,
                generation: .none,
                tokens: nil,
                stamp: epochs.last,
                binding: plan.binding,
                killed: removed.killed
            )
        }
        self.take(rewrite.entry, of: account, receipt: .stored)
        if rewrite.hasWritten {
            self.logger.info("tokens were forgotten", metadata: [LogField.account: "\(account)"])
        }
        // What could not be revoked now is among those that wait, and is named once.
        guard !outcomes.contains(where: \.isUnreachable) else { return outcomes }
        // Of an account that nothing was ever taken from nothing waits: to look for that takes reading all that does.
        guard before.map({ !$0.killed.isEmpty }) ?? true, rewrite.entry?.record.killed.isEmpty == false else {
            return outcomes
        }
        do throws(AccountChangeError) {
            // A sweep may have written down, and be about to ask of, what was revoked here.
            return outcomes + (try await self.unrevoked(of: account, besides: settled))
        } catch {
            // What was removed just now is removed, whatever else can't be known.
            guard outcomes.isEmpty else { return outcomes }
            throw error
        }
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

    private func standIn(for account: AccountID, by record: AccountRecord) -> AccountPlan {
        AccountPlan(account: account, provider: record.binding.provider, endpoint: self.revoker(of: record.binding))
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

    private func revoke(_ tokens: TokenSet, of record: AccountRecord, _ plan: AccountPlan) async -> [ForgottenToken] {
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
