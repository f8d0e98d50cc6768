package import Logging
internal import Synchronization
package import TokenModel
package import TokenStorage

/// Kills tokens reliably: once it reports a kill as complete, no replica sends a killed token any more.
///
/// ``KillMachine`` decides how a kill proceeds. This type performs it: it calls the store, fences the event loops
/// (``KillFence``), and has tokens revoked in the background (``Revoker``).
///
/// A replica puts tokens into requests only while its last good read of the log is younger than its lease, so one that
/// can't be reached stops by itself. ``start()`` joins before anything is served, and ``run()`` keeps the lease.
package final class KillSwitch: Sendable {
    struct State: ~Copyable {
        var machine: KillMachine
        /// The number up to which the log was copied.
        var copied = Epoch.start
        /// Who asked this process for kills that may have to wait, for the audit log.
        var askers: [KillID: Asker] = [:]
        /// Accounts' records that may hold killed tokens.
        var sweep = SweepDemand()
        /// The last kill since which all accounts were looked through.
        var collected = Epoch.start
        /// Kept kills that are in the store, and that were reported or are about to be.
        var told: Set<KillID> = []
        /// Those of ``told`` that are in the audit log.
        var recorded: Set<KillID> = []
        /// Imports that the next entry reports together.
        var imports = ImportBatch()
        /// This replica in the store that it has left, until its record there is removed.
        var former: ReplicaID?
        /// Expelled replicas that this process is going to remove.
        var expelled: Set<ReplicaID> = []
        /// The last lock that stood when this process started, and that it was told to override.
        var overriddenLock = Epoch.start
        /// The lapse of the lease was logged.
        var hasLoggedLapse = false
        /// Whether a failed write of the copy, and a log that has diverged, were logged.
        var hasMissedCopy = false
        var hasFoundForeignLog = false
        /// The waiters for the next poll, and whether that poll is to renew the lease.
        var asking: [PollWaiter] = []
        var isRenewalDue = false
        /// Since the log was looked through for a fold.
        var isAnotherServer = false
        var isStopped = false
        var hasLeft = false
    }

    /// The move to another store that this process takes part in.
    let move: MigratingTokenStore?
    let log: KillLog
    let replicas: ReplicaVault
    let records: SealedRecords
    package let incarnation: IncarnationID
    /// This replica's name, for display only.
    package let name: String
    let lease: Duration
    /// The fewest entries of the log that are worth a fold.
    let fewestToFold: Int
    /// Proves the end of other incarnations, and keeps a copy of the log and pending kills.
    let host: any HostState
    let timepiece: Timepiece
    let logger: Logger
    let fence: any KillFence
    let revoker: Revoker
    let state: Mutex<State>
    /// Serialize the calls of ``fence``, and the writes of entries that report imports.
    let fences = SerialQueue()
    let imports = SerialQueue()
    /// Rings when the log is to be read.
    let pollBell = Bell()
    /// Rings when the copy may lack entries.
    let copyBell = Bell()
    /// Rings when accounts' records may hold killed tokens.
    let sweepBell = Bell()
    /// Rings when there may be killed tokens to revoke.
    let revocationBell = Bell()
    /// Kills to see through, whether or not an operator waits for them.
    let begun: AsyncStream<Epoch>
    let newlyBegun: AsyncStream<Epoch>.Continuation
    /// Replicas that were expelled, to be removed when their lease has expired.
    let expelled: AsyncStream<ReplicaVault.Entry>
    let newlyExpelled: AsyncStream<ReplicaVault.Entry>.Continuation
    /// Kills that had to wait for the store, each when it is in the store. Includes those that an earlier start, or
    /// another process on this `state_dir`, has not recorded. For one reader, which confirms each by ``recorded(_:)``.
    package let keptKills: AsyncStream<KeptKill>
    let newlyStanding: AsyncStream<KeptKill>.Continuation
    /// Each lock that was ordered for all replicas since the start, by this replica or another. The reader stops this
    /// replica; until then it goes on without putting a token into a request.
    package let lockOrders: AsyncStream<KillEntry>
    let newlyLocked: AsyncStream<KillEntry>.Continuation

    /// - Parameters:
    ///   - name: for display only.
    ///   - lease: how long tokens are put into requests without a read of the log.
    ///   - fewestToFold: the fewest entries of the log that are worth a fold.
    ///   - host: the state on this host that outlives the process.
    ///   - place: the place of the store; `nil` if it never was part of a move.
    ///   - move: the move to another store; `nil`: this process stays.
    ///   - target: where tokens with a given binding are revoked; `nil` where the configuration has no such provider.
    package init(
        _ records: SealedRecords,
        incarnation: IncarnationID,
        name: String,
        lease: Duration,
        fewestToFold: Int = 1_000,
        host: any HostState = NoHostState(),
        place: StorePlace? = nil,
        move: MigratingTokenStore? = nil,
        timepiece: Timepiece = .system,
        logger: Logger,
        fence: any KillFence,
        target: @escaping Revoker.Targets
    ) {
        self.records = records
        let guarantees = records.store.guarantees
        self.move = move
        let home =
            move.map { move in
                move.phase == .after
                    ? KillMachine.Home(at: move.ends.target)
                    : KillMachine.Home(at: move.ends.source, target: move.target)
            } ?? KillMachine.Home(at: place)
        self.state = Mutex(
            State(
                machine: KillMachine(incarnation: incarnation, name: name, lease: lease, guarantees, home: home)
            )
        )
        self.log = KillLog(records)
        self.replicas = ReplicaVault(records)
        self.incarnation = incarnation
        self.name = name
        self.lease = lease
        self.fewestToFold = fewestToFold
        self.host = host
        self.timepiece = timepiece
        self.logger = logger
        self.fence = fence
        self.revoker = Revoker(
            records,
            incarnation: incarnation,
            witness: host,
            timepiece: timepiece,
            logger: logger,
            target: target
        )
        (self.begun, self.newlyBegun) = AsyncStream.makeStream()
        (self.expelled, self.newlyExpelled) = AsyncStream.makeStream()
        (self.keptKills, self.newlyStanding) = AsyncStream.makeStream()
        (self.lockOrders, self.newlyLocked) = AsyncStream.makeStream()
    }

    /// The log as this process has applied it.
    var known: FencedLog { self.state.withLock { $0.machine.log } }

    /// The kills that this process has fenced itself against.
    package var epochs: KillEpochs { self.known.epochs }

    /// Whether tokens may be put into requests now.
    package var holdsLease: Bool { self.leaseUntil > self.timepiece.now.boot }

    var leaseUntil: BootInstant { self.state.withLock { $0.machine.leaseUntil } }
}

