package import Logging
internal import Synchronization
package import TokenModel
package import TokenStorage

/// Holds requests for chosen accounts until an operator has said yes, for a limited time (`require_approval`).
///
/// An approval is a record in the store, so it counts at each replica that shares the store, and a kill ends it. While
/// the store is away, approvals that stand run to their end, and no new one can be given.
///
/// ``ApprovalTable`` decides. This type stores, reads, waits and tells: the event loops of each new end of an approval
/// (``CredentialEvent``), and operators of accounts that wait for one.
package final class ApprovalService: Sendable {
    /// Gets one answer: whether the account is approved.
    private typealias Waiter = AsyncStream<Bool>.Continuation

    private struct State: ~Copyable {
        var table: ApprovalTable<Waiter>
        /// When the records were last read, or tried to be.
        var readAt = BootInstant.distantPast
        /// Whether a failed read was logged, and the accounts of which it was logged that their record does not open.
        var hasLoggedFailure = false
        var unreadable: Set<AccountID> = []
    }

    private let vault: ApprovalVault
    private let kills: @Sendable () -> KillEpochs
    private let provider: @Sendable (AccountID) -> ProviderID?
    private let timepiece: Timepiece
    private let logger: Logger
    private let onChange: @Sendable (AccountID, BootInstant) -> Void
    private let onWaiting: @Sendable (AccountID) -> Void
    private let state: Mutex<State>
    /// Held while a change is decided and announced, so that changes are announced in their order.
    private let announcements = Mutex(())
    /// Rings when the records are to be read. Several rings count as one.
    private let rings: AsyncStream<Void>
    private let bell: AsyncStream<Void>.Continuation

    /// - Parameters:
    ///   - policy: `nil` if no account requires an approval.
    ///   - kills: the kill log as this process has applied it.
    ///   - provider: the provider of an account; `nil` if the account is not configured.
    ///   - timepiece: its wall clock is the one that all replicas go by.
    ///   - onChange: receives the moment until which an account is approved, in the order of the changes. It must pass
    ///     it on and return, and must not call this object.
    ///   - onWaiting: receives an account whose requests find no approval, at most once a minute.
    package init(
        _ records: SealedRecords,
        policy: ApprovalPolicy?,
        kills: @escaping @Sendable () -> KillEpochs,
        provider: @escaping @Sendable (AccountID) -> ProviderID?,
        timepiece: Timepiece = .system,
        logger: Logger,
        onChange: @escaping @Sendable (AccountID, BootInstant) -> Void,
        onWaiting: @escaping @Sendable (AccountID) -> Void
    ) {
        self.vault = ApprovalVault(records)
        self.kills = kills
        self.provider = provider
        self.timepiece = timepiece
        self.logger = logger
        self.onChange = onChange
        self.onWaiting = onWaiting
        self.state = Mutex(State(table: ApprovalTable(policy)))
        (self.rings, self.bell) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    // MARK: - Requests

    /// Returns when the account may be used: at once if it requires no approval or has one, otherwise when it gets one.
    /// The event loops have been told by then. The caller limits how many requests wait.
    ///
    /// - Throws: ``CredentialError/Code/approvalRequired`` if there was none for as long as the policy lets a request
    ///   wait, or if the task was cancelled.
    package func wait(for account: AccountID) async throws(CredentialError) {
        // No approval helps a killed account, and its callers are to hear that it is killed.
        guard !self.isKilled(account) else { return }
        let (answers, waiter) = AsyncStream.makeStream(of: Bool.self)
        let action = self.announcements.withLock { _ in
            let action = self.state.withLock { $0.table.wait(account, waiter, now: self.timepiece.now.boot) }
            if case .proceed(let until) = action { self.onChange(account, until) }
            return action
        }
        switch action {
        case .pass, .proceed: return
        case .refuse(let tells):
            if tells { self.onWaiting(account) }
            throw .approvalRequired(for: account)
        case .wait(let ticket, let until, let tells):
            if tells { self.onWaiting(account) }
            self.ringIfDue()
            let isApproved = await withDiscardingTaskGroup(returning: Bool.self) { tasks in
                // Ends early if this task is cancelled, so no waiter is left behind.
                tasks.addTask {
                    await self.timepiece.rest(until: until)
                    self.state.withLock { $0.table.giveUp(ticket, of: account) }?.answer(false)
                }
                defer { tasks.cancelAll() }
                return await answers.first { _ in true } ?? false
            }
            guard isApproved else { throw .approvalRequired(for: account) }
        }
    }

    private func isKilled(_ account: AccountID) -> Bool {
        let epochs = self.kills()
        return self.provider(account).map { epochs.verdict(on: epochs.last, of: account, at: $0) } == .killed
    }

    // MARK: - Operators

    /// Approves the use of an account from now on, for as long as the policy says. It is durable before the first request
    /// goes on. An earlier approval that ends later stays.
    ///
    /// - Parameter memo: who does it, as `AuditActor/memo` has it.
    package func approve(_ account: AccountID, by memo: String?) async throws(ApprovalError) -> Approval {
        // Read before the record is written: a kill from then on ends the approval.
        let (known, now) = (self.kills(), self.timepiece.now.wall)
        let record = try self.state.withLock { state throws(ApprovalError) in
            try state.table.approval(of: account, by: memo, at: self.provider(account), known: known, now: now)
        }
        do throws(StoreError) {
            try await self.vault.store(record, of: account)
        } catch {
            throw ApprovalError(error, of: account)
        }
        self.take([account: record])
        let approval = self.state.withLock { $0.table.approval(of: account, at: self.timepiece.now.boot) }
        guard let approval else { throw .ended(account) }
        self.logger.info(
            "an account was approved",
            metadata: [LogField.account: "\(account)", LogField.until: "\(approval.until.rfc3339)"]
        )
        return approval
    }

    /// The approvals that stand, of the accounts that require one.
    package func statuses() -> [AccountID: Approval] {
        self.state.withLock { $0.table.approvals(at: self.timepiece.now.boot) }
    }

    /// The accounts that wait for an approval: requests wait, or have asked in vain in the last minute.
    package func waiting() -> Set<AccountID> { self.state.withLock { $0.table.asked(at: self.timepiece.now.boot) } }

    /// Ends the approvals that a kill covers, without the store. Call it for each state of the kill log, before requests
    /// go on.
    package func apply(_ epochs: KillEpochs) { self.change { $0.apply(epochs, provider: self.provider) } }

    /// Goes by another policy from now on.
    package func reload(_ policy: ApprovalPolicy?) {
        self.change { $0.reload(policy) }
        self.bell.yield()
    }

    private func take(_ records: [AccountID: ApprovalRecord]) {
        let known = self.kills()
        self.change { $0.take(records, known: known, provider: self.provider, now: self.timepiece.now) }
    }

    /// Announces what an event changes. Then those who waited for it go on.
    private func change(_ event: (inout ApprovalTable<Waiter>) -> ApprovalTable<Waiter>.Changes) {
        let released = self.announcements.withLock { _ in
            let changes = self.state.withLock { event(&$0.table) }
            for (account, until) in changes.ends { self.onChange(account, until) }
            return changes.released
        }
        for waiter in released { waiter.answer(true) }
    }
}

// MARK: - Life

extension ApprovalService {
    /// Reads the approvals that stand. Call it before anything is served, so that a restart refuses no approved request.
    /// If the store is away, ``run()`` tries again.
    package func start() async { await self.read() }

    /// Follows the records, until ``stop()`` or cancellation. Call it once.
    package func run() async {
        await withTaskCancellationHandler {
            await withDiscardingTaskGroup { tasks in
                tasks.addTask { await self.ringPeriodically() }
                tasks.addTask { await self.followHints() }
                for await _ in self.rings { await self.read() }
                tasks.cancelAll()
            }
        } onCancel: {
            self.stop()
        }
    }

    /// Ends ``run()``. Requests that wait are refused, and so are later ones.
    package func stop() {
        self.bell.finish()
        for waiter in self.state.withLock({ $0.table.stop() }) { waiter.answer(false) }
    }

    /// Hints may be lost, so a yes given elsewhere is found in time without them.
    private func ringPeriodically() async {
        while !Task.isCancelled {
            self.ringIfDue()
            await self.timepiece.rest(until: self.timepiece.now.boot.advanced(by: .seconds(1)))
        }
    }

    private func ringIfDue() {
        let now = self.timepiece.now.boot
        let isDue = self.state.withLock { state in
            state.table.patience.map { state.readAt.duration(to: now) >= $0 } ?? false
        }
        if isDue { self.bell.yield() }
    }

    private func followHints() async {
        let changes = self.vault.store.changes()
        // What was written since ``start()`` has no hint.
        self.bell.yield()
        for await change in changes {
            if RecordKey.Prefix.approvals.contains(change.key) || change.key.rawValue.isEmpty { self.bell.yield() }
        }
    }

    private func read() async {
        let begin = self.timepiece.now.boot
        let isNeeded = self.state.withLock { state in
            state.readAt = begin
            return state.table.patience != nil
        }
        guard isNeeded else { return }
        do throws(StoreError) {
            let (records, unreadable) = try await self.vault.list()
            self.take(records)
            let news = self.state.withLock { state in
                defer { (state.hasLoggedFailure, state.unreadable) = (false, unreadable) }
                return unreadable.subtracting(state.unreadable)
            }
            for account in news.sorted() {
                self.logger.warning(
                    "the approval of an account does not open and counts as none",
                    metadata: [LogField.account: "\(account)"]
                )
            }
        } catch {
            let isFirst = self.state.withLock { state in
                defer { state.hasLoggedFailure = true }
                return !state.hasLoggedFailure
            }
            guard isFirst else { return }
            self.logger.warning(
                "approvals can't be read: those that stand run to their end",
                metadata: [LogField.code: "\(error.code.rawValue)", LogField.message: "\(error.message)"]
            )
        }
    }
}

extension AsyncStream<Bool>.Continuation {
    fileprivate func answer(_ isApproved: Bool) {
        self.yield(isApproved)
        self.finish()
    }
}

/// The log metadata keys of this module.
private enum LogField {
    static let account = "account.name"
    static let until = "approval.until"
    static let code = "error.code"
    static let message = "error.reason"
}
