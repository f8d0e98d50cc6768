package import KillSwitch
internal import Logging
internal import Synchronization
package import TokenModel
package import TokenStorage

/// Repairs a store that has fallen back: it holds less than it has acknowledged, because a backup was restored under
/// the running gateway or a failover lost the last writes.
///
/// The refresh token of an older generation has been rotated away, and spending it would end the grant at the provider.
/// So a process that knows the newer record puts it back before anything uses the older one. The other processes get
/// time for that: after a fallback was noticed, and when the store's server is another one, no claim is written for 3 s.
///
/// A process that knows none of the lost records can't notice the fallback. One that has lost its lease puts nothing back
/// before it holds it again: it may have missed that the records were moved to another store.
extension RefreshEngine {
    /// How long no claim is written after a fallback. The other replicas notice it within one poll of the store.
    private static let restAfterFall = Duration.seconds(3)
    private static let pauseOfLooks = Duration.milliseconds(100)
    /// The maximum number of tries. Other replicas may repair the same record at the same time.
    private static let mostRepairs = 8

    /// An account's current record in the store. If the store has lost it, this puts it back first.
    func read(_ account: AccountID) async -> Result<AccountVault.Entry?, StoreError> {
        var lastError = StoreError(.unreachable, "the store falls back again and again")
        for _ in 0..<Self.mostRepairs {
            let revision = self.state.withLock { $0.accountStates[account]?.revision ?? 0 }
            do throws(StoreError) {
                let entry = try await self.vault.read(account)
                switch self.state.withLock({ $0.accountStates[account]?.compare(entry, readAt: revision) }) {
                case nil, .current?:
                    return .success(entry)
                case .overtaken?:
                    lastError = StoreError(.unreachable, "the store's answers overtake one another")
                case .older(let known)?:
                    self.restAfterFall()
                    guard known.isLost(in: entry, lastImport: self.kills.lastImport(of: account)) else {
                        self.yield(to: entry, after: known, account)
                        return .success(entry)
                    }
                    guard self.kills.holdsLease else {
                        return .failure(StoreError(.unreachable, "this replica has no lease, and repairs nothing"))
                    }
                    return .success(try await self.putBack(known, over: entry, of: account))
                }
            } catch {
                guard error.code == .conflict else { return .failure(error) }
                lastError = StoreError(.unreachable, error.message)
            }
        }
        return .failure(lastError)
    }

    /// Writes the known record back, with its own observed epoch and claim, under a version that no process has seen.
    /// The record that it overwrites may contain killed tokens and a binding that the known record lacks; these are
    /// kept.
    private func putBack(
        _ known: AccountVault.Entry,
        over entry: AccountVault.Entry?,
        of account: AccountID
    ) async throws(StoreError) -> AccountVault.Entry {
        let version = known.versionToPutBack(over: entry)
        var record = known.record
        if let entry { record.keepHistory(of: entry.record) }
        try await self.vault.write(record, for: account, as: version, expecting: entry?.version)
        let repaired = AccountVault.Entry(record: record, version: version)
        // If this process knows more than the store had, a flight is about to write that.
        if self.state.withLock({ $0.accountStates[account]?.snapshot?.entry }) == known {
            self.take(repaired, of: account, receipt: .stored)
        }
        self.state.withLock { $0.repairs += 1 }
        self.logger.error(
            "the store had lost an account's record, and has it again: it was put back, or loses what it acknowledges",
            metadata: [
                LogField.account: "\(account)",
                LogField.generation: .stringConvertible(known.record.generation.rawValue),
                LogField.foundGeneration: .stringConvertible(entry?.record.generation.rawValue ?? 0),
            ]
        )
        return repaired
    }

    /// Accepts the store's record although this process knows a later version.
    private func yield(to entry: AccountVault.Entry?, after known: AccountVault.Entry, _ account: AccountID) {
        let now = self.timepiece.now
        self.serve(account) { $0.fallBack(to: entry, from: known, now: now) }
        self.logger.warning(
            "the store has an older record of an account than this process, and it counts",
            metadata: [LogField.account: "\(account)"]
        )
    }

