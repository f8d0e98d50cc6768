package import KillSwitch
internal import Logging
internal import OAuth
internal import ProviderClient
internal import Synchronization
package import TokenModel
package import TokenStorage

/// How the engine applies the kill log.
extension RefreshEngine {
    /// Applies the kills. When this returns, no dead credential is handed out any more, and the waiters of killed
    /// accounts have got their errors.
    package func apply(_ epochs: KillEpochs) {
        let now = self.timepiece.now.boot
        let served = self.state.withLock { state in
            guard state.epochs.last <= epochs.last else { return [Account.Served]() }
            let changesVerdicts = !epochs.judge(like: state.epochs)
            state.epochs = epochs
            // An entry about imports must not cost a look at each account in use.
            guard changesVerdicts else { return [] }
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

    /// Whether the configuration has the account. Reads neither the store nor the provider.
    package func isConfigured(_ account: AccountID) -> Bool { self.plan(of: account) != nil }

    /// Takes note that an import has replaced the tokens of an account. Its record is read at once if the account is in use,
    /// and otherwise in the course of time: thousands may be replaced at once.
    package func reread(_ account: AccountID) async {
        guard self.isInUse(account) else { return self.noteChange(of: account, to: self.index[account]?.version) }
        await self.look(at: account)
    }

    /// The kill log's verdict on a record that is about to be used. The log is read after the record.
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

    /// Why these kills forbid the use of a record; `nil` if they do not.
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

    /// Looks for a kill or removal since a flight's claim. Tokens that the flight has stored are then dead from the
    /// start, and tokens that it could not store must not live on at the provider.
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
        self.kills.storedDead(plan.account)
    }
}

extension RefreshEngine {
    /// Has the killed tokens of a record revoked. The record gets overwritten in any case.
    func takeAwayIfPossible(_ record: AccountRecord, of account: AccountID) async {
        do throws(StoreError) {
            try await self.kills.storeForRevocation(record, of: account)
        } catch {
            self.logger.warning(
                "killed or removed tokens could not be written down to be revoked, and are written over",
                metadata: [LogField.account: "\(account)", LogField.code: "\(error.code.rawValue)"]
            )
        }
    }

    /// Revokes dropped tokens that a kill or a removal covers. Tokens that an import has replaced are dropped without
    /// being revoked.
    private func revokeIfDead(_ dropped: AccountRecord, _ outcome: FlightOutcome, _ plan: AccountConfiguration) async {
        do throws(StoreError) {
            _ = try await self.kills.read()
            return await self.takeAwayIfPossible(dropped, of: plan.account)
        } catch {
            // At the end of the process the log is not read any more. Tokens that the known kills cover stay dead.
            await self.takeAwayIfPossible(dropped, of: plan.account)
            // We can't tell whether the record was killed since. It was killed or removed if no other tokens took its
            // place.
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

/// The engine's view of the kill switch.
package protocol KillReader: Sendable {
    /// Whether this process holds its lease, so that it has read the log lately.
    var holdsLease: Bool { get }

    /// All kills, from a read of the log that begins after this call. This process is fenced against all of them.
    func read() async throws(StoreError) -> KillEpochs

    /// Tells all replicas that an import gave the account other tokens or, without a `grant`, that its previous tokens
    /// are dead. When this returns, the entry is durable and this process obeys it.
    func changed(_ account: AccountID, grant: GrantID?) async throws(StoreError)

    /// The last import into the account, as far as this process has read the log; `nil` if there was none. This reads
    /// nothing, so it may be called while the log is being followed.
    func lastImport(of account: AccountID) -> FencedLog.Import?

    /// Has the killed tokens of a record revoked that is about to be overwritten or that was never stored. Nobody would
    /// find these tokens afterwards. A second call does no harm.
    ///
    /// - Throws: a `StoreError` if the tokens can't be recorded for the revocation.
    func storeForRevocation(_ record: AccountRecord, of account: AccountID) async throws(StoreError)

    /// Has tokens of an account revoked that never came into its record, whether they are dead or not.
    ///
    /// - Throws: a `StoreError` if the tokens can't be recorded for the revocation.
    func storeForRevocation(dropped record: AccountRecord, of account: AccountID) async throws(StoreError)

    /// Tokens of an account that were taken away earlier for any reason and that their providers have not revoked yet.
    /// Each is reported as unreachable, and its provider is asked again automatically.
    ///
    /// - Parameter settled: tokens to leave out even if they are recorded, since their providers have just been asked.
    func unrevoked(of account: AccountID, besides settled: [Secret]) async throws(StoreError) -> [ForgottenToken]

    /// Reports that tokens of an account were stored that were already dead, so that they get revoked.
    func storedDead(_ account: AccountID)
}

extension KillSwitch: KillReader {
    package func changed(_ account: AccountID, grant: GrantID?) async throws(StoreError) {
        if let grant {
            try await self.replaced(account, by: grant)
        } else {
            try await self.removed(account)
        }
    }

    package func storeForRevocation(_ record: AccountRecord, of account: AccountID) async throws(StoreError) {
        try await self.storeForRevocation(tokensOf: record, account)
    }

    package func storeForRevocation(dropped record: AccountRecord, of account: AccountID) async throws(StoreError) {
        try await self.storeForRevocation(dropped: record, account)
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

    package func storedDead(_ account: AccountID) { self.lookForKilledTokens(of: account) }
}
