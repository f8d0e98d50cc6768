package import TokenModel
package import TokenStorage

/// The way of a kill at one replica: what it fences itself against, whether it holds a lease, and whom a kill waits for.
///
///     raise     order ──▶ fence ──▶ append to the log ──▶ poll                  (``FencedLog``)
///               a store that does not take it: the order stays, and each poll tries again
///
///     poll      look at one's own record ──gone, expelled──▶ no lease ──▶ join ─┐        (on one host)
///                 │ there                                                      │
///                 ▼                                                            │
///               read the log ◀─────────────────────────────────────────────────┘
///                 │ ▲ └──lacks what is known──▶ write that back, and read all of it
///                 │ └──orders that wait are appended──┘
///                 ▼
///               fence ──▶ say so in one's own record ──▶ lease, from when the poll began
///
///     wait      see that the entry stands, then list all replicas ──▶ read who is pending … ──▶ is the entry still there?
///                 ──▶ write that it is complete
///
/// What it keeps to:
/// - A replica is listed before the read of the log that gives it its first lease: a kill that has not listed it stood
///   before that read.
/// - On a store that several hosts reach a read may be stale, so there the lease is a *heartbeat*: it exists once a write
///   of the replica's own record stands, with the epoch that it goes by. A kill that was not read leaves that epoch
///   behind, and the kill waits. Nor does silence prove anything there: a replica has lapsed only when it was expelled by
///   a compare-and-set on the very version that was watched.
/// - On one host a read is a lease, so that a full disk stops nobody.
/// - Nothing that this replica goes by falls: what the store lacks is written back, and a log that goes another way ends
///   the lease.
/// - Every poll event leads to exactly one action; every action but ``PollAction/end(_:)`` to exactly one event.
///
/// The shell (``KillSwitch``) performs; no clock, store or lock is touched here.
package struct KillMachine: ~Copyable, Sendable {
    private enum Poll {
        case idle
        case lookingAtItself
        case joining
        case reading
        case comparing
        case restoring(next: Epoch, written: Int)
        case raising(KillLogContents, PendingKill)
        case fencing
        case acknowledging
    }

    /// Which process this is, and its name for people.
    private let incarnation: IncarnationID
    private let name: String
    package let lease: Duration
    private let guarantees: StoreGuarantees
    /// Whether a lease has to be written.
    private var hasHeartbeat: Bool { self.guarantees.reach == .network }

    /// What this process goes by.
    package var log: FencedLog
    /// Tokens are put into requests until then.
    package private(set) var leaseUntil = BootInstant.distantPast
    /// As this replica is listed.
    package private(set) var replica: ReplicaVault.Entry?
    private var notices: [Notice] = []

    private var poll = Poll.idle
    /// Whether the poll is to bring a lease.
    private var isRenewal = true
    private var startedAt = BootInstant.distantPast
    private var wall = WallTime(millisecondsSince1970: 0)
    /// Under which this replica is listed, or about to be.
    private var membership: ReplicaID
    private var nextMembership: ReplicaID
    /// At the start, the log as it was read already, which this process does not go by yet.
    private var ahead: KillLogContents?
    private var rereads = 0
    private var raised: Set<KillID> = []
    private var sealsAnew = false
    private var rewrites = 0
    private static let mostRewrites = 4

    package init(incarnation: IncarnationID, name: String, lease: Duration, _ guarantees: StoreGuarantees) {
        self.incarnation = incarnation
        self.name = name
        self.lease = lease
        self.guarantees = guarantees
        self.log = FencedLog(notesEntries: guarantees.failover == .losesSuffix)
        self.membership = .random()
        self.nextMembership = .random()
    }

    /// What happened since this was asked last.
    package mutating func takeNotices() -> [Notice] {
        defer { self.notices = [] }
        return self.notices
    }

    // MARK: - Poll

    /// Begins a poll. There is one at a time. At the start `known` is the log as far as it was read already.
    package mutating func beginPoll(_ now: Moment, known: KillLogContents? = nil) -> PollAction {
        (self.isRenewal, self.startedAt, self.wall) = (true, now.boot, now.wall)
        self.nextMembership = .random()
        self.ahead = known
        (self.rereads, self.sealsAnew, self.rewrites, self.raised) = (0, false, 0, [])
        guard let replica = self.replica else { return self.join() }
        guard !self.hasHeartbeat else { return self.readLog() }
        self.poll = .lookingAtItself
        return .readReplica(replica.id)
    }

    /// Begins a poll that is to find out what is new in the log and no more: it brings no lease. What is known is looked for
    /// all the same: by a log that goes another way nothing may be stamped.
    package mutating func beginRead() -> PollAction {
        self.isRenewal = false
        (self.ahead, self.rereads, self.sealsAnew, self.rewrites, self.raised) = (nil, 0, false, 0, [])
        return self.readLog()
    }

    /// This replica's own record was read.
    ///
    /// - Parameters:
    ///   - found: `nil` where it has gone.
    ///   - sealsAnew: it is sealed under another key than this process writes under.
    package mutating func didReadReplica(
        _ found: Result<ReplicaVault.Entry?, StoreError>,
        sealsAnew: Bool = false
    ) -> PollAction {
        guard case .lookingAtItself = self.poll else { return self.poison() }
        switch found {
        case .failure(let error): return self.end(error)
        case .success(let entry?) where !entry.record.isExpelled:
            self.replica = entry
            self.sealsAnew = sealsAnew
            return self.readLog()
        case .success: return self.joinAnew()
        }
    }

    /// This replica's own record was written, or not.
    package mutating func didWriteReplica(_ result: ReplicaWrite) -> PollAction {
        switch (self.poll, result) {
        case (.joining, .stands(let version)), (.acknowledging, .stands(let version)):
            self.replica = ReplicaVault.Entry(id: self.membership, record: self.record, version: version)
            if case .joining = self.poll { return self.readLog() }
            return self.end(nil)
        case (.joining, .conflict(let entry)), (.acknowledging, .conflict(let entry)):
            let isOwn = entry?.record.incarnation == self.incarnation
            guard let entry, isOwn, !entry.record.isExpelled else { return self.joinAnew() }
            // By a write whose answer was lost, or the store has lost one.
            return self.joinAgain(over: entry)
        case (.acknowledging, .failed(let error)) where !self.hasHeartbeat:
            let isBehind = self.replica.map { $0.record.acknowledged < self.log.epochs.last } ?? true
            if isBehind { self.notices.append(.unacknowledged(error.code)) }
            return self.end(nil)
        case (.joining, .failed(let error)), (.acknowledging, .failed(let error)): return self.end(error)
        default: return self.poison()
        }
    }

    /// The log was read to its end.
    package mutating func didReadLog(_ result: Result<KillLog.Reading, StoreError>) -> PollAction {
        switch (self.poll, result) {
        case (.reading, .failure(let error)), (.comparing, .failure(let error)): return self.end(error)
        case (.reading, .success(.whole(let read))), (.comparing, .success(.whole(let read))): return self.compare(read)
        case (.reading, .success(.tail(let read))):
            let anchors = self.anchors
            // Perhaps it is only a stale read, or a snapshot is there: what stands there already is not written again.
            guard !anchors.isEmpty, read.count >= anchors.count else { return self.readWholeLog() }
            guard zip(read, anchors).allSatisfy({ $0.standsFor($1.entry) }) else { return self.endForeign() }
            var known = self.ahead ?? self.log.contents
            known.append(read.dropFirst(anchors.count))
            return self.raise(behind: known)
        default: return self.poison()
        }
    }

    private mutating func readWholeLog() -> PollAction {
        self.poll = .comparing
        return .readLog(behind: .start)
    }

    /// Holds all of the log against what this process goes by.
    private mutating func compare(_ read: KillLogContents) -> PollAction {
        let known = self.log.contents
        guard known.agrees(with: read) else { return self.endForeign() }
        guard read.last < known.last else { return self.raise(behind: read) }
        self.rereads += 1
        guard self.rereads <= Self.mostRewrites else { return self.end(.logLosing) }
        return self.restore(from: read.last.next, written: 0)
    }

    /// An entry was to be put into the log.
    package mutating func didPlace(_ result: Result<KillLog.Placement, StoreError>) -> PollAction {
        switch (self.poll, result) {
        case (.restoring(let next, let written), .success(let placement)):
            guard placement != .taken else { return self.endForeign() }
            return self.restore(from: next.next, written: written + (placement == .written ? 1 : 0))
        case (.restoring, .failure(let error)): return self.end(error)
        case (.raising(let read, let pendingKill), .success(let placement)):
            if placement == .taken {
                // Somebody was faster: again behind what that one has written; at the next poll where reads don't show it.
                self.rereads += 1
                return self.rereads <= Self.mostRewrites ? self.readLog() : self.fence(by: read)
            }
            self.raised.insert(pendingKill.entry.id)
            // Had what is known been lost before that write, the entry would stand behind a gap that others may fill.
            return self.readLog()
        case (.raising(let read, let pendingKill), .failure(let error)):
            // That the log could be read is worth a lease.
            self.log.note(pendingKill: pendingKill.entry.id) { $0.cause = error.code }
            self.notices.append(.waiting(error.code))
            return self.fence(by: read)
        default: return self.poison()
        }
    }

    /// This process goes by what was read.
    package mutating func didFence() -> PollAction {
        guard case .fencing = self.poll else { return self.poison() }
        return self.acknowledge()
    }

    private mutating func join() -> PollAction {
        self.poll = .joining
        return .writeReplica(self.record, self.membership, as: self.guarantees.version(behind: nil), expecting: nil)
    }

    /// What stands there may have come too late for a kill to list it, or be from before a loss: so it is written once more,
    /// and the log is read behind that, before there is a lease.
    private mutating func joinAgain(over entry: ReplicaVault.Entry) -> PollAction {
        let known = max(self.replica?.version ?? entry.version, entry.version)
        self.replica = entry
        self.rewrites += 1
        guard self.rewrites <= Self.mostRewrites else { return self.end(.recordContended) }
        self.poll = .joining
        let version = self.guarantees.version(behind: known)
        return .writeReplica(self.record, self.membership, as: version, expecting: entry.version)
    }

    /// Nobody waits for this replica any more: no lease before it is listed anew, and has read the log after that.
    private mutating func joinAnew() -> PollAction {
        self.leaseUntil = .distantPast
        self.replica = nil
        self.rewrites += 1
        (self.membership, self.nextMembership) = (self.nextMembership, .random())
        self.notices.append(.removedFromList)
        guard self.rewrites <= Self.mostRewrites else { return self.end(.recordContended) }
        return self.join()
    }

    private mutating func readLog() -> PollAction {
        self.poll = .reading
        return .readLog(behind: self.anchors.first.map { Epoch($0.epoch.rawValue - 1) } ?? .start)
    }

    /// What is known of the log's end, to be found again: where the last entry stands, all before it do. Where a second failover
    /// comes while what a first has lost is written back, one of these may be missing, and the last stands all the same.
    private var anchors: [NumberedKillEntry] {
        (self.ahead ?? self.log.contents).lastEntries(self.guarantees.failover == .losesSuffix ? 8 : 1)
    }

    private mutating func restore(from epoch: Epoch, written: Int) -> PollAction {
        guard epoch <= self.log.contents.last else {
            if written > 0 { self.notices.append(.restored(count: written)) }
            // All of it again: more may have been lost meanwhile, and left a gap in front of what was written since.
            return self.readWholeLog()
        }
        self.poll = .restoring(next: epoch, written: written)
        return .place(self.log.contents[epoch] ?? .filler(at: epoch), at: epoch)
    }

    /// Writes the first order that waits behind the log as it was just read.
    private mutating func raise(behind read: KillLogContents) -> PollAction {
        self.ahead = nil
        guard self.isRenewal else { return self.fence(by: read) }
        let pendingKill = self.log.pendingKills.first { kill in
            kill.cause != nil && !self.raised.contains(kill.entry.id) && !read.contains(kill.entry.id)
        }
        guard let pendingKill else { return self.fence(by: read) }
        self.poll = .raising(read, pendingKill)
        return .place(pendingKill.entry, at: read.last.next)
    }

    private mutating func fence(by read: KillLogContents) -> PollAction {
        self.poll = .fencing
        return read.last > self.log.contents.last ? .fence(read) : self.didFence()
    }

    /// Says how far this process is fenced, where there is something to say.
    private mutating func acknowledge() -> PollAction {
        // Before it has joined it only reads.
        guard let replica = self.replica else { return self.isRenewal ? self.poison() : self.end(nil) }
        let isHeartbeat = self.hasHeartbeat && self.isRenewal
        guard isHeartbeat || self.sealsAnew || replica.record.acknowledged < self.log.epochs.last else {
            return self.end(nil)
        }
        self.rewrites += 1
        guard self.rewrites <= Self.mostRewrites else { return self.end(.recordContended) }
        self.poll = .acknowledging
        let version = self.guarantees.version(behind: replica.version)
        return .writeReplica(self.record, replica.id, as: version, expecting: replica.version)
    }

    private var record: ReplicaRecord {
        ReplicaRecord(
            incarnation: self.incarnation,
            name: self.name,
            lease: self.lease,
            acknowledged: self.log.epochs.last,
            lastEntry: self.hasHeartbeat ? self.log.contents.lastEntry?.id : nil,
            joinedAt: self.replica?.record.joinedAt ?? self.wall
        )
    }

    private mutating func endForeign() -> PollAction {
        self.leaseUntil = .distantPast
        self.notices.append(.foreignLog)
        return self.end(.foreignLog)
    }

    private mutating func end(_ error: StoreError?) -> PollAction {
        self.poll = .idle
        self.ahead = nil
        // Others may have waited for it until then and no longer.
        if error == nil, self.isRenewal { self.leaseUntil = self.startedAt.advanced(by: self.lease - self.slack) }
        return .end(error)
    }

    /// How much sooner than its lease this replica stops, by its own clock. Those who wait count by theirs. On one host that
    /// is the same clock. Between hosts both may be slewed, by up to 8 % each way: this one counts as if by the slower, the
    /// others wait for longer than its lease (``ReplicaRecord/silence(on:)``).
    private var slack: Duration { self.hasHeartbeat ? self.lease * 12 / 100 : self.lease / 100 }

    private mutating func poison() -> PollAction {
        assertionFailure("a poll was told of something it had not asked for")
        self.leaseUntil = .distantPast
        return self.end(StoreError(.unreachable, "a poll ended by a fault in Martlet"))
    }

    /// Nobody needs to wait for this replica from now on. What it gives is to be removed.
    package mutating func leave() -> ReplicaID? {
        self.leaseUntil = .distantPast
        return self.replica.take()?.id
    }

    // MARK: - Wait

    /// One look at all who are waited for.
    package func beginWait(for epoch: Epoch) -> WaitAction {
        guard let kill = self.log.kill(epoch), !kill.isEnded else { return .nothing }
        // A listing is as new as this process's own last write, which must have come after the entry.
        if self.hasHeartbeat, self.replica.map({ $0.record.acknowledged < epoch }) ?? true { return .lookForEnd }
        guard let watch = kill.watch else { return .list(kill.entry.id) }
        return watch.pending.isEmpty ? self.wait(for: epoch) : .read(watch.pending)
    }

    /// The replicas, as listed after the entry was seen to stand.
    ///
    /// - Parameter version: of the entry's record.
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

    /// A read of a replica's record, `nil` where that has gone, that ended at `now`.
    package mutating func saw(_ entry: ReplicaVault.Entry?, _ id: ReplicaID, for epoch: Epoch, at now: BootInstant) {
        let hasTaken = entry.map { self.hasTaken($0.record, epoch) } ?? false
        self.log.note(kill: epoch) { $0.watch?.saw(entry, of: id, hasTaken: hasTaken, at: now) }
    }

    /// Whether a replica's word is about this log: where entries may be lost, another may have had the same number.
    private func hasTaken(_ record: ReplicaRecord, _ epoch: Epoch) -> Bool {
        guard record.acknowledged >= epoch else { return false }
        guard self.hasHeartbeat else { return true }
        return record.lastEntry != nil && record.lastEntry == self.log.contents[record.acknowledged]?.id
    }

    /// The entry was written anew since the replicas were listed: one may have joined in between that has not read it.
    package mutating func entryWasRewritten(_ epoch: Epoch) {
        self.log.note(kill: epoch) { $0.watch = nil }
    }

    /// A replica was expelled at the version that was watched.
    package mutating func expelled(_ id: ReplicaID, for epoch: Epoch) {
        self.log.note(kill: epoch) { $0.watch?.expelled(id) }
    }

    /// What follows from what is known by now.
    package func wait(for epoch: Epoch) -> WaitAction {
        guard let kill = self.log.kill(epoch), !kill.isEnded, let watch = kill.watch else { return .nothing }
        if watch.isComplete { return .check(kill.entry.id, watch.entryVersion) }
        return watch.silent.isEmpty ? .lookForEnd : .expel(watch.silent)
    }
}
