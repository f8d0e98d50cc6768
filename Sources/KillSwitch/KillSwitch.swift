package import Logging
internal import Synchronization
package import TokenModel
package import TokenStorage

/// Kills tokens so that it can be trusted: what it calls complete, no replica sends any more.
///
/// The way of a kill is ``KillMachine``, which decides; here it is performed: the store is asked, the event loops are
/// fenced (``KillFence``), and tokens are revoked in the background (``Revoker``).
///
/// A replica puts tokens into requests only as long as its last good read of the log is younger than its lease; whoever
/// can't be reached stops by itself. ``start()`` joins before anything is served, ``run()`` keeps the lease.
package final class KillSwitch: Sendable {
    struct State: ~Copyable {
        var machine: KillMachine
        /// Up to which number the entries stand in the copy.
        var copied = Epoch.start
        /// Who asked this process for kills that wait, or may have to: for the audit log, however they come to stand.
        var askers: [KillID: Asker] = [:]
        /// Kept kills that stand, and were told of or are about to be.
        var told: Set<KillID> = []
        /// Those of them that are in the audit log.
        var recorded: Set<KillID> = []
        /// Imports that are told of together.
        var imports = ImportBatch()
        /// Replicas whose expulsion this process sees through.
        var expelled: Set<ReplicaID> = []
        /// It was said that the lease has lapsed.
        var hasComplained = false
        /// It was said that the copy could not be written, and that the log is another.
        var hasMissedCopy = false
        var hasFoundForeignLog = false
        /// Who waits for the next poll, and whether it is to bring a lease.
        var asking: [PollWaiter] = []
        var isRenewalDue = false
        var isStopped = false
        var hasLeft = false
    }

    let log: KillLog
    let replicas: ReplicaVault
    let records: SealedRecords
    package let incarnation: IncarnationID
    /// Of this replica; only shown.
    package let name: String
    let lease: Duration
    /// Knows which other incarnations have ended for certain, and keeps a copy of the log and kills that wait for the store.
    let host: any HostState
    let timepiece: Timepiece
    let logger: Logger
    let fence: any KillFence
    let revoker: Revoker
    let state: Mutex<State>
    /// Before ``fence``.
    private let fences = SerialQueue()
    /// Before entries that tell of imports.
    let imports = SerialQueue()
    /// Rings when the log is to be read.
    let pollBell = Bell()
    /// Rings when there may be entries that the copy lacks.
    let copyBell = Bell()
    /// Rings when killed tokens may stand in accounts' records.
    let sweepBell = Bell()
    /// Rings when killed tokens may be there to be revoked.
    let revocationBell = Bell()
    /// Kills to be seen through, whoever waits for them.
    let begun: AsyncStream<Epoch>
    let newlyBegun: AsyncStream<Epoch>.Continuation
    /// Replicas that were expelled, to be removed in their time.
    let expelled: AsyncStream<ReplicaVault.Entry>
    let newlyExpelled: AsyncStream<ReplicaVault.Entry>.Continuation
    /// Kills that had to wait for the store, as they come to stand there; also those that an earlier start, or another
    /// process on this `state_dir`, has not recorded. For one reader, who says so by ``recorded(_:)``.
    package let keptKills: AsyncStream<KeptKill>
    let newlyStanding: AsyncStream<KeptKill>.Continuation

    /// - Parameters:
    ///   - name: only shown.
    ///   - lease: how long tokens are put into requests without having read the log.
    ///   - host: what outlives the process here.
    ///   - endpoint: where tokens made for somebody are revoked; `nil` where the configuration knows no such provider.
    package init(
        _ records: SealedRecords,
        incarnation: IncarnationID,
        name: String,
        lease: Duration,
        host: any HostState = NoHostState(),
        timepiece: Timepiece = .system,
        logger: Logger,
        fence: any KillFence,
        endpoint: @escaping Revoker.Endpoints
    ) {
        self.records = records
        let guarantees = records.store.guarantees
        self.state = Mutex(State(machine: KillMachine(incarnation: incarnation, name: name, lease: lease, guarantees)))
        self.log = KillLog(records)
        self.replicas = ReplicaVault(records)
        self.incarnation = incarnation
        self.name = name
        self.lease = lease
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
            endpoint: endpoint
        )
        (self.begun, self.newlyBegun) = AsyncStream.makeStream()
        (self.expelled, self.newlyExpelled) = AsyncStream.makeStream()
        (self.keptKills, self.newlyStanding) = AsyncStream.makeStream()
    }

    /// What this process goes by.
    var known: FencedLog { self.state.withLock { $0.machine.log } }

    /// The kills as this process has fenced itself against them.
    package var epochs: KillEpochs { self.known.epochs }

    /// Whether tokens may be put into requests now.
    package var holdsLease: Bool { self.leaseUntil > self.timepiece.now.boot }

    var leaseUntil: BootInstant { self.state.withLock { $0.machine.leaseUntil } }
}

