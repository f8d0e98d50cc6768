package import TokenModel

/// The identity of one physical copy of the records: one file, one database. A copied or moved store keeps its
/// ``StoreID``, and the copy has a place of its own.
package struct PlaceID: RandomIdentifier {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }
}

/// What a store says about itself as the source or the target of a move (``MigratingTokenStore``). Each store that takes
/// part in a move has one such record, which is never copied.
///
///     own ──▶ target is prepared ──▶ moved away          (of the source)
///     prepared ──▶ filling ──▶ own                       (of the target)
///
/// The one write that moves all replicas is the source's to ``Stage/movedAway(to:)``. Before it the source has every
/// record, after it the target counts and takes over one record after another.
package struct StorePlace: Equatable, Sendable {
    package enum Stage: Equatable, Sendable {
        /// It has all records.
        case own
        /// It has the kill log of `source` so far, and nothing else.
        case prepared(for: PlaceID)
        /// Records that it does not have are still in `source`.
        case filling(from: PlaceID)
        /// Its records are being moved to another store, or are there.
        case movedAway(to: PlaceID)
    }

    package let id: PlaceID
    package var stage: Stage
    /// Of two stores that were moved to each other, the one that was moved away later has the greater number.
    package var moves: UInt64
    /// The number of the last entry of the kill log when the record was made. Moves up to it are those of the store that this
    /// one is a copy of.
    package let inherited: UInt64

    package init(id: PlaceID = .random(), stage: Stage = .own, moves: UInt64 = 0, inherited: UInt64 = 0) {
        self.id = id
        self.stage = stage
        self.moves = moves
        self.inherited = inherited
    }

    /// Notes that the records are moved to `target`, again if a failover has lost that.
    ///
    /// - Returns: whether that is new.
    mutating func moveAway(to target: StorePlace) -> Bool {
        guard self.mayMove(to: target) else { return false }
        self.stage = .movedAway(to: target.id)
        self.moves = max(self.moves, target.moves) + 1
        return true
    }

    /// Whether the records may still be moved to `target`. A store that was moved on, or that they were moved back to, says so.
    private func mayMove(to target: StorePlace) -> Bool {
        self.stage == .own || self.stage == .filling(from: target.id)
    }

    /// Whether a failover has lost that the records are moved to `target`, which has said so since. If they were moved back
    /// meanwhile, this store has more moves.
    func hasForgottenMove(to target: StorePlace) -> Bool {
        let isUsed = target.stage == .own || target.stage == .filling(from: self.id)
        return isUsed && self.mayMove(to: target) && self.moves <= target.moves
    }

    /// - Throws: ``StoreError/Code/moved`` if a gateway must not use the store alone.
    package func expectWhole() throws(StoreError) {
        switch self.stage {
        case .own: return
        case .prepared:
            throw StoreError(
                .moved,
                "it was prepared as the target of a move that has not happened: use the driver migrating, with this store as "
                    + "current and the store with the records as previous"
            )
        case .filling:
            throw StoreError(
                .moved,
                "a part of its records is still in the store that they are moved from: use the driver migrating, with this "
                    + "store as current and the other as previous, until martlet status says that the move is done"
            )
        case .movedAway:
            throw StoreError(
                .moved,
                "its records were moved to another store: use that one; or move them back with the driver migrating, with "
                    + "this store as current and the other as previous"
            )
        }
    }
}

extension StorePlace: SealableRecord {
    private static let format: UInt8 = 1

    /// The record as bytes to seal.
    package func encoded() -> Secret {
        let writer = FieldWriter(format: Self.format)
        writer.write(self.id.rawValue)
        writer.write(self.moves)
        writer.write(self.inherited)
        let (stage, other): (UInt8, PlaceID?) =
            switch self.stage {
            case .own: (0, nil)
            case .prepared(let source): (1, source)
            case .filling(let source): (2, source)
            case .movedAway(let target): (3, target)
            }
        writer.write(stage)
        writer.write(other) { writer.write($0.rawValue) }
        return writer.finish()
    }

    /// Reads what ``encoded()`` wrote.
    ///
    /// - Throws: ``StoreError/Code/unreadable`` for any other bytes.
    package init(decoding bytes: Secret) throws(StoreError) {
        var reader = try FieldReader(bytes, formats: Self.format...Self.format)
        self.id = PlaceID(rawValue: try reader.read())
        self.moves = try reader.read()
        self.inherited = try reader.read()
        let stage: UInt8 = try reader.read()
        let other = try reader.readOptional { reader throws(StoreError) in PlaceID(rawValue: try reader.read()) }
        switch (stage, other) {
        case (0, nil): self.stage = .own
        case (1, let other?): self.stage = .prepared(for: other)
        case (2, let other?): self.stage = .filling(from: other)
        case (3, let other?): self.stage = .movedAway(to: other)
        default: throw FieldReader.malformed("an unknown stage of a move")
        }
        try reader.finish()
    }
}

extension StorePlace {
    /// The place of a store; `nil` if it never was part of a move.
    package static func read(_ records: SealedRecords) async throws(StoreError) -> StorePlace? {
        try await PlaceVault(records).read()?.record
    }
}

/// The place record of one store.
struct PlaceVault: Sendable {
    private let vault: RecordVault<StorePlace>

    init(_ records: SealedRecords) { self.vault = RecordVault(records) }

    func read() async throws(StoreError) -> StoredEntry<StorePlace>? { try await self.vault.read(.place) }

    /// The place record, which is made with that stage if there is none.
    ///
    /// - Parameter inherited: the number of the last entry of the kill log.
    func readOrMake(
        _ stage: StorePlace.Stage,
        inherited: () async throws(StoreError) -> UInt64 = { 0 }
    ) async throws(StoreError) -> StoredEntry<StorePlace> {
        if let found = try await self.read() { return found }
        // Another process may make it at the same time.
        try await self.vault.put(StorePlace(stage: stage, inherited: try await inherited()), at: .place)
        guard let made = try await self.read() else {
            throw StoreError(.unreachable, "the record of the store's place was written, and is not there")
        }
        return made
    }

    /// Puts the place record back if there is none, since a failover has lost it.
    ///
    /// - Returns: what is there then, and whether there was none. Another process may have made another one.
    @discardableResult
    func putBack(_ place: StorePlace) async throws(StoreError) -> (found: StorePlace?, isNew: Bool) {
        if let found = try await self.read() { return (found.record, false) }
        try await self.vault.put(place, at: .place)
        return (try await self.read()?.record, true)
    }

    /// Changes the place record, unless another process has changed it meanwhile.
    ///
    /// - Parameter change: changes the record; `false`: leaves it as it is.
    func change(_ change: (inout StorePlace) -> Bool) async throws(StoreError) -> StorePlace {
        for _ in 0..<Self.mostTries {
            guard var entry = try await self.read() else {
                throw StoreError(.unreadable, "the record of the store's place is gone")
            }
            guard change(&entry.record) else { return entry.record }
            do throws(StoreError) {
                _ = try await self.vault.write(entry.record, at: .place, expecting: entry.version)
                return entry.record
            } catch {
                guard error.code == .conflict else { throw error }
            }
        }
        throw StoreError(.unreachable, "other writers came between each time")
    }

    private static let mostTries = 8
}
