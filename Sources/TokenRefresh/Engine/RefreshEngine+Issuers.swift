internal import Logging
internal import ProviderClient
internal import Synchronization
internal import TokenModel
internal import TokenStorage

/// Whom refresh tokens go to, where an issuer says itself where that is, and where a record does not say it yet.
extension RefreshEngine {
    /// Finds out where a refresh token would go to, before anything is decided by it. No token is sent.
    func learnIssuer(by plan: AccountConfiguration) async -> AccountRecord.Binding {
        await plan.endpoint.locate()
        self.goByKnownIssuer(of: plan.account)
        return plan.binding
    }

    /// Has the account go by what is known by now.
    func goByKnownIssuer(of account: AccountID) {
        guard let binding = self.plan(of: account)?.binding,
            self.state.withLock({ $0.accountStates[account]?.binding != binding })
        else { return }
        let now = self.timepiece.now.boot
        self.serve(account) { $0.learn(binding, now: now) }
    }

    /// Has an issuer asked anew that is known to name another token endpoint than it did: it may be a mistake that is mended
    /// by now.
    func doubtMove(of record: AccountRecord?, by plan: AccountConfiguration) async {
        guard record?.binding.match(plan.binding) == .moved, self.state.withLock({ $0.stopping == .no }) else { return }
        plan.endpoint.doubt()
        _ = await self.learnIssuer(by: plan)
    }

    /// Writes into a record of an earlier version whose its tokens are, once that is known and if it is of the record's
    /// origin. So it happens once, and a later change of the configuration finds it said. A claimed record is left to who
    /// claims it.
    func takeOver(_ entry: AccountVault.Entry?, of account: AccountID) async {
        guard let entry, let plan = self.plan(of: account), case .origin = entry.record.binding.issuer,
            entry.record.tokens != nil, entry.record.claim == nil, entry.record.binding.match(plan.binding) == .same
        else { return }
        var record = entry.record
        record.binding.issuer = record.binding.issuer.settled(by: plan.binding.issuer)
        // Where another writes meanwhile, the next look at the account is in time.
        guard record != entry.record,
            case .success(let version) = await self.write(record, for: account, expecting: entry.version)
        else { return }
        self.logTakeover(of: account, by: record, after: entry.record)
        self.take(AccountVault.Entry(record: record, version: version), of: account, receipt: .stored)
    }

    /// Says that a record was written that says whose its tokens are, where it did not before.
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

/// What this host's disk knows: who has ended, and what they left.
extension RefreshEngine {
    /// Whether a record that was read carries the claim of another incarnation that has ended for certain.
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
