package import TokenModel
package import TokenStorage

/// Finds out when a kill is complete: every replica that there was after its entry had become durable has fenced itself,
/// has gone, or has said nothing since for longer than it goes on without reading the log.
///
/// The last is counted for each by this process's own clock over its own reads, see ``UnchangedSince``. Time alone
/// completes nothing.
package struct KillWatch: Equatable, Sendable {
    /// What is known of a replica.
    package enum State: String, Sendable {
        case acknowledged
        case leaseExpired = "lease_expired"
        /// It stopped in order, or was proven dead.
        case gone
        case pending
    }

    /// One that is waited for.
    package struct Replica: Equatable, Sendable {
        package let id: ReplicaID
        package fileprivate(set) var name: String
        package fileprivate(set) var state: State
        /// `nil` while its record does not open: nobody knows its lease.
        fileprivate var silence: Duration?
        fileprivate var version: UnchangedSince<Version>
        /// As it was read last.
        fileprivate var entry: ReplicaVault.Entry?
        /// It has been silent for long enough.
        fileprivate var isSilent = false

        /// When it will have been silent for long enough; `nil` where nobody waits for it any more, or nobody knows.
        package var until: BootInstant? {
            self.state == .pending ? self.silence.map { self.version.start.advanced(by: $0) } : nil
        }
    }

    package let epoch: Epoch
    /// Which write of the kill's entry came before the listing.
    package let entryVersion: Version
    package private(set) var replicas: [Replica]
    private let reach: StoreGuarantees.Reach

    /// - Parameters:
    ///   - listing: all replicas, as listed after the entry had become durable; it was asked for at `now`. Of those whose
    ///     record does not open time tells nothing: they are waited for until it opens or has gone.
    ///   - reach: of the store. Where a read may be stale, silence alone proves nothing: ``silent``.
    ///   - hasTaken: whether a replica's record says that it goes by the kill; else known by the number alone.
    package init(
        _ epoch: Epoch,
        _ listing: ReplicaVault.Listing,
        behind entryVersion: Version = .first,
        reach: StoreGuarantees.Reach = .host,
        now: BootInstant,
        hasTaken: ((ReplicaVault.Entry) -> Bool)? = nil
    ) {
        let hasTaken = hasTaken ?? { $0.record.acknowledged >= epoch }
        self.epoch = epoch
        self.entryVersion = entryVersion
        self.reach = reach
        self.replicas = listing.entries.map { entry in
            Replica(
                id: entry.id,
                name: entry.record.name,
                state: hasTaken(entry) ? .acknowledged : .pending,
                silence: entry.record.silence(on: reach),
                version: UnchangedSince(entry.version, at: now),
                entry: entry
            )
        }
        self.replicas += listing.unreadable.map { id in
            Replica(
                id: id,
                name: id.unreadableName,
                state: .pending,
                silence: nil,
                version: UnchangedSince(Version(0), at: now)
            )
        }
    }

    /// Whom to read next.
    package var pending: [ReplicaID] { self.replicas.filter { $0.state == .pending }.map(\.id) }

    /// Those who have been silent for long enough, as they were read last, where that is proven only by expelling them at
    /// just that version.
    package var silent: [ReplicaVault.Entry] {
        self.replicas.filter { $0.state == .pending && $0.isSilent }.compactMap(\.entry)
    }

    package var isComplete: Bool { self.replicas.allSatisfy { $0.state != .pending } }

    /// Takes what a read of a replica's record has found that ended at `now`. Of one that failed, or did not open, there is
    /// nothing to take.
    ///
    /// - Parameters:
    ///   - entry: `nil` where the record has gone.
    ///   - hasTaken: whether it says that its replica goes by the kill; else known by the number alone.
    package mutating func saw(
        _ entry: ReplicaVault.Entry?,
        of id: ReplicaID,
        hasTaken: Bool? = nil,
        at now: BootInstant
    ) {
        guard let index = self.replicas.firstIndex(where: { $0.id == id }), self.replicas[index].state == .pending
        else { return }
        guard let entry else {
            self.replicas[index].state = .gone
            return
        }
        let age = self.replicas[index].version.saw(entry.version, at: now)
        self.replicas[index].name = entry.record.name
        let silence = entry.record.silence(on: self.reach)
        // Another waiter may have expelled it, at the version that was silent here too.
        let isExpelledByOther =
            self.replicas[index].isSilent && entry.record.isExpelled
            && entry.version == self.replicas[index].entry?.version.next
        self.replicas[index].silence = silence
        self.replicas[index].entry = entry
        self.replicas[index].isSilent = age >= silence
        if hasTaken ?? (entry.record.acknowledged >= self.epoch) {
            self.replicas[index].state = .acknowledged
        } else if age >= silence && (self.reach != .network || entry.record.isExpelled) || isExpelledByOther {
            // One that was expelled never writes its record again.
            self.replicas[index].state = .leaseExpired
        }
    }

    /// One of ``silent`` was expelled at the version that was watched: no write of its own came before, and none will.
    package mutating func expelled(_ id: ReplicaID) {
        guard let index = self.replicas.firstIndex(where: { $0.id == id }), self.replicas[index].state == .pending
        else { return }
        self.replicas[index].state = .leaseExpired
    }
}
