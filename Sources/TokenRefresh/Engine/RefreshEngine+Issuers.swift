internal import Logging
internal import ProviderClient
internal import Synchronization
internal import TokenModel
internal import TokenStorage

/// Finds where refresh tokens are sent if the issuer itself publishes that, or if a record does not contain it yet.
extension RefreshEngine {
    /// Finds out where a refresh token would be sent before anything depends on that. Sends no token.
    func learnIssuer(by plan: AccountConfiguration) async -> AccountRecord.Binding {
        await plan.endpoint.locate()
        self.goByKnownIssuer(of: plan.account)
        return plan.binding
    }

    /// Applies the currently known issuer to the account.
    func goByKnownIssuer(of account: AccountID) {
        guard let binding = self.plan(of: account)?.binding,
            self.state.withLock({ $0.accountStates[account]?.binding != binding })
        else { return }
        let now = self.timepiece.now.boot
        self.serve(account) { $0.learn(binding, now: now) }
    }

    /// Asks an issuer again that names another token endpoint than before. It may have been a mistake that is fixed by
    /// now.
    func doubtMove(of record: AccountRecord?, by plan: AccountConfiguration) async {
        guard record?.binding.match(plan.binding) == .moved, self.state.withLock({ $0.stopping == .no }) else { return }
        plan.endpoint.doubt()
        _ = await self.learnIssuer(by: plan)
    }

    /// Adds the issuer to a record of an earlier version, once the issuer is known and if it has the record's origin.
    /// This happens once, and a later change of the configuration finds the issuer in the record. A claimed record is
    /// left to the holder of the claim.
    func takeOver(_ entry: AccountVault.Entry?, of account: AccountID) async {
        guard let entry, let plan = self.plan(of: account), case .origin = entry.record.binding.issuer,
            entry.record.tokens != nil, entry.record.claim == nil, entry.record.binding.match(plan.binding) == .same
        else { return }
        var record = entry.record
        record.binding.issuer = record.binding.issuer.settled(by: plan.binding.issuer)
        // If another process writes meanwhile, the next read of the account repeats this.
        guard record != entry.record,
            case .success(let version) = await self.write(record, for: account, expecting: entry.version)
        else { return }
        self.logTakeover(of: account, by: record, after: entry.record)
        self.take(AccountVault.Entry(record: record, version: version), of: account, receipt: .stored)
    }

    /// Logs that a written record contains its issuer for the first time.
    func logTakeover(of account: AccountID, by record: AccountRecord, after old: AccountRecord?) {
        guard let old, case .origin = old.binding.issuer, record.binding.issuer.isSettled, record.grant == old.grant
        else { return }
        self.logger.notice(
            "an account's record of an earlier version is bound to its issuer from now on",
            metadata: [
                LogField.account: "\(account)",
                LogField.provider: "\(record.binding.provider)",
                LogField.issuer: "\(record.binding.issuer)",
            ]
        )
    }
}

/// State on this host's disk: which incarnations have ended, and what they left behind.
extension RefreshEngine {
    /// Whether the record carries the claim of another incarnation that has certainly ended.
    func isHolderDead(_ result: Result<AccountVault.Entry?, StoreError>) async -> Bool {
        guard let claim = (try? result.get())?.record.claim, claim.incarnation != self.incarnation else { return false }
        return await self.host.isDead(claim.incarnation)
    }

    func log(isJournalled: Bool, _ account: AccountID) {
        if isJournalled {
            self.logger.warning(
                "new tokens stand in the journal until the store takes them",
                metadata: [LogField.account: "\(account)"]
            )
        } else {
            self.logger.error(
                "the journal can't be written either: new tokens are in this process alone",
                metadata: [LogField.account: "\(account)"]
            )
        }
    }
}
