internal import Logging
internal import Synchronization
package import TokenModel
package import TokenStorage

/// A store that has fallen back: it holds less than it has acknowledged, since a backup was put back under the running
/// gateway, or a failover has lost its last writes.
///
/// The refresh token of an older generation was rotated away: spending it would end the grant at the provider. So whoever
/// knows the newer record puts it back before anything goes by the older one. The others are given time for that: after a
/// fall was noticed no claim is written for 3 s.
///
/// A process that knows nothing of what was lost can't notice.
extension RefreshEngine {
    /// How long no claim is written after a fall: the other replicas notice within one poll of the store.
    private static let restAfterFall = Duration.seconds(3)
    /// Other replicas repair the same record at the same time.
    private static let mostRepairs = 8

    /// An account's record as it stands in the store; where the store has lost it, once it was put back.
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
                    return .success(try await self.putBack(known, over: entry, of: account))
                }
            } catch {
                guard error.code == .conflict else { return .failure(error) }
                lastError = StoreError(.unreachable, error.message)
            }
        }
        return .failure(lastError)
    }

    /// Writes a record whole, with its own observed epoch and claim, as a version that no process has seen. What it is written over may
    /// know of killed tokens and of a binding that it does not.
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
        // Where the desk is ahead of the store, a flight is about to write what it knows.
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

    /// Goes by what the store has, although this process knows of a later version.
    private func yield(to entry: AccountVault.Entry?, after known: AccountVault.Entry, _ account: AccountID) {
        let now = self.timepiece.now
        self.serve(account) { $0.fallBack(to: entry, from: known, now: now) }
        self.logger.warning(
            "the store has an older record of an account than this process, and it counts",
            metadata: [LogField.account: "\(account)"]
        )
    }

    /// Holds up claims for a while, and has all accounts looked at that this process knows.
    private func restAfterFall() {
        let now = self.timepiece.now.boot
        let isFirst = self.state.withLock { state in
            defer { state.claimsRestUntil = now.advanced(by: Self.restAfterFall) }
            return state.claimsRestUntil <= now
        }
        if isFirst { self.newJobs.yield(.lookAtAll) }
    }

    /// Reads each record that this process knows.
    func lookAtAll() async {
        let known = self.state.withLock { $0.accountStates.values.filter { $0.snapshot != nil }.map(\.account) }
        await withTaskGroup { readers in
            var rest = known.makeIterator()
            for account in (0..<Self.mostReadsAtOnce).compactMap({ _ in rest.next() }) {
                readers.addTask { await self.look(at: account) }
            }
            while await readers.next() != nil, !Task.isCancelled {
                if let account = rest.next() { readers.addTask { await self.look(at: account) } }
            }
        }
    }

    /// Waits until claims may be written, or the process stops.
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
    /// Whether a refresh token of that token set is known to be rotated away: another replica may have put back, since it was
    /// claimed, what the store had lost.
    package func knowsLater(than tokenVersion: TokenVersion) -> Bool {
        guard let known = self.snapshot?.tokenVersion else { return false }
        return known.grant == tokenVersion.grant && known.generation > tokenVersion.generation
    }

    /// How a record that was read stands to the known one.
    package enum Comparison: Equatable {
        /// As new, or newer.
        case current
        /// Older, although the store had the known one when it was asked.
        case older(AccountVault.Entry)
        /// Perhaps read before the store had the known one, or before it fell back: nothing goes by it.
        case overtaken
    }

    /// Compares a read with what the store is known to have had. Within a grant generations only grow, and versions do for
    /// ever.
    ///
    /// - Parameter readAt: ``revision`` when the read was sent: what was acknowledged before that, it must show.
    package func compare(_ entry: AccountVault.Entry?, readAt: UInt64) -> Comparison {
        guard let stored, let known = stored.entry else { return readAt < self.fellAt ? .overtaken : .current }
        if let entry {
            let isOlder = entry.record.grant == known.record.grant && entry.record.generation < known.record.generation
            let isAnother = entry.version == known.version && entry.record != known.record
            guard isOlder || isAnother || entry.version < known.version else {
                // A record newer than what the store has fallen back to may be the one that it has lost.
                return readAt < self.fellAt ? .overtaken : .current
            }
        }
        return stored.since <= readAt ? .older(known) : .overtaken
    }
}

extension AccountVault.Entry {
    /// Above what others may have written meanwhile, unseen by this process; drawn, as two processes that put back different
    /// records must not do so under one version.
    private static let gaps: ClosedRange<UInt64> = 1 << 28...1 << 29

    /// Whether the store has lost this record, and it is to be put back over what is there. Where the store has another
    /// grant that one counts, unless the kill log, as this process has read it before the store fell back, says that this
    /// one has replaced it.
    ///
    /// - Parameter lastImport: the grant that the kill log knows as the account's last import.
    package func isLost(in found: AccountVault.Entry?, lastImport: GrantID?) -> Bool {
        guard let found = found?.record else { return true }
        guard found.grant == self.record.grant else { return lastImport == self.record.grant }
        // Another import came after this record: whoever knows what that has brought puts it back.
        guard lastImport == nil || lastImport == self.record.grant else { return false }
        if found.generation < self.record.generation { return true }
        // Somebody may still wait for an answer under that claim.
        return found.generation == self.record.generation && found.claim == nil && self.record.claim != nil
    }

    /// A version that no process has seen.
    package func versionToPutBack(over found: AccountVault.Entry?) -> Version {
        let last = max(self.version, found?.version ?? self.version).rawValue
        let (sum, overflows) = last.addingReportingOverflow(.random(in: Self.gaps))
        return Version(overflows ? .max : sum)
    }
}

/// Flights that began by a configuration of before, or before a kill or a stop.
extension RefreshEngine {
    /// Why nothing more may be sent by `plan`, of whose account the configuration says something else by now, or that was
    /// killed, or since this process stops and does not begin to wait for an answer any more; else `nil`.
    func obsolescence(of plan: AccountConfiguration) -> CredentialError? {
        self.state.withLock { $0.obsolescence(of: plan) }
    }

    /// The last word before a secret leaves; never waits for longer than another looks something up.
    ///
    /// - Parameter spent: the token set whose refresh token it is; `nil` for a mint.
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

    /// Whether the configuration still asks as `plan` does. A kill changes nothing in that.
    func asks(like plan: AccountConfiguration) -> Bool {
        self.plans[plan.account].map { plan.asks(like: $0) } ?? false
    }
}