// MARK: - Life

extension KillSwitch {
    /// Joins the replicas, reads the whole log, and takes the first lease. Call it once, before anything is served.
    ///
    /// - Parameters:
    ///   - acceptsOlderStore: entries that the store lacks and this host's copy has are written back to the store.
    ///   - overridesLock: a lock that stands does not keep this replica from starting (``orderUnlock(by:)``).
    ///   - arrival: a record that has stood for this replica until now (``announceArrival(_:_:name:lease:)``).
    /// - Throws: ``StoreError/Code/outdated`` where the store lacks entries and `acceptsOlderStore` is false;
    ///   ``StoreError/Code/locked`` where a lock stands and `overridesLock` is false, or where a lock is ordered while
    ///   this replica joins.
    package func start(
        acceptsOlderStore: Bool = false,
        overridesLock: Bool = false,
        arrival: ReplicaID? = nil
    ) async throws(StoreError) {
        try await self.takeUpPendingKills()
        let contents = try await self.readWholeLog(acceptsOlderStore: acceptsOlderStore)
        try await self.settle(contents)
        try self.honourLock(in: contents, overrides: overridesLock)
        let ended = try await self.endedKills()
        self.state.withLock { $0.machine.log.ended = ended }
        try await self.join(knowing: contents, arrival: arrival)
        if let lock = self.newLock {
            await self.leave()
            throw .locked(lock.entry)
        }
        self.logger.info(
            "the kill log was read",
            metadata: ["kill.epoch": .stringConvertible(self.epochs.last.rawValue)]
        )
        await self.copyEntries()
    }