    /// Delays claims for a while, and has all known accounts read again.
    private func restAfterFall() {
        let now = self.timepiece.now.boot
        let isFirst = self.state.withLock { state in
            defer { state.claimsRestUntil = now.advanced(by: Self.restAfterFall) }
            return state.claimsRestUntil <= now
        }
        if isFirst { self.beginLook() }
    }

    /// The connection to the store was lost and is back, so hints may have been lost, and all known accounts are read
    /// again. Another server may have fallen back, so claims are delayed then.
    func storeIsBack(isAnother: Bool) {
        if isAnother { self.restAfterFall() }
        self.beginLook()
        self.logger.notice(
            "the connection to the store was lost and is back; all accounts are read again",
            metadata: ["store.another_server": .stringConvertible(isAnother)]
        )
    }

    /// Has all known accounts read again, unless that is about to begin.
    private func beginLook() {
        let begins = self.state.withLock { state in
            defer { state.isLookDue = true }
            return !state.isLookDue
        }
        if begins { self.newJobs.yield(.lookAtAll) }
    }

    /// Reads the record of each account that this process knows.
    func lookAtAll() async {
        self.state.withLock { state in
            state.isLookDue = false
            // Accounts that are not in use may have changed too.
            state.nextComparison = .distantPast
        }
        var unread = self.state.withLock { $0.accountStates.values.filter { $0.snapshot != nil }.map(\.account) }
        while true {
            unread = await self.look(at: unread)
            let now = self.timepiece.now.boot
            // The others wait for what this process puts back.
            guard !unread.isEmpty, !Task.isCancelled, now < self.state.withLock(\.claimsRestUntil) else { return }
            await self.timepiece.rest(until: now.advanced(by: Self.pauseOfLooks))
        }
    }

    /// Reads the records of accounts.
    ///
    /// - Returns: the accounts whose records could not be read.
    private func look(at accounts: [AccountID]) async -> [AccountID] {
        await withTaskGroup(of: AccountID?.self) { readers in
            var (rest, unread) = (accounts.makeIterator(), [AccountID]())
            func readNext() {
                guard let account = rest.next() else { return }
                readers.addTask { await self.look(at: account) ? nil : account }
            }
            for _ in 0..<Self.mostReadsAtOnce { readNext() }
            while let account = await readers.next(), !Task.isCancelled {
                if let account { unread.append(account) }
                readNext()
            }
            return unread
        }
    }

    /// Waits until claims may be written or the process is stopping.
    func waitOutFall() async {
        while true {
            let now = self.timepiece.now.boot
            let until = self.state.withLock { $0.stopping == .no ? $0.claimsRestUntil : .distantPast }
            guard now < until else { return }
            await self.timepiece.rest(until: until)
        }
    }
}

extension AccountState {
    /// Whether the refresh token of that token set is known to be rotated away. Since it was claimed, another replica
    /// may have put back a record that the store had lost.
    package func knowsLater(than tokenVersion: TokenVersion) -> Bool {
        guard let known = self.snapshot?.tokenVersion else { return false }
        return known.grant == tokenVersion.grant && known.generation > tokenVersion.generation
    }

    /// The relation of a record that was read to the known one.
    package enum Comparison: Equatable {
        /// The record is as new as the known one, or newer.
        case current
        /// The record is older, although the store already had the known one when it was asked.
        case older(AccountVault.Entry)
        /// The record was perhaps read before the store had the known one, or before the store fell back. It is
        /// ignored.
        case overtaken
    }

