internal import Synchronization
package import TokenModel
package import TokenStorage

/// The record of a running replica, for the other replicas: a kill waits for each replica that has one.
package struct ReplicaRecord: Equatable, Sendable {
    package let incarnation: IncarnationID
    /// For display only.
    package let name: String
    /// How long it goes on putting tokens into requests after its last read of the kill log.
    package let lease: Duration
    /// The epoch up to which it has fenced itself.
    package var acknowledged: Epoch
    /// The ID of the entry numbered ``acknowledged``, on a store that may lose entries: another entry may have had that
    /// number.
    package var lastEntry: KillID?
    /// The ids of the sealing keys that it has, on a store whose replicas have files of keys of their own.
    package var keys: [String]
    /// The place of the store that it goes over to as soon as all replicas can; `nil`: it stays.
    package var target: PlaceID?
    /// The record is about to be removed: the replica puts no token into a request until it has joined again.
    package var isExpelled: Bool
    package let joinedAt: WallTime

    package init(
        incarnation: IncarnationID,
        name: String,
        lease: Duration,
        acknowledged: Epoch = .start,
        lastEntry: KillID? = nil,
        keys: [String] = [],
        target: PlaceID? = nil,
        isExpelled: Bool = false,
        joinedAt: WallTime
    ) {
        self.incarnation = incarnation
        self.name = name
        self.lease = lease
        self.acknowledged = acknowledged
        self.lastEntry = lastEntry
        self.keys = keys
        self.target = target
        self.isExpelled = isExpelled
        self.joinedAt = joinedAt
    }

    /// How long a replica must be silent until no kill has to wait for it. It is the lease, plus the drift between two
    /// clocks (5 % between machines, 1 % on one host), plus a second for a write in progress.
    package func silence(on reach: StoreGuarantees.Reach) -> Duration {
        self.lease + self.lease / (reach == .network ? 20 : 100) + .seconds(1)
    }
}

extension ReplicaRecord: SealableRecord {
    /// Format 2 has a last entry, format 3 also keys, and format 4 a target.
    private static let formats: ClosedRange<UInt8> = 1...4

    /// The record as bytes to seal.
    package func encoded() -> Secret {
        let format: UInt8 = self.target != nil ? 4 : !self.keys.isEmpty ? 3 : self.lastEntry == nil ? 1 : 2
        let writer = FieldWriter(format: format)
        writer.write(self.incarnation.rawValue)
        writer.write(self.name)
        writer.write(self.lease)
        writer.write(self.acknowledged.rawValue)
        writer.write(self.isExpelled)
        writer.write(self.joinedAt.millisecondsSince1970)
        guard format > 2 else {
            if let lastEntry { writer.write(lastEntry.rawValue) }
            return writer.finish()
        }
        writer.write(self.lastEntry) { writer.write($0.rawValue) }
        writer.write(self.keys) { writer.write($0) }
        if let target { writer.write(target.rawValue) }
        return writer.finish()
    }

    /// Reads what ``encoded()`` wrote.
    ///
    /// - Throws: ``StoreError/Code/unreadable`` for any other bytes.
    package init(decoding bytes: Secret) throws(StoreError) {
        var reader = try FieldReader(bytes, formats: Self.formats)
        self.incarnation = IncarnationID(rawValue: try reader.read())
        self.name = try reader.read()
        self.lease = try reader.read()
        self.acknowledged = Epoch(rawValue: try reader.read())
        self.isExpelled = try reader.read()
        self.joinedAt = WallTime(millisecondsSince1970: try reader.read())
        self.keys = []
        switch reader.format {
        case 1: break
        case 2: self.lastEntry = KillID(rawValue: try reader.read())
        default:
            self.lastEntry = try reader.readOptional { reader throws(StoreError) in KillID(rawValue: try reader.read())
            }
            self.keys = try reader.readArray { reader throws(StoreError) in try reader.read() }
            if reader.format == 4 { self.target = PlaceID(rawValue: try reader.read()) }
        }
        try reader.finish()
    }
}

extension KillMachine {
    /// This replica's record, as it is to be written next.
    var record: ReplicaRecord {
        ReplicaRecord(
            incarnation: self.incarnation,
            name: self.name,
            lease: self.lease,
            acknowledged: self.log.epochs.last,
            lastEntry: self.hasHeartbeat ? self.log.contents.lastEntry?.id : nil,
            keys: self.hasHeartbeat ? self.keys : [],
            target: self.home.target,
            joinedAt: self.replica?.record.joinedAt ?? self.wall
        )
    }
}

/// How long this replica may go on, for display.
package struct LeaseReading: Equatable, Sendable {
    package let now: WallTime
    /// `nil` where the lease has lapsed.
    package let until: WallTime?

    package init(now: WallTime, until: WallTime?) {
        self.now = now
        self.until = until
    }
}

extension KillSwitch {
    /// Until when tokens are put into requests if the kill log is not read again before.
    package var leaseReading: LeaseReading {
        let (end, now) = (self.leaseUntil, self.timepiece.now)
        return LeaseReading(
            now: now.wall,
            until: end > now.boot ? now.wall.advanced(by: now.boot.duration(to: end)) : nil
        )
    }

    /// The moment at which a poll begins, and the sealing keys that this process has, the one that seals first.
    func beginning(renews: Bool) async throws(StoreError) -> (now: Moment, keys: [SealingKey.ID]) {
        let now = self.timepiece.now
        // A record under a key that was replaced meanwhile might be one that others can't open any more.
        if renews { try await self.records.followCanary() }
        return (now, self.records.keys.ring.ids)
    }

    /// Reads the log to its end, fences this process against what is new there, and renews its lease.
    package func renew() async throws(StoreError) { try await self.poll() }

    /// Returns at once while the lease holds. Otherwise tries to renew it, for up to a second.
    package func renewIfLapsed() async throws(CredentialError) {
        guard !self.holdsLease else { return }
        let begin = self.timepiece.now.boot
        while true {
            // While the replicas go over to another store, no lease can be had.
            let deadline = begin.advanced(by: self.isGoingOver ? Self.longestMove : .seconds(1))
            guard self.timepiece.now.boot < deadline, !Task.isCancelled else { break }
            do throws(StoreError) {
                try await self.poll(until: deadline)
                if self.holdsLease { return }
            } catch {
                await self.timepiece.rest(until: self.timepiece.now.boot.advanced(by: .milliseconds(100)))
            }
        }
        throw CredentialError(
            .storeLost,
            "the kill log could not be read for longer than the lease, so no token is used",
            retryAfter: .seconds(1)
        )
    }
}

/// The result of forgetting a replica.
package struct ReplicaExpulsion: Equatable, Sendable {
    package let id: ReplicaID
    package let name: String
    /// When its record is removed; `nil` where it is removed already, because its process has ended for certain.
    package let until: WallTime?
}