    /// Keeps the lease, sees kills through and has tokens revoked. After ``stop()`` it removes this replica from the
    /// list and returns.
    package func run() async {
        await withTaskCancellationHandler {
            await self.work()
        } onCancel: {
            // From now on every request for a poll fails at once.
            self.stop()
        }
        await self.copyEntries()
        await self.leave()
    }

    private func work() async {
        await withDiscardingTaskGroup { tasks in
            tasks.addTask { await self.ringPeriodically() }
            // Runs beside the polls, because it syncs a disk.
            tasks.addTask { for await _ in self.copyBell.rings { await self.copyEntries() } }
            tasks.addTask { await self.followHints() }
            tasks.addTask { await self.sweepPeriodically() }
            tasks.addTask { await self.foldPeriodically() }
            tasks.addTask { await self.revokeNowAndThen() }
            tasks.addTask { await self.watchClaims() }
            tasks.addTask { await self.seeThrough() }
            tasks.addTask { await self.removeExpelled() }
            tasks.addTask { await self.seeMoveThrough() }
            for await _ in self.pollBell.rings { await self.answerPolls() }
            tasks.cancelAll()
        }
    }

    /// Ends ``run()``.
    package func stop() {
        let asking = self.state.withLock { state in
            state.isStopped = true
            defer { state.asking = [] }
            return state.asking
        }
        for one in asking { one.resume(.failure(StoreError(.unreachable, "the process stops"))) }
        for bell in [self.pollBell, self.copyBell, self.sweepBell, self.revocationBell] { bell.finish() }
        self.newlyBegun.finish()
        self.newlyExpelled.finish()
        self.newlyStanding.finish()
        self.newlyLocked.finish()
        self.revoker.claims.stop()
    }

    /// Removes this replica from the list, so that no kill waits for it.
    private func leave() async {
        let replica = self.state.withLock { $0.machine.leave() }
        self.fence.setLeaseDeadline(.distantPast)
        // The task was cancelled instead of stopped: requests with tokens may be in progress, so the record stays.
        guard !Task.isCancelled else { return }
        do throws(StoreError) {
            if let replica { try await self.replicas.remove(replica) }
            self.state.withLock { $0.hasLeft = true }
        } catch {
            self.logger.warning(
                "this replica stays listed: others find out that it has ended by its lock, or forget it",
                metadata: ["error.code": "\(error.code.rawValue)"]
            )
        }
    }

    /// This replica has ended, and is not in the list of replicas that a kill waits for.
    package var hasLeft: Bool { self.state.withLock { $0.hasLeft } }
}

// MARK: - Poll

extension KillSwitch {
    private func ringPeriodically() async {
        while !Task.isCancelled {
            await self.timepiece.rest(until: self.timepiece.now.boot.advanced(by: min(self.lease / 3, .seconds(3))))
            self.ringForRenewal()
        }
    }

    private func followHints() async {
        for await change in self.records.store.changes() {
            guard !Task.isCancelled else { return }
            if RecordKey.Prefix.kills.contains(change.key) || change.key.rawValue.isEmpty { self.ringForRenewal() }
            // The server before may have listed an earlier state of the accounts.
            if change == .anotherServer {
                self.state.withLock { $0.isAnotherServer = true }
                self.sweepAll()
                // A poll that has to read the whole log does this too.
                _ = try? await self.restoreSnapshot()
            }
        }
    }

