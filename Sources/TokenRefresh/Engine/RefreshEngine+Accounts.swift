internal import Logging
internal import OAuth
internal import ProviderClient
internal import Synchronization
package import TokenModel
package import TokenStorage

/// Operators' queries and commands.
extension RefreshEngine {
    /// An account's current status in the store, or its last known status if the store is unreachable; `nil` if neither
    /// the configuration nor the store knows the account.
    package func status(of account: AccountID) async -> AccountStatus? {
        if self.isInUse(account) {
            await self.look(at: account)
            // The account may have been removed from the configuration meanwhile.
            if let status = self.knownStatus(of: account) { return status }
        }
        return await self.storedStatus(of: account)
    }

    /// The statuses of these accounts, in the same order. An account that nobody knows is left out.
    func statuses(of accounts: [AccountID]) async -> [AccountStatus] {
        let statuses = await withTaskGroup(of: (Int, AccountStatus?).self) { reads in
            var rest = accounts.enumerated().makeIterator()
            for (index, account) in (0..<Self.mostReadsAtOnce).compactMap({ _ in rest.next() }) {
                reads.addTask { (index, await self.status(of: account)) }
            }
            var statuses = [AccountStatus?](repeating: nil, count: accounts.count)
            for await (place, status) in reads {
                statuses[place] = status
                if let (index, account) = rest.next() {
                    reads.addTask { (index, await self.status(of: account)) }
                }
            }
            return statuses
        }
        return statuses.compactMap { $0 }
    }

    /// Limits concurrent reads, so that many accounts need neither many threads nor much time.
    static let mostReadsAtOnce = 16

    /// The accounts that are configured by name, sorted. Reads neither the store nor a provider.
    package var configuredAccounts: [AccountID] { self.state.withLock { $0.plans }.names.sorted() }

    /// Whether the configuration or the store knows an account of that name, or the store can't tell. A name that a
    /// family has room for is not enough.
    package func mayKnow(_ account: AccountID) async -> Bool {
        if self.exists(account) { return true }
        return if case .success(nil) = await self.read(account) { false } else { true }
    }

    /// Whether the configuration or the store knows a provider of that name, or the store can't tell.
    package func mayKnow(_ provider: ProviderID) async -> Bool {
        if self.providerStatuses.contains(where: { $0.provider == provider }) { return true }
        // A kill of an adopted account's previous provider kills its tokens too.
        var isFound = false
        do throws(StoreError) {
            try await self.vault.forEach { isFound = isFound || $1.record.providers.contains(provider) }
        } catch {
            return true
        }
        return isFound
    }

    /// Refreshes now, even if the token is valid or a backoff is in force. It does not refresh a dead grant, and it
    /// respects the limit on refreshes of one account. Returns after the try, or after the longest wait.
    ///
    /// - Returns: the account's status after the refresh, with the error of the refresh; `nil` if the account is not in
    ///   the configuration.
    package func refreshNow(_ account: AccountID) async -> AccountStatus? {
        guard self.plan(of: account) != nil else { return nil }
        let result = await self.wait(for: account, .refresh)
        var status = await self.status(of: account)
        guard case .failure(let error) = result else { return status }
        status?.refreshError = error.code
        status?.isRefreshUnderWay = error.isUnderWay
        if status?.lastError == nil, status?.state == .valid || status?.state == .refreshing {
            // The refresh has failed, for example because the engine is stopping. A still valid token, or a refresh
            // that is about to end, must not look like a success.
            status?.lastError = error.word
        }
        return status
    }

