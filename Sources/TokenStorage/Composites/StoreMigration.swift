internal import TokenModel

/// The two stores of a move as they are found when a gateway or a command opens them: which one counts, and whether they
/// belong together. Changes nothing but the place records.
package struct StoreMigration: Sendable {
    let current: SealedRecords
    let previous: SealedRecords
    /// The place records of `current` and of `previous`.
    let target: StoredEntry<StorePlace>
    let source: StoredEntry<StorePlace>
    /// The replicas have gone over to `current`.
    let isCommitted: Bool
    /// `previous` still lacks records that are in `current`: the move is one back, of a move that has not ended.
    let isTurnedAround: Bool
    /// Nothing is left in `previous`.
    package let isDone: Bool

    /// Finds out how far a move has come.
    ///
    /// - Parameters:
    ///   - keys: the keys of `current`, which must open `previous` too.
    ///   - previous: an existing store.
    ///   - logEnd: the number of the last entry of a store's kill log.
    /// - Throws: ``StoreError/Code/moved`` where the two are not the source and the target of one move;
    ///   ``StoreError/Code/unreadable`` where the keys do not open one of them, or it is of another store.
    package init(
        to current: any TokenStore,
        from previous: any TokenStore,
        keys: some KeyRingSource,
        logEnd: @Sendable (SealedRecords) async throws(StoreError) -> UInt64 = { _ in 0 }
    ) async throws(StoreError) {
        let source: OpenedStore
        do throws(StoreError) { source = try await OpenedStore.openExisting(previous, keys: keys) } catch {
            guard error.code == .unreadable else { throw error }
            throw StoreError(
                .unreadable,
                "\(error.message); a store is moved under its own keys: put the lines of the key file of previous behind the "
                    + "first line of the key file of current; martlet store rekey seals anew after the move"
            )
        }
        self.previous = source.records
        let hasCanary = try await current.read(.canary) != nil
        if hasCanary {
            let opened = try await OpenedStore.openExisting(current, keys: keys)
            guard opened.storeID == source.storeID else {
                throw StoreError(
                    .moved,
                    "current is another store already, with tokens of its own: a move needs an empty one"
                )
            }
            self.current = opened.records
        } else {
            self.current = SealedRecords(store: current, keys: source.keys, storeID: source.storeID)
        }
        let places = (current: PlaceVault(self.current), previous: PlaceVault(self.previous))
        let records = source.records
        let from = try await places.previous.readOrMake(.own) { () async throws(StoreError) in try await logEnd(records)
        }
        self.source = from
        self.target = try await places.current.readOrMake(hasCanary ? .own : .prepared(for: from.record.id))
        (self.isCommitted, self.isTurnedAround) = try Self.stage(of: self.target.record, from.record)
        self.isDone = self.isCommitted && self.target.record.stage == .own
        guard !self.isCommitted, !self.isTurnedAround else { return }
        try await self.expectEmpty(places.previous)
    }

    /// Which of the two stores counts, by their place records.
    static func stage(
        of target: StorePlace,
        _ source: StorePlace
    ) throws(StoreError) -> (isCommitted: Bool, isTurnedAround: Bool) {
        // What a target of its own holds may be a copy.
        if target.stage != .own, source.hasForgottenMove(to: target) { return (true, false) }
        switch source.stage {
        case .movedAway(target.id):
            guard target.stage == .movedAway(to: source.id), target.moves > source.moves else { return (true, false) }
            throw StoreError(
                .moved,
                "the records are on their way from current to previous: finish that move first, with the two exchanged"
            )
        case .movedAway:
            throw StoreError(.moved, "the records of previous were moved to a third store")
        case .filling(target.id):
            return (false, true)
        case .filling:
            throw StoreError(
                .moved,
                "previous is itself the target of a move that has not ended; finish that one first"
            )
        case .prepared:
            throw StoreError(.moved, "previous was prepared as the target of a move, and has no records yet")
        case .own:
            switch target.stage {
            // Whatever it was part of before: it must be empty now.
            case .prepared, .movedAway: return (false, false)
            case .own, .filling:
                throw StoreError(
                    .moved,
                    "current has records of this store already, as a copy has: a move needs an empty store, or one that the "
                        + "records were moved from before"
                )
            }
        }
    }

    /// Expects a target without records, but for the kill log: any other record would hide the one that is moved.
    private func expectEmpty(_ places: PlaceVault) async throws(StoreError) {
        var last: RecordKey?
        while true {
            let page = try await self.current.store.records(under: .all, after: last, limit: StoreGuarantees.listing)
            guard let end = page.last?.key else { return }
            last = end
            guard let found = page.first(where: { !$0.key.isPinned }) else { continue }
            // Another replica may have committed the move just now.
            guard try await places.read()?.version == self.source.version else {
                throw StoreError(.unreachable, "another replica goes over to current at this moment; try again")
            }
            throw StoreError(
                .moved,
                "current is not empty, it has \(found.key): what is in there would hide what is moved; empty it first"
            )
        }
    }

    /// Whether `current` alone has all records, so that `previous` is not needed any more.
    package static func isWhole(_ current: any TokenStore, keys: some KeyRingSource) async throws(StoreError) -> Bool {
        guard try await current.read(.canary) != nil else { return false }
        let opened = try await OpenedStore.openExisting(current, keys: keys)
        return try await PlaceVault(opened.records).read()?.record.stage == .own
    }
}

extension OpenedStore {
    /// The place of this copy of the records; `nil` if it never was part of a move.
    ///
    /// - Throws: ``StoreError/Code/moved`` if the store must not be used alone.
    package func wholePlace() async throws(StoreError) -> StorePlace? {
        guard let place = try await StorePlace.read(self.records) else { return nil }
        try place.expectWhole()
        return place
    }
}