    func ringForRenewal() {
        self.state.withLock { $0.isRenewalDue = true }
        self.pollBell.ring()
    }

    /// Performs one poll for all tasks that have asked so far.
    private func answerPolls() async {
        let (asking, renews) = self.state.withLock { state in
            defer { (state.asking, state.isRenewalDue) = ([], false) }
            return (state.asking, state.isRenewalDue)
        }
        let result: Result<Void, StoreError>
        do throws(StoreError) {
            try await self.performPoll(renews: renews)
            result = .success(())
        } catch {
            self.complain(of: error)
            result = .failure(error)
        }
        for one in asking { one.resume(result) }
        self.copyBell.ring()
    }

    /// Performs the machine's actions until one poll ends.
    ///
    /// - Parameter known: at the start, the part of the log that was read already.
    func performPoll(
        renews: Bool = true,
        startingWith known: KillLogContents? = nil
    ) async throws(StoreError) {
        try await self.goOverBetweenPolls()
        let (now, keys) = try await self.beginning(renews: renews)
        var action = self.step { renews ? $0.beginPoll(now, known: known, keys: keys) : $0.beginRead() }
        while true {
            switch action {
            case .readReplica(let id):
                let found = await self.readOwn(id)
                action = self.step { $0.didReadReplica(found.entry, sealsAnew: found.sealsAnew) }
            case .writeReplica(let record, let id, let version, let expecting):
                let result = await self.replicas.write(record, for: id, as: version, expecting: expecting)
                action = self.step { $0.didWriteReplica(result) }
            case .readLog(let last):
                let result = await Self.result { () async throws(StoreError) in try await self.readLog(behind: last) }
                action = self.step { $0.didReadLog(result) }
            case .place(let entry, let epoch):
                let result = await Self.result { () async throws(StoreError) in
                    try await self.log.place(entry, at: epoch)
                }
                action = self.step { $0.didPlace(result) }
            case .fence(let contents):
                await self.take(contents, isStart: known != nil)
                action = self.step { $0.didFence() }
            case .leave:
                let isDone = self.move?.leave() ?? true
                action = self.step { $0.didLeave(isDone) }
            case .end(let error?):
                throw error
            case .end(nil):
                let hadLapsed = self.state.withLock { state in
                    defer { if renews { state.hasLoggedLapse = false } }
                    return renews && state.hasLoggedLapse
                }
                if hadLapsed { self.logger.notice("the kill log can be read again, and tokens are used again") }
                return
            }
        }
    }

    private func readLog(behind last: Epoch) async throws(StoreError) -> KillLog.Reading {
        let reading = try await self.log.read(behind: last)
        guard reading == .incomplete, try await self.restoreSnapshot() else { return reading }
        return try await self.log.read(behind: last)
    }

    /// Hands the machine an event, and tells the event loops the lease that results.
    private func step(
        _ event: (inout KillMachine) -> KillMachine.PollAction
    ) -> KillMachine.PollAction {
        let (action, lease, notices) = self.state.withLock { state in
            let before = state.machine.leaseUntil
            let action = event(&state.machine)
            let after = state.machine.leaseUntil
            return (action, before == after ? nil : after, state.machine.takeNotices())
        }
        if let lease { self.fence.setLeaseDeadline(lease) }
        for notice in notices { self.tell(notice) }
        return action
    }

    private func readOwn(_ id: ReplicaID) async -> (entry: Result<ReplicaVault.Entry?, StoreError>, sealsAnew: Bool) {
        do throws(StoreError) {
            let own = try await self.replicas.readOwn(id)
            return (.success(own?.entry), own?.sealsAnew ?? false)
        } catch {
            return (.failure(error), false)
        }
    }

    static func result<Value: Sendable>(
        _ body: () async throws(StoreError) -> Value
    ) async -> Result<Value, StoreError> {
        do throws(StoreError) { return .success(try await body()) } catch { return .failure(error) }
    }
}