    /// Binds tokens that were issued for another provider, token endpoint or client to the configured one, because an
    /// operator said that they belong to it. If they do already, nothing is written.
    ///
    /// The record keeps the knowledge that the refresh token may be spent. It drops other failures, which concerned the
    /// previous client.
    package func adopt(_ account: AccountID) async throws(AccountChangeError) {
        // Uses what the issuer says now, if it responds in time.
        if let plan = self.plan(of: account) {
            plan.endpoint.doubt()
            await plan.endpoint.locate()
        }
        let epochs = try await self.epochs(for: account)
        let rewrite = try await self.rewrite(account, isDone: { $0.binding.match($1.binding) == .same }) {
            entry,
            plan throws(AccountChangeError) in
            guard var record = entry?.record, record.tokens != nil, record.binding.match(plan.binding) != .same else {
                return nil
            }
            guard epochs.verdict(on: record, of: account, at: plan.provider) == .live else {
                throw .killed(account, by: epochs, at: [plan.provider], record)
            }
            record.adopt(plan.binding)
            return record
        }
        self.take(rewrite.entry, of: account, receipt: .stored)
        guard rewrite.hasWritten else { return }
        try await self.checkForKill(of: rewrite.entry?.record, account)
        self.logger.notice("tokens were adopted", metadata: [LogField.account: "\(account)"])
    }

    func epochs(for account: AccountID) async throws(AccountChangeError) -> KillEpochs {
        do throws(StoreError) { return try await self.kills.read() } catch { throw AccountChangeError(account, error) }
    }

    /// Writes the record that `make` derives from the stored one. It repeats this until no other writer and no reload
    /// of the configuration comes between.
    ///
    /// - Parameters:
    ///   - isMissing: whether there is probably no record, so that the first try reads none.
    ///   - isDone: whether a record is the one to write, from a write whose response was lost; without this closure the
    ///     grant decides.
    ///   - make: receives the stored entry and the current configuration; returns `nil` to write nothing.
    /// - Returns: the entry in the store afterwards, and whether it was written. If `make` returns `nil`, it is the
    ///   entry that was read.
    func rewrite(
        _ account: AccountID,
        isMissing: Bool = false,
        isDone: ((AccountRecord, AccountConfiguration) -> Bool)? = nil,
        _ make: (AccountVault.Entry?, AccountConfiguration) async throws(AccountChangeError) -> AccountRecord?
    ) async throws(AccountChangeError) -> (entry: AccountVault.Entry?, hasWritten: Bool) {
        var unanswered: AccountRecord?
        var mayBeDone = false
        var lastError = StoreError(.conflict, "other writers came between each time")
        func isFinal(_ error: StoreError) -> Bool {
            lastError = error.code == .unreachable ? error : lastError
            return error.code != .conflict && error.code != .unreachable
        }
        for number in 0..<Self.mostRewrites {
            let entry: AccountVault.Entry?
            switch isMissing && number == 0 ? .success(nil) : await self.read(account) {
            case .success(let read): entry = read
            case .failure(let error) where isFinal(error):
                throw AccountChangeError(account, error, mayBeDone: mayBeDone)
            case .failure: continue
            }
            guard let plan = self.plan(of: account) else { throw .notConfigured(account) }
            if let unanswered, let entry, isDone?(entry.record, plan) ?? (entry.record.grant == unanswered.grant) {
                return (entry, true)
            }
            guard let record = try await make(entry, plan) else { return (entry, false) }
            // The configuration was reloaded meanwhile. The new record is for another provider or client than the
            // current one.
            if let current = self.plan(of: account), !plan.asks(like: current) { continue }
            unanswered = record
            switch await self.write(record, for: account, expecting: entry?.version) {
            case .success(let version): return (AccountVault.Entry(record: record, version: version), true)
            case .failure(let error) where isFinal(error):
                throw AccountChangeError(account, error, mayBeDone: mayBeDone)
            case .failure(let error): mayBeDone = mayBeDone || error.code == .unreachable
            }
        }
        throw AccountChangeError(account, lastError, mayBeDone: mayBeDone)
    }

    private static let mostRewrites = 8

    /// - Parameter isStored: `false` if only the journal has the entry so far, and not the store.
    func take(
        _ entry: AccountVault.Entry?,
        of account: AccountID,
        receipt: Freshness.Receipt,
        isStored: Bool = true
    ) {
        guard let entry else { return }
        let now = self.timepiece.now
        self.serve(account) { $0.replace(entry, receipt: receipt, isStored: isStored, now: now) }
    }