// MARK: - Life

extension KillSwitch {
    /// Joins the replicas, reads the whole log, and has the first lease. Call it once, before anything is served.
    ///
    /// - Parameter acceptsOlderStore: entries that the store lacks, and this host's copy has, are written back to it.
    /// - Throws: ``StoreError/Code/outdated`` where it lacks some and that is not wanted.
    package func start(acceptsOlderStore: Bool = false) async throws(StoreError) {
        try await self.takeUpPendingKills()
        let contents = try await self.readWholeLog(acceptsOlderStore: acceptsOlderStore)
        let ended = try await self.endedKills()
        self.state.withLock { $0.machine.log.ended = ended }
        try await self.performPoll(startingWith: contents)
        self.logger.info(
            "the kill log was read",
            metadata: ["kill.epoch": .stringConvertible(self.epochs.last.rawValue)]
        )
        await self.copyEntries()
    }

    /// Keeps the lease, sees kills through and revokes; ends after ``stop()``, and takes the replica out.
    package func run() async {
        await withTaskCancellationHandler {
            await self.work()
        } onCancel: {
            // Whoever asks for a poll from then on is told so.
            self.stop()
        }
        await self.copyEntries()
        await self.leave()
    }

    private func work() async {
        await withDiscardingTaskGroup { tasks in
            tasks.addTask { await self.ringNowAndThen() }
            // Beside the polls, since it syncs a disk.
            tasks.addTask { for await _ in self.copyBell.rings { await self.copyEntries() } }
            tasks.addTask { await self.followHints() }
            tasks.addTask { await self.sweepNowAndThen() }
            tasks.addTask { await self.foldNowAndThen() }
            tasks.addTask { await self.revokeNowAndThen() }
            tasks.addTask { await self.watchClaims() }
            tasks.addTask { await self.seeThrough() }
            tasks.addTask { await self.removeExpelled() }
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
        self.revoker.claims.stop()
    }

    /// Nobody needs to wait for this replica from now on.
    private func leave() async {
        let replica = self.state.withLock { $0.machine.leave() }
        self.fence.setLeaseDeadline(.distantPast)
        // Cut off, and not ended in order: requests with tokens may be under way.
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

    /// It has ended, and is not in the list of those whom a kill waits for.
    package var hasLeft: Bool { self.state.withLock { $0.hasLeft } }
}

// MARK: - Poll

extension KillSwitch {
    /// Reads what is new in the log, and fences this process against it.
    ///
    /// - Returns: the kills there are, by a read that began after this call.
    package func read() async throws(StoreError) -> KillEpochs {
        try await self.poll(renews: false)
        return self.epochs
    }

    /// Asks for a poll that begins from now on, and waits for it.
    ///
    /// - Parameters:
    ///   - renews: it is to bring a lease; else it only tells what is new.
    ///   - deadline: until when, whatever the store is at; `nil` waits to its end.
    func poll(renews: Bool = true, until deadline: BootInstant? = nil) async throws(StoreError) {
        let waiter = PollWaiter()
        let isStopped = self.state.withLock { state in
            if !state.isStopped {
                state.asking.append(waiter)
                if renews { state.isRenewalDue = true }
            }
            return state.isStopped
        }
        guard !isStopped else { throw StoreError(.unreachable, "the process stops") }
        self.pollBell.ring()
        let timer = deadline.map { deadline in
            Task {
                await self.timepiece.rest(until: deadline)
                waiter.resume(.failure(StoreError(.unreachable, "the store has not answered in time")))
            }
        }
        defer { timer?.cancel() }
        try await waiter.wait()
    }

    private func ringNowAndThen() async {
        while !Task.isCancelled {
            await self.timepiece.rest(until: self.timepiece.now.boot.advanced(by: min(self.lease / 3, .seconds(3))))
            self.ringForRenewal()
        }
    }

    private func followHints() async {
        for await change in self.records.store.changes() {
            guard !Task.isCancelled else { return }
            if RecordKey.Prefix.kills.contains(change.key) { self.ringForRenewal() }
        }
    }

    private func ringForRenewal() {
        self.state.withLock { $0.isRenewalDue = true }
        self.pollBell.ring()
    }

    /// One poll for all who have asked so far.
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

    /// Does what the machine asks for, to the end of one poll.
    ///
    /// - Parameter known: at the start, the log as far as it was read already.
    private func performPoll(
        renews: Bool = true,
        startingWith known: KillLogContents? = nil
    ) async throws(StoreError) {
        let now = self.timepiece.now
        var action = self.step { renews ? $0.beginPoll(now, known: known) : $0.beginRead() }
        while true {
            switch action {
            case .readReplica(let id):
                let found = await self.readOwn(id)
                action = self.step { $0.didReadReplica(found.entry, sealsAnew: found.sealsAnew) }
            case .writeReplica(let record, let id, let version, let expecting):
                let result = await self.replicas.write(record, for: id, as: version, expecting: expecting)
                action = self.step { $0.didWriteReplica(result) }
            case .readLog(let last):
                let result = await Self.result { () async throws(StoreError) in try await self.log.read(behind: last) }
                action = self.step { $0.didReadLog(result) }
            case .place(let entry, let epoch):
                let result = await Self.result { () async throws(StoreError) in
                    try await self.log.place(entry, at: epoch)
                }
                action = self.step { $0.didPlace(result) }
            case .fence(let contents):
                await self.take(contents, isStart: known != nil)
                action = self.step { $0.didFence() }
            case .end(let error?):
                throw error
            case .end(nil):
                let hadLapsed = self.state.withLock { state in
                    defer { if renews { state.hasComplained = false } }
                    return renews && state.hasComplained
                }
                if hadLapsed { self.logger.notice("the kill log can be read again, and tokens are used again") }
                return
            }
        }
    }

    /// Tells the machine what has happened, and the event loops how long the lease is by that.
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

    /// Fences this process by what is new in `contents`, all at once: a long log takes no longer for that than one entry.
    private func take(_ contents: KillLogContents, isStart: Bool) async {
        let known = self.known
        let entries = contents.numbered(behind: known.epochs.last).map(\.entry)
        var replaced = Set(entries.flatMap(\.replacements).map(\.account))
        if contents.snapshot.last > known.epochs.last {
            replaced.formUnion(contents.snapshot.imports.filter { known.imports[$0.key] != $0.value }.keys)
        }
        let (_, begun, pendingKills) = await self.fenceAnew(cause: contents)
        if !isStart {
            for account in replaced { await self.fence.replaced(account) }
            for kill in begun { self.announce(kill) }
        }
        for pendingKill in pendingKills where pendingKill.cause != nil { self.tell(ofKept: pendingKill) }
        guard entries.contains(where: { !$0.killsNothing }) else { return }
        self.sweepBell.ring()
        for kill in begun where !kill.isEnded { self.newlyBegun.yield(kill.epoch) }
    }

    /// Fences this process by its orders and by the log, as it goes by that or as it was read just now.
    ///
    /// One after the other, whoever asks: no change undoes another.
    /// - Returns: how many requests were left to end, the kills that are new, and the orders that these were, as they were at
    ///   the end.
    @discardableResult
    func fenceAnew(
        cause read: KillLogContents? = nil
    ) async -> (draining: Int, kills: [FencedLog.Kill], pendingKills: [PendingKill]) {
        await self.fences.run {
            let known = self.known
            let contents = read ?? known.contents
            let epochs = known.fencing(by: contents)
            let draining = await self.fence.fence(epochs)
            let (kills, pendingKills) = self.state.withLock { state in
                state.machine.log.fenced(by: contents, epochs, draining: draining)
            }
            return (draining, kills, pendingKills)
        }
    }
}
