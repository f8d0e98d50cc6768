package import TokenModel
package import TokenStorage

/// Decides how a kill proceeds at one replica: what it fences itself against, whether it holds a lease, and which
/// replicas a kill waits for.
///
///     raise     pending kill ──▶ fence ──▶ append to the log ──▶ poll           (``FencedLog``)
///               the store refuses the append: the kill stays pending, and each poll tries again
///
///     poll      read our own record ──gone or expelled──▶ no lease ──▶ join ───┐        (on one host)
///                 │ present                                                    │
///                 ▼                                                            │
///               read the log ◀─────────────────────────────────────────────────┘
///                 │ ▲ └──known entries are missing──▶ write them back, and read the whole log
///                 │ └──pending kills are appended──┘
///                 ▼
///               fence ──▶ acknowledge in our own record ──▶ lease, counted from the start of the poll
///
///     wait      see that the entry exists, then list all replicas ──▶ read the pending … ──▶ is the entry still there?
///                 ──▶ write that the kill is complete
///
/// Invariants:
/// - A replica is listed before the read of the log that gives it its first lease. A kill that did not list the replica
///   was in the log before that read.
/// - On a store that several hosts reach, a read may be stale. So the lease there is a *heartbeat*: it exists once a
///   write of the replica's own record, with the epoch that the replica has applied, succeeds. If the replica has not
///   read a kill, its epoch is lower than the kill's, and the kill waits. Silence proves nothing there either: a
///   replica has lapsed only when a compare-and-set on the very version that was watched has expelled it.
/// - On one host a read renews the lease, so that a full disk stops no replica.
/// - What this replica has applied never shrinks. Entries that the store lacks are written back, and a log that has
///   diverged ends the lease.
/// - Every poll event leads to exactly one action, and every action except ``PollAction/end(_:)`` leads to exactly one
///   event.
///
/// The shell (``KillSwitch``) performs the actions. This type touches no clock, store or lock.
package struct KillMachine: ~Copyable, Sendable {
    private enum Poll {
        case idle
        case readingOwnRecord
        case joining
        case reading
        case comparing
        case restoring(next: Epoch, written: Int)
        case raising(KillLogContents, PendingKill)
        case fencing
        case leaving
        case acknowledging
    }

    /// The identity of this process, and its display name.
    let incarnation: IncarnationID
    let name: String
    package let lease: Duration
    let guarantees: StoreGuarantees
    package internal(set) var home: Home
    /// The store is the target now, which counts from the next poll on.
    private var isArriving = false
    /// Whether the lease requires a write.
    var hasHeartbeat: Bool { self.guarantees.reach == .network }

    /// The log as this process has applied it.
    package var log: FencedLog
    /// Tokens are put into requests until this instant.
    package private(set) var leaseUntil = BootInstant.distantPast
    /// This replica's record, as it is listed.
    package private(set) var replica: ReplicaVault.Entry?
    /// The ids of the sealing keys that this process has, for its record.
    private(set) var keys: [String] = []
    private var notices: [Notice] = []

    private var poll = Poll.idle
    /// Whether the poll is to renew the lease.
    private var isRenewal = true
    private var startedAt = BootInstant.distantPast
    private(set) var wall = WallTime(millisecondsSince1970: 0)
    /// The ID under which this replica is listed, or is about to be.
    private var membership: ReplicaID
    private var nextMembership: ReplicaID
    /// At the start, the log that was read already but that this process has not applied yet.
    private var ahead: KillLogContents?
    private var rereads = 0
    private var raised: Set<KillID> = []
    private var sealsAnew = false
    private var rewrites = 0
    private static let mostRewrites = 4

    package init(
        incarnation: IncarnationID,
        name: String,
        lease: Duration,
        _ guarantees: StoreGuarantees,
        home: Home = Home()
    ) {
        self.home = home
        self.incarnation = incarnation
        self.name = name
        self.lease = lease
        self.guarantees = guarantees
        self.log = FencedLog(notesEntries: guarantees.failover == .losesSuffix)
        self.membership = .random()
        self.nextMembership = .random()
    }

    /// The events since the last call.
    package mutating func takeNotices() -> [Notice] {
        defer { self.notices = [] }
        return self.notices
    }

    // MARK: - Poll

    /// Begins a poll. Only one poll runs at a time. At the start, `known` is the part of the log that was read already.
    /// `keys` are the sealing keys that this process has.
    package mutating func beginPoll(
        _ now: Moment,
        known: KillLogContents? = nil,
        keys: [SealingKey.ID] = []
    ) -> PollAction {
        self.arrive()
        self.keys = keys.map(\.description)
        (self.isRenewal, self.startedAt, self.wall) = (true, now.boot, now.wall)
        self.nextMembership = .random()
        self.ahead = known?.ofStore(self.home)
        (self.rereads, self.sealsAnew, self.rewrites, self.raised) = (0, false, 0, [])
        guard let replica = self.replica else { return self.join() }
        guard !self.hasHeartbeat else { return self.readLog() }
        self.poll = .readingOwnRecord
        return .readReplica(replica.id)
    }

    /// Begins a poll that only finds out what is new in the log. It brings no lease. It still looks for the known
    /// entries: no token may be stamped with an epoch of a log that has diverged.
    package mutating func beginRead() -> PollAction {
        self.arrive()
        self.isRenewal = false
        (self.ahead, self.rereads, self.sealsAnew, self.rewrites, self.raised) = (nil, 0, false, 0, [])
        return self.readLog()
    }

    /// The read of this replica's own record has ended.
    ///
    /// - Parameters:
    ///   - found: `nil` where the record is gone.
    ///   - sealsAnew: the record is sealed under another key than the one this process writes with.
    package mutating func didReadReplica(
        _ found: Result<ReplicaVault.Entry?, StoreError>,
        sealsAnew: Bool = false
    ) -> PollAction {
        guard case .readingOwnRecord = self.poll else { return self.poison() }
        switch found {
        case .failure(let error): return self.end(error)
        case .success(let entry?) where !entry.record.isExpelled:
            self.replica = entry
            self.sealsAnew = sealsAnew
            return self.readLog()
        case .success: return self.joinAnew()
        }
    }

    /// The write of this replica's own record has succeeded or failed.
    package mutating func didWriteReplica(_ result: ReplicaWrite) -> PollAction {
        switch (self.poll, result) {
        case (.joining, .stands(let version)), (.acknowledging, .stands(let version)):
            self.replica = ReplicaVault.Entry(id: self.membership, record: self.record, version: version)
            if case .joining = self.poll { return self.readLog() }
            return self.end(nil)
        case (.joining, .conflict(let entry)), (.acknowledging, .conflict(let entry)):
            let isOwn = entry?.record.incarnation == self.incarnation
            guard let entry, isOwn, !entry.record.isExpelled else { return self.joinAnew() }
            // Either the response to our own write was lost, or the store has lost a write.
            return self.joinAgain(over: entry)
        case (.acknowledging, .failed(let error)) where !self.hasHeartbeat:
            let isBehind = self.replica.map { $0.record.acknowledged < self.log.epochs.last } ?? true
            if isBehind { self.notices.append(.unacknowledged(error.code)) }
            return self.end(nil)
        case (.joining, .failed(let error)), (.acknowledging, .failed(let error)): return self.end(error)
        default: return self.poison()
        }
    }

    /// The read of the log has ended.
    package mutating func didReadLog(_ result: Result<KillLog.Reading, StoreError>) -> PollAction {
        switch (self.poll, result) {
        case (.reading, .failure(let error)), (.comparing, .failure(let error)): return self.end(error)
        case (.reading, .success(.incomplete)), (.comparing, .success(.incomplete)): return self.end(.logIncomplete)
        case (.reading, .success(.whole(let read))), (.comparing, .success(.whole(let read))): return self.compare(read)
        case (.reading, .success(.tail(let read))):
            let anchors = self.anchors
            // The read may only be stale, or a snapshot may exist. The whole log shows which entries are missing.
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

    /// Compares the whole log with what this process has applied.
    private mutating func compare(_ read: KillLogContents) -> PollAction {
        let known = self.log.contents
        guard known.agrees(with: read) else { return self.endForeign() }
        guard read.last < known.last else { return self.raise(behind: read) }
        self.rereads += 1
        guard self.rereads <= Self.mostRewrites else { return self.end(.logLosing) }
        return self.restore(from: read.last.next, written: 0)
    }

    /// The attempt to place an entry in the log has ended.
    package mutating func didPlace(_ result: Result<KillLog.Placement, StoreError>) -> PollAction {
        switch (self.poll, result) {
        case (.restoring(let next, let written), .success(let placement)):
            guard placement != .taken else { return self.endForeign() }
            return self.restore(from: next.next, written: written + (placement == .written ? 1 : 0))
        case (.restoring, .failure(let error)): return self.end(error)
        case (.raising(let read, let pendingKill), .success(let placement)):
            if placement == .taken {
                // Another writer was faster. Read the log and try again behind its entry, or at the next poll if reads
                // do not show that entry.
                self.rereads += 1
                return self.rereads <= Self.mostRewrites ? self.readLog() : self.fence(by: read)
            }
            self.raised.insert(pendingKill.entry.id)
            // If known entries were lost before that write, the entry is behind a gap that others may fill.
            return self.readLog()
        case (.raising(let read, let pendingKill), .failure(let error)):
            // The log could be read, so the poll still renews the lease.
            self.log.note(pendingKill: pendingKill.entry.id) { $0.cause = error.code }
            self.notices.append(.waiting(error.code))
            return self.fence(by: read)
        default: return self.poison()
        }
    }

    /// This process has fenced itself by the log that was read.
    package mutating func didFence() -> PollAction {
        guard case .fencing = self.poll else { return self.poison() }
        guard self.obstacle != nil else { return self.acknowledge() }
        self.leaseUntil = .distantPast
        guard self.isGoingOver else { return self.acknowledge() }
        self.poll = .leaving
        return .leave
    }

    /// No call of this store starts any more.
    ///
    /// - Parameter isDone: whether all have ended.
    package mutating func didLeave(_ isDone: Bool) -> PollAction {
        guard case .leaving = self.poll else { return self.poison() }
        return isDone ? self.acknowledge() : self.end(.moving)
    }

    /// The store is the target from now on. The next poll lists this replica there, and reads the log there. Call it between two
    /// polls.
    ///
    /// - Returns: the replica that was listed in the store that is left.
    package mutating func goneOver() -> ReplicaID? {
        guard self.home.target != nil, !self.isArriving else { return nil }
        self.isArriving = true
        self.leaseUntil = .distantPast
        return self.replica?.id
    }

    private mutating func arrive() {
        guard self.isArriving, let target = self.home.target else { return }
        self.isArriving = false
        self.home = Home(place: target)
        self.replica = nil
        self.membership = .random()
    }

    private mutating func join() -> PollAction {
        self.poll = .joining
        return .writeReplica(self.record, self.membership, as: self.guarantees.version(behind: nil), expecting: nil)
    }

    /// The present record may have been written too late for a kill to list it, or may be from before a loss. So this
    /// replica writes it once more, and reads the log after that, before it takes a lease.
    private mutating func joinAgain(over entry: ReplicaVault.Entry) -> PollAction {
        let known = max(self.replica?.version ?? entry.version, entry.version)
        self.replica = entry
        self.rewrites += 1
        guard self.rewrites <= Self.mostRewrites else { return self.end(.recordContended) }
        self.poll = .joining
        let version = self.guarantees.version(behind: known)
        return .writeReplica(self.record, self.membership, as: version, expecting: entry.version)
    }

    /// No kill waits for this replica any more. It takes no lease until it is listed again and has read the log after
    /// that.
    private mutating func joinAnew() -> PollAction {
        guard !self.isArriving else { return self.end(.moving) }
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

    /// The last known entries, which a read must find again. If the last entry is in the store, all entries before it
    /// are. If a second failover happens while the losses of the first are written back, one of these may be missing
    /// although the last is there.
    private var anchors: [NumberedKillEntry] {
        (self.ahead ?? self.log.contents).lastEntries(self.guarantees.failover == .losesSuffix ? 8 : 1)
    }

    private mutating func restore(from epoch: Epoch, written: Int) -> PollAction {
        guard epoch <= self.log.contents.last else {
            if written > 0 { self.notices.append(.restored(count: written)) }
            // Read the whole log again. More entries may have been lost meanwhile, which leaves a gap before the
            // entries just written.
            return self.readWholeLog()
        }
        self.poll = .restoring(next: epoch, written: written)
        return .place(self.log.contents[epoch] ?? .filler(at: epoch), at: epoch)
    }

    /// Writes the first pending kill that the store has not taken behind the log as it was just read.
    private mutating func raise(behind whole: KillLogContents) -> PollAction {
        self.ahead = nil
        let read = whole.ofStore(self.home)
        let isMoved = read.lastMove.map { !self.home.holds(after: $0) } ?? false
        guard self.isRenewal, !isMoved else { return self.fence(by: read) }
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

    /// Writes to our own record how far this process is fenced, if that is news.
    private mutating func acknowledge() -> PollAction {
        // A process that has not joined yet only reads.
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

    private mutating func endForeign() -> PollAction {
        self.leaseUntil = .distantPast
        self.notices.append(.foreignLog)
        return self.end(.foreignLog)
    }

    private mutating func end(_ failure: StoreError?) -> PollAction {
        let error = failure ?? self.obstacle
        self.poll = .idle
        self.ahead = nil
        // Count from the start of the poll: other replicas may wait for this one no longer than that.
        if error == nil, self.isRenewal { self.leaseUntil = self.startedAt.advanced(by: self.lease - self.slack) }
        return .end(error)
    }

    /// How much sooner than its lease this replica stops, by its own clock. The replicas that wait count by their own
    /// clocks. On one host that is the same clock. Between hosts both clocks may be slewed, by up to 8 % each way. So
    /// this replica counts as if its clock were the slower one, and the others wait longer than the lease
    /// (``ReplicaRecord/silence(on:)``).
    private var slack: Duration { self.hasHeartbeat ? self.lease * 12 / 100 : self.lease / 100 }

    private mutating func poison() -> PollAction {
        assertionFailure("a poll was told of something it had not asked for")
        self.leaseUntil = .distantPast
        return self.end(StoreError(.unreachable, "a poll ended by a fault in Martlet"))
    }

    /// Ends this replica's membership: no kill needs to wait for it from now on.
    ///
    /// - Returns: the replica whose record is to be removed.
    package mutating func leave() -> ReplicaID? {
        self.leaseUntil = .distantPast
        return self.replica.take()?.id
    }
}
