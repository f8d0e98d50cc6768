package import TokenModel
package import TokenStorage

/// Finds out when a kill is complete. It is complete when every replica that existed after the kill's entry had become
/// durable has fenced itself, is gone, or has been silent for longer than it goes on without reading the log.
///
/// This process measures the silence of each replica by its own clock and its own reads, see ``UnchangedSince``. Time
/// alone completes nothing.
package struct KillWatch: Equatable, Sendable {
    /// What is known of a replica.
    package enum State: String, Sendable {
        case acknowledged
        case leaseExpired = "lease_expired"
        /// The replica stopped in order, or its process was proven dead.
        case gone
        case pending
    }

    /// One replica that the kill waits for.
    package struct Replica: Equatable, Sendable {
        package let id: ReplicaID
        package fileprivate(set) var name: String
        package fileprivate(set) var state: State
        /// `nil` while the record does not open, because its lease is unknown then.
        fileprivate var silence: Duration?
        fileprivate var version: UnchangedSince<Version>
        /// As of the last read.
        fileprivate var entry: ReplicaVault.Entry?
        /// It has been silent for long enough.
        fileprivate var isSilent = false

        /// When it will have been silent for long enough; `nil` where the kill does not wait for it any more, or its
        /// lease is unknown.
        package var until: BootInstant? {
            self.state == .pending ? self.silence.map { self.version.start.advanced(by: $0) } : nil
        }
    }

    package let epoch: Epoch
    /// The version of the kill's entry that was seen before the listing.
    package let entryVersion: Version
    package private(set) var replicas: [Replica]
    private let reach: StoreGuarantees.Reach

    /// - Parameters:
    ///   - listing: all replicas, as listed after the entry had become durable. Silence is counted from `now`. For a
    ///     replica whose record does not open, time proves nothing: the kill waits until the record opens or is gone.
    ///   - reach: the reach of the store. Where a read may be stale, silence alone proves nothing: ``silent``.
    ///   - hasTaken: whether a replica's record says that it has applied the kill; if `nil`, the number alone decides.
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

    /// The replicas to read next.
    package var pending: [ReplicaID] { self.replicas.filter { $0.state == .pending }.map(\.id) }

    /// The replicas that have been silent for long enough, as of their last read. Where reads may be stale, only
    /// expelling them at exactly that version proves the silence.
    package var silent: [ReplicaVault.Entry] {
        self.replicas.filter { $0.state == .pending && $0.isSilent }.compactMap(\.entry)
    }

    package var isComplete: Bool { self.replicas.allSatisfy { $0.state != .pending } }

    /// Takes the result of a read of a replica's record that ended at `now`. Do not call it for a read that failed, or
    /// for a record that did not open.
    ///
    /// - Parameters:
    ///   - entry: `nil` where the record is gone.
    ///   - hasTaken: whether the record says that its replica has applied the kill; if `nil`, the number alone decides.
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
        // Another waiting task or process may have expelled it, at the version that was silent here too.
        let isExpelledByOther =
            self.replicas[index].isSilent && entry.record.isExpelled
            && entry.version == self.replicas[index].entry?.version.next
        self.replicas[index].silence = silence
        self.replicas[index].entry = entry
        self.replicas[index].isSilent = age >= silence
        if hasTaken ?? (entry.record.acknowledged >= self.epoch) {
            self.replicas[index].state = .acknowledged
        } else if age >= silence && (self.reach != .network || entry.record.isExpelled) || isExpelledByOther {
            // An expelled replica never writes its record again.
            self.replicas[index].state = .leaseExpired
        }
    }

    /// One of ``silent`` was expelled at the watched version: it has not written since, and never will.
    package mutating func expelled(_ id: ReplicaID) {
        guard let index = self.replicas.firstIndex(where: { $0.id == id }), self.replicas[index].state == .pending
        else { return }
        self.replicas[index].state = .leaseExpired
    }
}
