package import TokenModel
internal import TokenStorage

/// Which replicas a kill waits for. The steps are ``WaitAction``.
extension KillMachine {
    /// Begins one look at all replicas that the kill waits for.
    package func beginWait(for epoch: Epoch) -> WaitAction {
        guard let kill = self.log.kill(epoch), !kill.isEnded else { return .nothing }
        // A listing is only as new as this process's own last write, and that write must come after the entry.
        if self.hasHeartbeat, self.replica.map({ $0.record.acknowledged < epoch }) ?? true { return .lookForEnd }
        guard let watch = kill.watch else { return .list(kill.entry.id) }
        return watch.pending.isEmpty ? self.wait(for: epoch) : .read(watch.pending)
    }

    /// The listing of the replicas, made after the entry was seen in the log.
    ///
    /// - Parameter version: the version of the entry's record.
    package mutating func didList(
        _ listing: ReplicaVault.Listing,
        behind version: Version,
        for epoch: Epoch,
        at now: BootInstant
    ) -> WaitAction {
        let taken = Set(listing.entries.filter { self.hasTaken($0.record, epoch) }.map(\.id))
        let reach = self.guarantees.reach
        let watch = KillWatch(epoch, listing, behind: version, reach: reach, now: now) { taken.contains($0.id) }
        self.log.note(kill: epoch) { $0.watch = $0.watch ?? watch }
        return self.wait(for: epoch)
    }

    /// A read of a replica's record has ended at `now`. The entry is `nil` where the record is gone.
    package mutating func saw(_ entry: ReplicaVault.Entry?, _ id: ReplicaID, for epoch: Epoch, at now: BootInstant) {
        let hasTaken = entry.map { self.hasTaken($0.record, epoch) } ?? false
        self.log.note(kill: epoch) { $0.watch?.saw(entry, of: id, hasTaken: hasTaken, at: now) }
    }

    /// Whether the replica's acknowledgement is about this log. Where entries may be lost, another entry may have had
    /// the same number.
    private func hasTaken(_ record: ReplicaRecord, _ epoch: Epoch) -> Bool {
        guard record.acknowledged >= epoch else { return false }
        guard self.hasHeartbeat else { return true }
        // In a move, replicas that are not configured for it may use the store as one of this host, which loses no entry.
        guard record.lastEntry != nil || self.home.target == nil else { return true }
        return record.lastEntry != nil && record.lastEntry == self.log.contents[record.acknowledged]?.id
    }

    /// The entry was written again after the replicas were listed. A replica may have joined in between without reading
    /// it.
    package mutating func entryWasRewritten(_ epoch: Epoch) {
        self.log.note(kill: epoch) { $0.watch = nil }
    }

    /// A replica was expelled at the version that was watched.
    package mutating func expelled(_ id: ReplicaID, for epoch: Epoch) {
        self.log.note(kill: epoch) { $0.watch?.expelled(id) }
    }

    /// The next action, from what is known now.
    package func wait(for epoch: Epoch) -> WaitAction {
        guard let kill = self.log.kill(epoch), !kill.isEnded, let watch = kill.watch else { return .nothing }
        if watch.isComplete { return .check(kill.entry.id, watch.entryVersion) }
        return watch.silent.isEmpty ? .lookForEnd : .expel(watch.silent)
    }
}
