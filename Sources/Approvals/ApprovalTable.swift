package import TokenModel

/// Decides which accounts are approved now, and who waits for an approval. ``ApprovalService`` performs it.
///
///     record read ─▶ stands ─▶ over, by its end or by a kill
///     request ─▶ goes on │ waits ─▶ released by an approval, or by a policy that requires none
///                        │       └▶ refused when its time is over
///                        └ refused
///
/// A waiter that is told to wait comes out of one later event, once.
package struct ApprovalTable<Waiter>: ~Copyable {
    package typealias Ticket = UInt64

    private struct Account {
        /// The record that was read last. It is counted once, so later jumps of the wall clock change nothing.
        var counted: ApprovalRecord?
        /// The approval with the latest end, until a kill.
        var standing: Standing?
        var waiters: [Ticket: Waiter] = [:]
        /// When a request last found no approval, and when that was last reported.
        var askedAt = BootInstant.distantPast
        var toldAt = BootInstant.distantPast
    }

    private struct Standing {
        let record: ApprovalRecord
        let until: BootInstant
    }

    /// What a request has to do.
    package enum WaitAction: Equatable {
        /// The account is used without an approval.
        case pass
        /// An approval stands. The event loops are told once more before the request goes on: one that asks may not know
        /// of it.
        case proceed(until: BootInstant)
        /// It waits. ``giveUp(_:of:)`` ends that at `until`.
        case wait(Ticket, until: BootInstant, tells: Bool)
        /// It is refused. With `tells`, here and above, operators are told that the account waits for an approval.
        case refuse(tells: Bool)
    }

    /// What an event changed. The ends are announced first, then the waiters go on. An account that requires no
    /// approval may have an end too.
    package struct Changes {
        package var ends: [(account: AccountID, until: BootInstant)] = []
        package var released: [Waiter] = []
    }

    /// `nil`: no account requires an approval.
    private var policy: ApprovalPolicy?
    private var accounts: [AccountID: Account] = [:]
    /// The kills that ended approvals.
    private var epochs = KillEpochs()
    private var lastTicket: Ticket = 0
    private var waiting = 0
    private var isStopped = false

    package init(_ policy: ApprovalPolicy?) { self.policy = policy }

    /// Operators are told of an account at most once in that time.
    private static var reminder: Duration { .seconds(60) }
    /// More requests than the proxy lets wait at once.
    package static var mostWaiters: Int { 16_384 }

    private func requires(_ account: AccountID) -> Bool { self.policy?.applies(to: account) == true }

    // MARK: - Requests

    /// A request is about to use the account.
    package mutating func wait(_ account: AccountID, _ waiter: Waiter, now: BootInstant) -> WaitAction {
        guard let policy = self.policy, policy.applies(to: account) else { return .pass }
        var state = self.accounts[account] ?? Account()
        defer { self.accounts[account] = state }
        if let standing = state.standing, now < standing.until { return .proceed(until: standing.until) }
        let tells = state.toldAt.duration(to: now) >= Self.reminder
        state.askedAt = now
        if tells { state.toldAt = now }
        guard policy.wait > .zero, !self.isStopped, self.waiting < Self.mostWaiters else {
            return .refuse(tells: tells)
        }
        self.lastTicket += 1
        self.waiting += 1
        state.waiters[self.lastTicket] = waiter
        return .wait(self.lastTicket, until: now.advanced(by: policy.wait), tells: tells)
    }

    /// The waiter's time is over, or its request has ended.
    ///
    /// - Returns: the waiter, to be refused; `nil` if it came out already.
    package mutating func giveUp(_ ticket: Ticket, of account: AccountID) -> Waiter? {
        let waiter = self.accounts[account]?.waiters.removeValue(forKey: ticket)
        if waiter != nil { self.waiting -= 1 }
        return waiter
    }

    private mutating func release(_ account: AccountID) -> [Waiter] {
        guard let waiters = self.accounts[account]?.waiters, !waiters.isEmpty else { return [] }
        self.accounts[account]?.waiters = [:]
        self.waiting -= waiters.count
        return waiters.sorted { $0.key < $1.key }.map(\.value)
    }

    // MARK: - Approvals

    /// The record of an operator's yes, to be stored and then taken.
    ///
    /// - Parameters:
    ///   - provider: the account's provider; `nil` if the account is not configured.
    ///   - known: the kill log as this process knows it.
    package func approval(
        of account: AccountID,
        by memo: String?,
        at provider: ProviderID?,
        known: KillEpochs,
        now: WallTime
    ) throws(ApprovalError) -> ApprovalRecord {
        guard let provider else { throw .unknown(account) }
        guard let policy = self.policy, policy.applies(to: account) else { throw .notRequired(account) }
        let epochs = self.latest(known)
        guard epochs.verdict(on: epochs.last, of: account, at: provider) == .live else { throw .killed(account) }
        return ApprovalRecord(
            until: now.advanced(by: policy.duration),
            by: memo,
            at: now,
            observedEpoch: epochs.last,
            observedEntry: epochs.lastEntry
        )
    }

    /// Counts the records that were read, or that this process has stored.
    ///
    /// The approval with the latest end counts: a stale read of an earlier one takes nothing away.
    package mutating func take(
        _ records: [AccountID: ApprovalRecord],
        known: KillEpochs,
        provider: (AccountID) -> ProviderID?,
        now: Moment
    ) -> Changes {
        let epochs = self.latest(known)
        var changes = Changes()
        for (account, record) in records where self.accounts[account]?.counted != record {
            guard let provider = provider(account) else { continue }
            self.accounts[account, default: Account()].counted = record
            guard epochs.isLive(record, of: account, at: provider), let until = record.end(at: now),
                until > self.accounts[account]?.standing?.until ?? .distantPast
            else { continue }
            self.accounts[account]?.standing = Standing(record: record, until: until)
            changes.ends.append((account, until))
            changes.released += self.release(account)
        }
        return changes
    }

    /// Ends the approvals that were given before a kill of the account, its provider or everything.
    package mutating func apply(_ epochs: KillEpochs, provider: (AccountID) -> ProviderID?) -> Changes {
        self.epochs = epochs
        var changes = Changes()
        for (account, state) in self.accounts {
            guard let record = state.standing?.record else { continue }
            if let provider = provider(account), epochs.isLive(record, of: account, at: provider) { continue }
            self.accounts[account]?.standing = nil
            changes.ends.append((account, .distantPast))
        }
        return changes
    }

    /// What this process knows of the log, and what it has applied: one of them may be ahead.
    private func latest(_ known: KillEpochs) -> KillEpochs { known.last > self.epochs.last ? known : self.epochs }

    // MARK: - Policy and end

    /// Goes by another policy. Requests for accounts that it leaves out go on.
    package mutating func reload(_ policy: ApprovalPolicy?) -> Changes {
        self.policy = policy
        var changes = Changes()
        for account in Array(self.accounts.keys) where !self.requires(account) {
            changes.released += self.release(account)
        }
        return changes
    }

    /// Lets nobody wait any more.
    ///
    /// - Returns: the waiters, to be refused.
    package mutating func stop() -> [Waiter] {
        self.isStopped = true
        return Array(self.accounts.keys).flatMap { self.release($0) }
    }

    // MARK: - What stands

    /// How old the records may get until they are read again; `nil`: nobody needs them.
    package var patience: Duration? {
        guard self.policy != nil else { return nil }
        return self.waiting > 0 ? .seconds(1) : .seconds(9)
    }

    /// The approval of an account that stands at `now`.
    package func approval(of account: AccountID, at now: BootInstant) -> Approval? {
        guard let standing = self.accounts[account]?.standing, now < standing.until else { return nil }
        let record = standing.record
        return Approval(account: account, until: record.until, by: record.by, at: record.at)
    }

    /// The approvals that stand at `now`, of the accounts that require one.
    package func approvals(at now: BootInstant) -> [AccountID: Approval] {
        var approvals: [AccountID: Approval] = [:]
        for account in self.accounts.keys where self.requires(account) {
            approvals[account] = self.approval(of: account, at: now)
        }
        return approvals
    }

    /// The accounts that requests have asked for in vain in the last minute, or wait for.
    package func asked(at now: BootInstant) -> Set<AccountID> {
        let asked = self.accounts.filter { account, state in
            let isRecent = !state.waiters.isEmpty || state.askedAt.duration(to: now) < Self.reminder
            return isRecent && self.requires(account) && self.approval(of: account, at: now) == nil
        }
        return Set(asked.keys)
    }
}

extension KillEpochs {
    /// Whether no kill has ended the approval.
    fileprivate func isLive(_ record: ApprovalRecord, of account: AccountID, at provider: ProviderID) -> Bool {
        self.verdict(on: self.counted(record.observedEpoch, by: record.observedEntry), of: account, at: provider)
            == .live
    }
}
