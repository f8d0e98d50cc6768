internal import Logging
internal import Synchronization
package import TokenModel
package import TokenStorage

/// Moves the replicas to another store, all at one moment.
///
///     every listed replica has the target ──▶ copy the kill log ──▶ append `moved` ──▶ each leaves and acknowledges
///       ──▶ wait as for a kill ──▶ commit (``MigratingTokenStore/commit()``) ──▶ each goes over, joins there, takes a lease
///
/// A replica without a target stops at `moved`, with `store_lost` for its callers. So the entry is only appended when no
/// such replica is listed.
extension KillSwitch {
    /// Announces a process that is about to start, so that the replicas do not go over to another store before it has
    /// joined: until then it may already write to the present one.
    ///
    /// - Returns: the record that stands for it until ``start(acceptsOlderStore:arrival:)``.
    package static func announceArrival(
        _ records: SealedRecords,
        _ incarnation: IncarnationID,
        name: String,
        lease: Duration,
        at now: WallTime
    ) async throws(StoreError) -> ReplicaID {
        let id = ReplicaID.random()
        let record = ReplicaRecord(incarnation: incarnation, name: name, lease: lease, joinedAt: now)
        _ = try await ReplicaVault(records).write(record, for: id, expecting: nil)
        return id
    }

    /// Removes the record of a process that does not start after all.
    package static func withdrawArrival(_ id: ReplicaID, _ records: SealedRecords) async {
        // A record that stays lapses.
        try? await ReplicaVault(records).remove(id)
    }

    /// Joins the replicas. If they go over to another store at this moment, goes with them.
    func join(knowing contents: KillLogContents, arrival: ReplicaID?) async throws(StoreError) {
        var known: KillLogContents? = contents
        while true {
            let result = await Self.result { () async throws(StoreError) in
                try await self.performPoll(startingWith: known)
            }
            // From now on the record of this replica stands for it.
            if known != nil, let arrival { try await self.replicas.remove(arrival) }
            known = nil
            guard case .failure(let error) = result else { return }
            guard self.isGoingOver, !Task.isCancelled else { throw error }
            try await self.goOver()
            await self.timepiece.rest(until: self.timepiece.now.boot.advanced(by: Self.pause))
        }
    }

    /// Sees the move through, if this process takes part in one. Returns when it is over, or when the task is cancelled.
    func seeMoveThrough() async {
        guard let move = self.move else { return }
        var (missing, obstacle): ([String], String?) = ([], nil)
        while !Task.isCancelled, move.phase != .after {
            do throws(StoreError) {
                if self.isGoingOver {
                    try await self.goOver()
                } else {
                    let lacking = try await self.replicasWithout(move.target)
                    if lacking.isEmpty { try await self.begin(move) }
                    if lacking != missing { self.tell(lacking) }
                    missing = lacking
                }
            } catch {
                if error.message != obstacle {
                    self.logger.notice(
                        "the move to another store waits",
                        metadata: ["error.code": "\(error.code.rawValue)", "error.reason": "\(error.message)"]
                    )
                }
                obstacle = error.message
            }
            let pause = self.isGoingOver ? Self.pause : Self.longPause
            await self.timepiece.rest(until: self.timepiece.now.boot.advanced(by: pause))
        }
        // The record there would stand for a replica that is gone.
        if let former = self.state.withLock({ $0.former.take() }) { await move.leaveBehind(.replica(former.rawValue)) }
    }

    private static let pause = Duration.milliseconds(10)
    private static let longPause = Duration.milliseconds(500)

    /// Whether the log says that the records are moved to the store that this replica goes to.
    var isGoingOver: Bool { self.state.withLock { $0.machine.isGoingOver && $0.machine.home.target != nil } }

    /// Finds out whether the moves in the log are those of this store. A copy or a mirror of a store that was moved has its
    /// log, and no place of its own.
    func settle(_ contents: KillLogContents) async throws(StoreError) {
        let home = self.home
        guard self.move == nil, home.place == nil, contents.lastMove != nil else { return }
        // A store gets its place before it is moved. So if it has none after that move was read, the move is not its own.
        guard try await StorePlace.read(self.records) == nil else { throw .movedAway }
        self.state.withLock { $0.machine.settle(contents) }
    }

    private var home: KillMachine.Home { self.state.withLock { $0.machine.home } }

    /// The names of the replicas that do not go to `target`.
    private func replicasWithout(_ target: PlaceID) async throws(StoreError) -> [String] {
        try await self.lookAfterReplicas()
        let listing = try await self.replicas.list()
        guard listing.entries.contains(where: { $0.record.incarnation == self.incarnation }) else {
            throw StoreError(.unreachable, "this replica is not listed")
        }
        let lacking = listing.entries.filter { $0.record.target != target }.map(\.record.name)
        return (lacking + listing.unreadable.map(\.unreadableName)).sorted()
    }

    private func begin(_ move: MigratingTokenStore) async throws(StoreError) {
        try await self.copyLog(to: move, until: self.epochs.last)
        try move.expectLastingPlaces()
        let entry = KillEntry(.moved, .all, destination: move.target, at: self.timepiece.now.wall)
        // If another entry has this number, the next round tries again: perhaps that one is the move.
        guard try await self.log.place(entry, at: self.epochs.last.next) == .written else { return }
        self.logger.notice("all replicas go over to the store that the records are moved to")
        self.ringForRenewal()
    }

    /// Copies the kill log to the target, and makes sure that it is whole there: a listing may have been stale.
    func copyLog(to move: MigratingTokenStore, until epoch: Epoch) async throws(StoreError) {
        try await move.copyKillLog()
        guard try await KillLog(move.targetRecords).contents().last >= epoch else {
            throw StoreError(.unreachable, "the kill log is not whole in the store that the records are moved to")
        }
    }

    private func tell(_ lacking: [String]) {
        guard !lacking.isEmpty else { return }
        self.logger.notice(
            "the move to another store begins when these replicas are configured for it, or are forgotten: martlet replicas",
            metadata: ["replicas": "\(lacking.joined(separator: ", "))"]
        )
    }

    /// Looks once whether all replicas have left. If they have, this one or another commits the move, and the next poll goes
    /// over.
    private func goOver() async throws(StoreError) {
        guard let move = self.move, let entry = self.known.contents.lastMove else { return }
        if self.state.withLock({ $0.machine.hasLeft }) { _ = try await self.look(at: entry.epoch) }
        guard move.phase != .after else { return }
        self.ringForRenewal()
    }

    /// Goes over if the move is committed. Between two polls, so that none begins in the one store and ends in the other.
    func goOverBetweenPolls() async throws(StoreError) {
        guard self.isGoingOver, let move = self.move, let entry = self.known.contents.lastMove,
            try await move.goOver()
        else { return }
        self.state.withLock { state in
            state.machine.log.note(kill: entry.epoch) { $0.isEnded = true }
            state.former = state.machine.goneOver()
        }
        self.logger.notice("this replica has gone over to the store that the records are moved to")
    }
}
