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
    /// The record is about to be removed: the replica puts no token into a request until it has joined again.
    package var isExpelled: Bool
    package let joinedAt: WallTime

    package init(
        incarnation: IncarnationID,
        name: String,
        lease: Duration,
        acknowledged: Epoch = .start,
        lastEntry: KillID? = nil,
        isExpelled: Bool = false,
        joinedAt: WallTime
    ) {
        self.incarnation = incarnation
        self.name = name
        self.lease = lease
        self.acknowledged = acknowledged
        self.lastEntry = lastEntry
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
    /// Format 2 has a last entry.
    private static let formats: ClosedRange<UInt8> = 1...2

    /// The record as bytes to seal.
    package func encoded() -> Secret {
        let writer = FieldWriter(format: self.lastEntry == nil ? 1 : 2)
        writer.write(self.incarnation.rawValue)
        writer.write(self.name)
        writer.write(self.lease)
        writer.write(self.acknowledged.rawValue)
        writer.write(self.isExpelled)
        writer.write(self.joinedAt.millisecondsSince1970)
        if let lastEntry { writer.write(lastEntry.rawValue) }
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
        if reader.format == 2 { self.lastEntry = KillID(rawValue: try reader.read()) }
        try reader.finish()
    }
}