    /// Compares a read with the entry that the store is known to have had. Generations only grow within a grant, and
    /// versions always grow.
    ///
    /// - Parameter readAt: ``revision`` when the read was sent. The read must show everything that was acknowledged
    ///   before.
    package func compare(_ entry: AccountVault.Entry?, readAt: UInt64) -> Comparison {
        guard let stored, let known = stored.entry else { return readAt < self.fellAt ? .overtaken : .current }
        if let entry {
            let isOlder = entry.record.grant == known.record.grant && entry.record.generation < known.record.generation
            let isAnother = entry.version == known.version && entry.record != known.record
            guard isOlder || isAnother || entry.version < known.version else {
                // A record newer than the one that the store has fallen back to may be the one that it has lost.
                return readAt < self.fellAt ? .overtaken : .current
            }
        }
        return stored.since <= readAt ? .older(known) : .overtaken
    }
}

extension AccountVault.Entry {
    /// The distance to the new version. It exceeds the number of versions that others may have written unseen by this
    /// process. It is random, since two processes that put back different records must not use the same version.
    private static let gaps: ClosedRange<UInt64> = 1 << 28...1 << 29

    /// Whether the store has lost this record and it must be put back over `found`. If the store has another grant,
    /// that one wins, unless the kill log, as this process read it before the fallback, says that this record's grant
    /// replaced it.
    ///
    /// - Parameter lastImport: the account's last import in the kill log.
    package func isLost(in found: AccountVault.Entry?, lastImport: FencedLog.Import?) -> Bool {
        guard let found = found?.record else { return true }
        guard found.grant == self.record.grant else { return lastImport?.grant == self.record.grant }
        // Another import came after this record. A process that knows its result puts that back. (The import that began
        // this record's grant may have no entry: its process ended before.)
        if let lastImport, lastImport.grant != self.record.grant, lastImport.epoch > self.record.observedEpoch {
            return false
        }
        if found.generation < self.record.generation { return true }
        // Another process may still wait for a response under that claim.
        return found.generation == self.record.generation && found.claim == nil && self.record.claim != nil
    }

    /// A version that no process has seen.
    package func versionToPutBack(over found: AccountVault.Entry?) -> Version {
        let last = max(self.version, found?.version ?? self.version).rawValue
        let (sum, overflows) = last.addingReportingOverflow(.drawn(in: Self.gaps))
        return Version(overflows ? .max : sum)
    }
}

/// Flights that began before a reload, a kill or a stop.
extension RefreshEngine {
    /// Why nothing more may be sent for `plan`; `nil` if sending is allowed. The reasons are a changed configuration of
    /// its account, a kill, or a stop of this process, which then begins no new wait for a response.
    func obsolescence(of plan: AccountConfiguration) -> CredentialError? {
        self.state.withLock { $0.obsolescence(of: plan) }
    }

    /// The last check before a secret is sent. It never waits longer than for another short lookup.
    ///
    /// - Parameter spent: the token set whose refresh token is sent; `nil` for a mint.
    func mayStillSend(by sendBy: BootInstant, for plan: AccountConfiguration, spending spent: TokenVersion? = nil)
        -> Bool
    {
        Failpoints.sending()
        guard self.timepiece.now.boot <= sendBy, self.obsolescence(of: plan) == nil else { return false }
        guard let spent else { return true }
        return self.state.withLock { $0.accountStates[plan.account]?.knowsLater(than: spent) != true }
    }
}

extension RefreshEngine.State {
    func obsolescence(of plan: AccountConfiguration) -> CredentialError? {
        guard self.stopping == .no else { return .stopping(plan.account) }
        guard let current = self.plans[plan.account] else { return .notConfigured(plan.account) }
        let record = self.accountStates[plan.account]?.snapshot?.entry?.record
        switch self.epochs.verdict(on: record, of: plan.account, at: plan.provider) {
        case .killed: return .killed(plan.account)
        case .dead where !plan.grant.mints: return .killed(plan.account)
        case .live, .dead: break
        }
        return plan.asks(like: current) ? nil : .reconfigured(plan.account)
    }

    /// Whether the current configuration leads to the same requests as `plan`. Kills do not matter here.
    func asks(like plan: AccountConfiguration) -> Bool {
        self.plans[plan.account].map { plan.asks(like: $0) } ?? false
    }
}