    func knownStatus(of account: AccountID) -> AccountStatus? {
        let now = self.timepiece.now
        return self.state.withLock { state in
            guard let plan = state.plans[account] else { return nil }
            return state.accountStates[account].map { accountState in
                let gate = state.gates[accountState.binding.provider]
                return AccountStatus(
                    accountState,
                    incarnation: self.incarnation,
                    isConfigured: true,
                    gate: gate,
                    timing: plan.timing,
                    now: now
                )
            }
        }
    }

    /// The status of an account that has no state here: a member of a family that nobody uses, or an account that the
    /// configuration does not have.
    private func storedStatus(of account: AccountID) async -> AccountStatus? {
        let (plan, epochs, gate) = self.state.withLock { state in
            let plan = state.plans[account]
            return (plan, state.epochs, plan.flatMap { state.gates[$0.provider] })
        }
        let nobody = AccountRecord.Binding(provider: ProviderID(""), issuer: .origin(""), clientID: "")
        func status(_ apply: (inout Account) -> Void, binding: AccountRecord.Binding = nobody) -> AccountStatus {
            var accountState =
                plan.map { Account($0, epochs) } ?? Account(account: account, binding: binding, epochs: epochs)
            apply(&accountState)
            return AccountStatus(
                accountState,
                incarnation: self.incarnation,
                isConfigured: plan != nil,
                gate: gate,
                timing: plan?.timing,
                now: self.timepiece.now
            )
        }
        switch await self.read(account) {
        case .success(let entry?):
            self.note(entry, of: account)
            let now = self.timepiece.now
            return status({ _ = $0.observe(entry, now: now) }, binding: entry.record.binding)
        case .success(nil):
            // Whatever fits a family could be a member, and does not exist.
            return nil
        case .failure(let error) where error.code == .unreadable:
            self.state.withLock { _ = self.noteUnreadable(account, $0) }
            return status { _ = $0.observeUnreadable(.unreadable(account, error)) }
        case .failure:
            guard let plan, let known = self.index[account] else { return nil }
            let now = self.timepiece.now.boot
            let isHeld = gate?.isHeld == true
            let state = known.state(of: account, at: plan.provider, under: epochs, isHeld: isHeld, now: now)
            return AccountStatus(account, of: plan.provider, state)
        }
    }
}

extension AccountChangeError {
    static func notConfigured(_ account: AccountID) -> AccountChangeError {
        AccountChangeError(.notConfigured, "account \(account) is not in the configuration")
    }

    /// - Parameters:
    ///   - providers: the providers that the configuration names for the account.
    ///   - record: the record that the kill covers, if there is one.
    static func killed(
        _ account: AccountID,
        by epochs: KillEpochs,
        at providers: Set<ProviderID>,
        _ record: AccountRecord? = nil
    ) -> AccountChangeError {
        let providers = providers.union(record?.providers ?? [])
        let scopes = [.all] + providers.sorted().map(KillScope.provider) + [.account(account)]
        let revivals = scopes.filter(epochs.isKilled).map { "martlet revive \($0.option) --reason TEXT" }
        // Tokens that a lifted kill covers need no revival. Other tokens must be imported.
        let help = revivals.isEmpty ? "" : ": before tokens can come it takes \(revivals.joined(separator: " and "))"
        return AccountChangeError(.killed, "account \(account) is killed\(help); martlet kills shows the kill")
    }

    static func familyFull(_ account: AccountID, _ family: AccountFamily) -> AccountChangeError {
        AccountChangeError(
            .familyFull,
            "account \(account): the family \(family) has as many accounts as its max allows; raise max, or remove some"
        )
    }

    static func minted(_ account: AccountID, by grant: AccountGrant) -> AccountChangeError {
        AccountChangeError(
            .minted,
            "account \(account) has the grant \(grant.rawValue): its tokens are minted when they are needed, not imported"
        )
    }
}

extension AccountRecord {
    /// Binds the tokens to another provider, token endpoint or client, because an operator said so.
    ///
    /// The record keeps the knowledge that the refresh token may be spent. It drops other failures, which concerned the
    /// previous client.
    package mutating func adopt(_ binding: Binding) {
        self.bind(to: binding)
        if self.failureRecord?.spent == .maybe {
            self.failureRecord?.dead = false
            self.failureRecord?.retryIn = .zero
        } else {
            self.failureRecord = nil
        }
    }
}
