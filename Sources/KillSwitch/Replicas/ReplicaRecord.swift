package import TokenModel
package import TokenStorage

/// A running replica, as the others see it: a kill waits for each.
package struct ReplicaRecord: Equatable, Sendable {
    package let incarnation: IncarnationID
    /// Only shown.
    package let name: String
    /// How long it goes on putting tokens into requests after it last read the kill log.
    package let lease: Duration
    /// It has fenced itself up to here.
    package var acknowledged: Epoch
    /// The entry of that number, where another may have had it: on a store that may lose entries.
    package var lastEntry: KillID?
    /// It is about to be removed: it puts no token into a request until it has joined anew.
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

    /// After this time without a word from it nobody has to reckon with it any more: its lease, the difference between
    /// two clocks, which is larger between machines, and a second for what it was about to write.
    package func silence(on reach: StoreGuarantees.Reach) -> Duration {
        self.lease + self.lease / (reach == .network ? 20 : 100) + .seconds(1)
    }
}

extension ReplicaRecord: SealableRecord {
    /// 2 has a last entry.
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
