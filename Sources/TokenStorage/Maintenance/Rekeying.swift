package import TokenModel

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
///
/// On a store that several hosts share, each host has a file of its own. There the key of the canary seals, and a change
/// has two phases:
///
///     add a key to this host's file ──▶ do all replicas have it? ──no──▶ stop; the operator copies the file
///                                                 └──yes──▶ put the canary under it ──▶ wait until all seal under it
///                                                                                          └──▶ reseal, as above
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
        /// The replicas that do not have the new key yet, so that nothing was resealed, or that do not seal under it yet, so
        /// that no key was retired.
        package var missingAt: [String] = []
        /// Keys that were removed from the file.
        package var retired: [SealingKey.ID] = []
    }

    private let opened: OpenedStore
    private let keys: KeyRingFile
    private let lock: KeyFileLock
    private let stateDirectory: String?
    private let settling: Duration
    private let replicas: Replicas
    private let timepiece: Timepiece

    /// The replicas of a store that several hosts share, by name.
    package struct Replicas: Sendable {
        let without: @Sendable (SealingKey.ID) async throws(StoreError) -> [String]
        let notSealing: @Sendable (SealingKey.ID) async throws(StoreError) -> [String]

        /// - Parameters:
        ///   - without: those that do not have a key.
        ///   - notSealing: those that seal under another key.
        package init(
            without: @escaping @Sendable (SealingKey.ID) async throws(StoreError) -> [String] = { _ in [] },
            notSealing: @escaping @Sendable (SealingKey.ID) async throws(StoreError) -> [String] = { _ in [] }
        ) {
            self.without = without
            self.notSealing = notSealing
        }
    }

    /// - Parameters:
    ///   - stateDirectory: the `state_dir` whose journals may still need keys.
    ///   - settling: how long a write that has begun may take to end. In that time each gateway also renews its lease,
    ///     and reseals its own replica record if that is under another key than the one it seals with.
    /// - Throws: if another process is changing the keys.
    package init(
        _ opened: OpenedStore,
        keys: KeyRingFile,
        journalsIn stateDirectory: String? = nil,
        settling: Duration = .seconds(10),
        replicas: Replicas = Replicas(),
        timepiece: Timepiece = .system
    ) throws(KeyRingError) {
        self.opened = opened
        self.keys = keys
        self.lock = try KeyFileLock(for: keys.name)
        self.stateDirectory = stateDirectory
        self.settling = settling
        self.replicas = replicas
        self.timepiece = timepiece
    }

    /// - Parameter retires: add no key, and drop those that are not needed.
    /// - Throws: ``StoreError``, ``KeyRingError``. The work done until then stays, and another run continues from
    ///   there.
    package func run(retires: Bool, progress: (Resealing) -> Void = { _ in }) async throws -> Outcome {
        // Read again under the lock.
        var ring = try self.keys.existing() ?? self.opened.keyRing
        let isShared = self.opened.store.guarantees.reach == .network
        if isShared { try await self.opened.checkOrder(of: ring, in: self.keys.name) }
        // A new key that not all replicas have yet seals nothing.
        let waiting = isShared && retires ? ring.current.id : nil
        if isShared, retires { ring = ring.sealing(under: self.opened.keyRing.current.id) }
        let before = try await self.opened.with(ring).survey()
        // A record that does not open needs no new key, and must not prevent a new key for the others.
        let isDone = before.openedByKey.keys.allSatisfy { $0 == ring.current.id }
        let adds = isDone && !retires
        if adds { ring = try self.keys.add(.random()) }
        let store = self.opened.with(ring)
        var outcome = Outcome(key: ring.current.id, keyAdded: adds, resealing: Resealing())
        if isShared, !retires {
            outcome.missingAt = try await self.wait(ring.current.id, self.replicas.without)
            guard outcome.missingAt.isEmpty else { return outcome }
            if try await store.resealCanary() { try await self.rest(self.settling) }
        }
        outcome.resealing = try await store.reseal(progress: progress)
        var lingering: Set<SealingKey.ID> = []
        if retires, ring.ids.count > 1 {
            try await self.rest(self.settling)
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
        let unnamed = ring.retired.map(\.id).filter { id in
            used[id] == nil && !lingering.contains(id) && id != waiting
        }
        outcome.journalled = unnamed.filter(journals.mayNeed)
        outcome.unused = unnamed.filter { !journals.mayNeed($0) }
        // A replica that is cut off may still write under an old key when it is back.
        if isShared, retires { outcome.missingAt = try await self.wait(ring.current.id, self.replicas.notSealing) }
        if retires, !outcome.unused.isEmpty, outcome.missingAt.isEmpty {
            _ = try self.keys.drop(Set(outcome.unused))
            outcome.retired = outcome.unused
            outcome.unused = []
        }
        return outcome
    }
}

extension Rekeying {
    /// Waits until no replica lacks something. Those that share this host's file read it by themselves.
    ///
    /// - Returns: the names of those that lack it after a while.
    private borrowing func wait(
        _ key: SealingKey.ID,
        _ lacking: @Sendable (SealingKey.ID) async throws(StoreError) -> [String]
    ) async throws -> [String] {
        let deadline = self.timepiece.now.boot.advanced(by: self.settling)
        while true {
            let missing = try await lacking(key)
            guard !missing.isEmpty, self.timepiece.now.boot < deadline else { return missing }
            try await self.rest(.milliseconds(250))
        }
    }

    private borrowing func rest(_ duration: Duration) async throws {
        await self.timepiece.rest(until: self.timepiece.now.boot.advanced(by: duration))
        try Task.checkCancellation()
    }
}

extension OpenedStore {
    /// - Throws: if the first key of the file was replaced before, so that it is not the next one.
    fileprivate func checkOrder(of ring: KeyRing, in file: String) async throws {
        guard let stored = try await self.store.read(.canary) else { return }
        let canary = try Canary(opening: stored, with: ring)
        guard canary.formerKeys.contains(ring.current.id.description) else { return }
        throw KeyRingError(
            .malformed,
            "the first key in \(file), \(ring.current.id), was replaced before: put the line of key "
                + "\(self.keyRing.current.id), which seals now, before it"
        )
    }

    /// Puts the canary under the key that seals here: from now on the replicas seal under it too.
    ///
    /// - Returns: whether it was under another key.
    fileprivate func resealCanary() async throws(StoreError) -> Bool {
        guard let stored = try await self.store.read(.canary), self.keyRing.sealsAnew(stored.value) else {
            return false
        }
        var canary = try Canary(opening: stored, with: self.keyRing)
        if let former = stored.value.keyID { canary.formerKeys = canary.formerKeys.suffix(31) + [former.description] }
        let version = self.store.guarantees.version(behind: stored.version)
        let sealed = try canary.sealed(with: self.keyRing, as: version)
        try await self.store.write(sealed, at: .canary, as: version, expecting: stored.version)
        return true
    }

    /// The same store with other keys.
    package func with(_ keyRing: KeyRing) -> OpenedStore {
        OpenedStore(store: self.store, keyRing: keyRing, storeID: self.storeID)
    }

    /// Opens an existing store. Creates nothing.
    ///
    /// - Throws: as ``open(_:keys:)``; ``StoreError/Code/unreadable`` also if no gateway has used the store yet.
    package static func openExisting(
        _ store: any TokenStore,
        keys: some KeyRingSource,
        mirror: MirrorTreatment = .refuse
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
        return try await Self.open(store, keys: keys, mirror: mirror)
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
