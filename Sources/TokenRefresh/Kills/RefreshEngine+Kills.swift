package import KillSwitch
internal import Logging
internal import OAuth
internal import ProviderClient
internal import Synchronization
package import TokenModel
package import TokenStorage

/// Going by the kill log.
extension RefreshEngine {
    /// From its return on no dead credential is given, and those who waited for one of a killed account have been told so.
    package func apply(_ epochs: KillEpochs) {
        let now = self.timepiece.now.boot
        let served = self.state.withLock { state in
            guard state.epochs.last <= epochs.last else { return [Account.Served]() }
            state.epochs = epochs
            var served: [Account.Served] = []
            for account in state.accountStates.keys {
                let landing = state.accountStates[account]?.apply(epochs, now: now) ?? Account.Landing()
                state.waiters -= landing.served.count
                if let event = landing.event { self.relay.post(event) }
                self.reschedule(account, &state)
                served += landing.served
            }
            return served
        }
        self.settle(served)
    }

    /// Whether the configuration has the account. Nobody is asked.
    package func isConfigured(_ account: AccountID) -> Bool { self.plan(of: account) != nil }

    /// Reads an account's record anew: another process has put other tokens there.
    package func reread(_ account: AccountID) async {
        await self.look(at: account)
    }

    /// What the kill log says of a record that is about to be used, by a read of the log that came after the record's.
    func evaluate(_ record: AccountRecord?, of plan: AccountConfiguration) async -> (
        refusal: CredentialError?, epochs: KillEpochs
    ) {
        let epochs: KillEpochs
        do throws(StoreError) {
            epochs = try await self.kills.read()
        } catch {
            return (.storeLost(plan.account, error), KillEpochs())
        }
        return (Self.refusal(of: record, of: plan, by: epochs), epochs)
    }

    /// Why a record may not be used by these kills.
    static func refusal(of record: AccountRecord?, of plan: AccountConfiguration, by epochs: KillEpochs)
        -> CredentialError?
    {
        switch epochs.verdict(on: record, of: plan.account, at: plan.provider) {
        case .killed: .killed(plan.account)
        case .dead where !plan.grant.mints:
            .emptied(plan.account, by: epochs.invalidation(on: record, of: plan.account, at: plan.provider))
        case .live, .dead: nil
        }
    }

    /// A kill, or the account's removal, may have come since a flight's claim: then what it has stored was born dead, and
    /// what it found no place for must not live on at the provider.
    func lookForKill(after outcome: FlightOutcome, _ plan: AccountConfiguration) async {
        if let dropped = outcome.droppedRecord {
            return await self.revokeIfDead(dropped, outcome, plan)
        }
        guard case .committed = outcome.result, let record = outcome.snapshot?.entry?.record,
            let epochs = try? await self.kills.read(),
            epochs.verdict(on: record, of: plan.account, at: plan.provider) != .live
        else { return }
        self.logger.notice(
            "tokens came for an account that was killed, or whose tokens were removed, meanwhile, and are revoked",
            metadata: [LogField.account: "\(plan.account)"]
        )
        self.kills.storedDead()
    }
}

extension RefreshEngine {
    /// Has the tokens of a record revoked, if they were killed, that gives way in any case.
    func takeAwayIfPossible(_ record: AccountRecord, of account: AccountID) async {
        do throws(StoreError) {
            try await self.kills.takeAway(record, of: account)
        } catch {
            self.logger.warning(
                "killed or removed tokens could not be written down to be revoked, and are written over",
                metadata: [LogField.account: "\(account)", LogField.code: "\(error.code.rawValue)"]
            )
        }
    }

    /// What an import has replaced is dropped and not revoked; what a kill or a removal covers is.
    private func revokeIfDead(_ dropped: AccountRecord, _ outcome: FlightOutcome, _ plan: AccountConfiguration) async {
        do throws(StoreError) {
            _ = try await self.kills.read()
            return await self.takeAwayIfPossible(dropped, of: plan.account)
        } catch {
            // At the end of the process the log is read no more. What is dead by the kills that are known stays dead.
            await self.takeAwayIfPossible(dropped, of: plan.account)
            // Nobody can say whether it was killed since; it was, or was removed, where nothing took its place.
            guard outcome.snapshot?.entry?.record.tokens == nil else { return }
        }
        let endpoint = plan.endpoint.sending(onlyTo: dropped.binding.issuer)
        if let token = outcome.dropped?.refreshToken ?? outcome.droppedRefreshToken {
            _ = await endpoint.revoke(token, kind: .refreshToken)
        }
        if let token = outcome.dropped?.accessToken {
            _ = await endpoint.revoke(token, kind: .accessToken)
        }
    }
}

/// What the engine asks of the kill switch.
package protocol KillReader: Sendable {
    /// The kills there are, by a read of the log that began after this call. This process is fenced against all of them.
    func read() async throws(StoreError) -> KillEpochs

    /// Tells all replicas that an account has other tokens by an import, or, where there is no `grant`, that those it had
    /// are dead. Durable, and heeded by this process, when it returns.
    func changed(_ account: AccountID, grant: GrantID?) async throws(StoreError)

    /// The grant that the last import into the account began, as far as this process has read the log; `nil` where there was
    /// none. Nothing is read: this may be asked while the log is being followed.
    func lastImport(of account: AccountID) -> GrantID?

    /// Has the tokens of a record revoked that is about to be written over, or that never got a place, if they were
    /// killed: nobody would find them afterwards. Harmless where that was done before.
    ///
    /// - Throws: where they can't be written down for that.
    func takeAway(_ record: AccountRecord, of account: AccountID) async throws(StoreError)

    /// Tokens of an account that were taken away before, by whatever, and that their providers have not revoked yet: each
    /// is unreachable by now, and its provider is asked by itself.
    ///
    /// - Parameter settled: tokens that are not among them, whatever is written down: their providers have just been asked.
    func unrevoked(of account: AccountID, besides settled: [Secret]) async throws(StoreError) -> [ForgottenToken]

    /// Tokens were stored that were dead by then: they are to be revoked.
    func storedDead()
}

extension KillSwitch: KillReader {
    package func changed(_ account: AccountID, grant: GrantID?) async throws(StoreError) {
        if let grant {
            try await self.replaced(account, by: grant)
        } else {
            try await self.removed(account)
        }
    }

    package func lastImport(of account: AccountID) -> GrantID? { self.lastReplacement(of: account) }

    package func takeAway(_ record: AccountRecord, of account: AccountID) async throws(StoreError) {
        try await self.takeAway(tokensOf: record, account)
    }

    package func unrevoked(
        of account: AccountID,
        besides settled: [Secret]
    ) async throws(StoreError) -> [ForgottenToken] {
        try await self.tokensToRevoke(of: account, besides: settled).map { token in
            ForgottenToken(
                kind: token.kind,
                verdict: .unreachable(token.reason),
                endsAt: token.endsAt,
                nextTryAt: token.nextTryAt
            )
        }
    }

    package func storedDead() { self.lookForKilledTokens() }
}
