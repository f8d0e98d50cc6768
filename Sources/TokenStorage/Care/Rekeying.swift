internal import TokenModel

/// Changes the key that a store is sealed under, while gateways may run on it.
///
///     lock the key file ──▶ all under its first key? ──yes──▶ add a key, which is durable before it seals anything
///                                   └──no: go on──┐                 │
///                                                 ▼                 ▼
///                                          seal all that is under another key anew
///                                                 ▼
///                             to retire: wait for whoever seals under an old key, look again, drop unused keys
///
/// A gateway looks at the file before each write, and when it meets a key that it does not know (``LiveKeyRing``). So what
/// is written once the file has changed, and a write that had begun has ended, is under the new key. So is what goes into a journal.
package struct Rekeying: ~Copyable {
    /// What came of it.
    package struct Outcome: Sendable {
        /// That seals now.
        package var key: SealingKey.ID
        /// Whether it was drawn for this.
        package var keyAdded: Bool
        package var resealing: Resealing
        /// Keys that are in the file and that no record names.
        package var unused: [SealingKey.ID] = []
        /// Keys that no record names, and that stay for what journals hold.
        package var journalled: [SealingKey.ID] = []
        /// Keys that somebody still sealed records under meanwhile: a gateway that does not go by this file.
        package var lingering: [SealingKey.ID] = []
        /// Keys that were taken out of the file.
        package var retired: [SealingKey.ID] = []
    }

    private let opened: OpenedStore
    private let keys: KeyRingFile
    private let lock: KeyFileLock
    private let stateDirectory: String?
    private let settling: Duration

    /// - Parameters:
    ///   - stateDirectory: whose journals keep the keys that they need.
    ///   - settling: how long a write that had begun may take to end. In that time each gateway also renews its lease,
    ///     and seals its own record anew where that is not under the key that it seals with.
    /// - Throws: where another process changes the keys.
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
    /// - Throws: ``StoreError``, ``KeyRingError``; what was done until then stands, and another run goes on from there.
    package func run(retires: Bool, progress: (Resealing) -> Void = { _ in }) async throws -> Outcome {
        // As it is under the lock.
        var ring = try self.keys.existing() ?? self.opened.keyRing
        let before = try await self.opened.with(ring).survey()
        // One that does not open needs no new key, and must not keep the others from getting one.
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
            // What was written under an old key since. A refresh that has ended meanwhile says nothing: it had the key of
            // its claim.
            let again = try await store.reseal()
            let left = Set(outcome.resealing.left.map(\.record))
            lingering = Set(again.before.filter { !left.contains($0.key) }.values)
            outcome.resealing.resealed += again.resealed
            outcome.resealing.left = again.left
            outcome.resealing.unreadable = again.unreadable
        }
        // Journals first: what is committed meanwhile is among the records then.
        let journals = self.stateDirectory.map { store.surveyJournals(in: $0) } ?? JournalSurvey()
        let used = try await store.survey().byKey
        // All was sealed anew, and yet it is there.
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
    /// The same with other keys of the store.
    package func with(_ keyRing: KeyRing) -> OpenedStore {
        OpenedStore(store: self.store, keyRing: keyRing, storeID: self.storeID)
    }

    /// Opens a store that is there; makes nothing.
    ///
    /// - Throws: as ``open(_:keys:)``; ``StoreError/Code/unreadable`` also where no gateway has used the store yet.
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
    /// Of all keys, the one that seals first.
    package var ids: [SealingKey.ID] { ([self.current] + self.retired).map(\.id) }

    /// Whether it can open what is sealed under that key.
    package func holds(_ id: SealingKey.ID) -> Bool { self.ids.contains(id) }
}

extension SealedBytes {
    /// Which key they say they are sealed under; `nil` for what is no sealed record.
    package var keyID: SealingKey.ID? { try? self.layout().keyID }
}
