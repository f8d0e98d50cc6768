internal import TokenModel

/// Changes the key that a store is sealed under. Gateways may run on the store meanwhile.
///
///     lock the key file ──▶ all under its first key? ──yes──▶ add a key, which is durable before it seals anything
///                                   └──no─────────┐                 │
///                                                 ▼                 ▼
///                                          reseal every record that is under another key
///                                                 ▼
///                             to retire: wait for writes under an old key, check again, drop unused keys
///
/// A gateway checks the key file before each write, and whenever it meets an unknown key (``LiveKeyRing``). So every
/// write that begins after the file has changed is under the new key, and so is every journal entry.
package struct Rekeying: ~Copyable {
    /// The result of a run.
    package struct Outcome: Sendable {
        /// The key that seals now.
        package var key: SealingKey.ID
        /// Whether this run drew the key.
        package var keyAdded: Bool
        package var resealing: Resealing
        /// Keys that are in the file and that no record uses.
        package var unused: [SealingKey.ID] = []
        /// Keys that no record uses, kept because journals need them.
        package var journalled: [SealingKey.ID] = []
        /// Old keys under which a gateway has sealed records during the run: that gateway does not use this key file.
        package var lingering: [SealingKey.ID] = []
        /// Keys that were removed from the file.
        package var retired: [SealingKey.ID] = []
    }

    private let opened: OpenedStore
    private let keys: KeyRingFile
    private let lock: KeyFileLock
    private let stateDirectory: String?
    private let settling: Duration

    /// - Parameters:
    ///   - stateDirectory: the `state_dir` whose journals may still need keys.
    ///   - settling: how long a write that has begun may take to end. In that time each gateway also renews its lease,
    ///     and reseals its own replica record if that is under another key than the one it seals with.
    /// - Throws: if another process is changing the keys.
    package init(
        _ opened: OpenedStore,
        keys: KeyRingFile,
        journalsIn stateDirectory: String? = nil,
        settling: Duration = .seconds(10)
    ) throws(KeyRingError) {
        self.opened = opened
        self.keys = keys
        self.lock = try KeyFileLock(for: keys.name)
        self.stateDirectory = stateDirectory
        self.settling = settling
    }

    /// - Parameter retires: add no key, and drop those that are not needed.
    /// - Throws: ``StoreError``, ``KeyRingError``. The work done until then stays, and another run continues from
    ///   there.
    package func run(retires: Bool, progress: (Resealing) -> Void = { _ in }) async throws -> Outcome {
        // Read again under the lock.
        var ring = try self.keys.existing() ?? self.opened.keyRing
        let before = try await self.opened.with(ring).survey()
        // A record that does not open needs no new key, and must not prevent a new key for the others.
        let isDone = before.openedByKey.keys.allSatisfy { $0 == ring.current.id }
        let adds = isDone && !retires
        if adds { ring = try self.keys.add(.random()) }
        let store = self.opened.with(ring)
        var outcome = Outcome(
            key: ring.current.id,
            keyAdded: adds,
            resealing: try await store.reseal(progress: progress)
        )
        var lingering: Set<SealingKey.ID> = []
        if retires, ring.ids.count > 1 {
            try await Task.sleep(for: self.settling, clock: .continuous)
            // Reseal what was written under an old key since. A refresh that ended meanwhile is no evidence of a
            // lingering key: it used the key of its claim.
            let again = try await store.reseal()
            let left = Set(outcome.resealing.left.map(\.record))
            lingering = Set(again.before.filter { !left.contains($0.key) }.values)
            outcome.resealing.resealed += again.resealed
            outcome.resealing.left = again.left
            outcome.resealing.unreadable = again.unreadable
        }
        // Journals first: an entry that is committed meanwhile is then found among the records.
        let journals = self.stateDirectory.map { store.surveyJournals(in: $0) } ?? JournalSurvey()
        let used = try await store.survey().byKey
        // Everything was resealed, and yet a record uses an old key.
        if retires, outcome.resealing.isComplete { lingering.formUnion(used.keys) }
        outcome.lingering = ring.retired.map(\.id).filter(lingering.contains)
        let unnamed = ring.retired.map(\.id).filter { used[$0] == nil && !lingering.contains($0) }
        outcome.journalled = unnamed.filter(journals.mayNeed)
        outcome.unused = unnamed.filter { !journals.mayNeed($0) }
        if retires, !outcome.unused.isEmpty {
            _ = try self.keys.drop(Set(outcome.unused))
            outcome.retired = outcome.unused
            outcome.unused = []
        }
        return outcome
    }
}

extension OpenedStore {
    /// The same store with other keys.
    package func with(_ keyRing: KeyRing) -> OpenedStore {
        OpenedStore(store: self.store, keyRing: keyRing, storeID: self.storeID)
    }

    /// Opens an existing store. Creates nothing.
    ///
    /// - Throws: as ``open(_:keys:)``; ``StoreError/Code/unreadable`` also if no gateway has used the store yet.
    package static func openExisting(
        _ store: any TokenStore,
        keys: some KeyRingSource
    ) async throws(StoreError) -> OpenedStore {
        guard try await store.read(.canary) != nil else {
            let isEmpty = try await store.records(under: .all, after: nil, limit: 1).isEmpty
            throw StoreError(
                .unreadable,
                isEmpty
                    ? "the store holds nothing yet; it is made when a gateway first starts"
                    : "the store holds records and no canary, the record that names it; restore the store from a backup"
            )
        }
        return try await Self.open(store, keys: keys)
    }
}

extension KeyRing {
    /// The ids of all keys, beginning with the one that seals.
    package var ids: [SealingKey.ID] { ([self.current] + self.retired).map(\.id) }

    /// Whether the ring can open records sealed under that key.
    package func holds(_ id: SealingKey.ID) -> Bool { self.ids.contains(id) }
}

extension SealedBytes {
    /// The id of the key that these bytes name; `nil` if they are not a sealed record.
    package var keyID: SealingKey.ID? { try? self.layout().keyID }
}
