internal import TokenModel

/// Copies all records of a store to another one, of any two drivers.
///
///     check the target ──▶ the canary ──▶ compare ──▶ write what differs, remove what the source has not
///                                                            └──▶ compare again, and open every record of the target
///
/// The records stay as they are, sealed and with their versions. So the target is the same store, and its keys must open
/// what the source's keys sealed. A second run copies only what the first one has not.
///
/// No gateway may run on either store meanwhile. What the source's gateways write during the copy is found when it is
/// verified.
package struct StoreCopying: Sendable {
    /// The result of a run.
    package struct Outcome: Equatable, Sendable {
        /// The records of the source, without those that are about one copy only.
        package internal(set) var records = 0
        /// The records that this run has written to the target.
        package internal(set) var copied = 0
        /// The records that the target had from an earlier copy and the source has no longer.
        package internal(set) var removed = 0
        /// The records that are equal in both stores and open with the target's keys.
        package internal(set) var verified = 0
        /// Records that open with neither store's keys. They were copied as they are.
        package internal(set) var unreadable: [StoreSurvey.Finding] = []
        /// Records that open with the source's keys and not with the target's.
        package internal(set) var locked: [StoreSurvey.Finding] = []
        /// The keys at which the stores differ again, because something else writes to one of them.
        package internal(set) var changed: [RecordKey] = []

        /// Whether gateways can go on with the target. A record that did not open before does not count.
        package var isComplete: Bool { self.locked.isEmpty && self.changed.isEmpty }
    }

    /// What a run does.
    package enum Step: Sendable { case copying, verifying }

    private let source: OpenedStore
    private let target: any TokenStore
    private let keys: any KeyRingSource

    /// - Parameters:
    ///   - target: a new store, or one with an earlier copy of the source.
    ///   - keys: those of the target.
    package init(from source: OpenedStore, to target: any TokenStore, keys: any KeyRingSource) {
        self.source = source
        self.target = target
        self.keys = keys
    }

    /// Copies and verifies.
    ///
    /// - Parameter progress: called with the number of records of the source that a step has passed.
    /// - Throws: ``StoreError/Code/unreadable`` if the target's keys do not open the source's canary, or the target holds
    ///   another store; ``StoreError/Code/outdated`` if it is a mirror; ``StoreError/Code/invalid`` if both are the same
    ///   store; any error of a store. What was copied until then stays, and another run goes on from there.
    package func run(
        progress: (Step, Int) -> Void = { _, _ in }
    ) async throws(StoreError) -> Outcome {
        let keyRing = try await self.checkTarget()
        try await self.expectUnused()
        var outcome = Outcome()
        try await self.copy(&outcome) { progress(.copying, $0) }
        let opened = OpenedStore(store: self.target, keyRing: keyRing, storeID: self.source.storeID)
        try await self.verify(opened, &outcome) { progress(.verifying, $0) }
        return outcome
    }

    // MARK: - The target

    /// - Returns: the keys of the target.
    private func checkTarget() async throws(StoreError) -> KeyRing {
        let keyRing = try await self.targetKeys()
        if let refusal = try await MirrorMark.read(in: self.target)?.mark.refusal { throw refusal }
        let places = (try await self.source.store.read(.place), try await self.target.read(.place))
        guard places.0 == nil || places.0 != places.1 else {
            throw StoreError(.invalid, "both configurations name the same store")
        }
        if let stored = try await self.target.read(.canary) {
            let canary: Canary
            do throws(StoreError) {
                canary = try Canary(opening: stored, with: keyRing)
            } catch {
                throw StoreError(
                    .unreadable,
                    "the target holds a store that does not open with \(self.keys.name): copy into an empty store"
                )
            }
            guard canary.storeID == self.source.storeID else {
                throw StoreError(.unreadable, "the target holds another store: copy into an empty one")
            }
        } else {
            try await self.expectEmptyTarget()
        }
        return keyRing
    }

    /// Expects a target that no gateway has written to. What it has written is newer than what would be copied over it.
    private func expectUnused() async throws(StoreError) {
        let comparison = RecordComparison(of: self.target, with: self.source.store)
        let lastKill = RecordKey.kill(try await NumberedLog(self.source.records, under: .kills).lastNumber())
        let lastAudit = RecordKey.audit(try await NumberedLog(self.source.records, under: .audit).lastNumber())
        try await comparison.forEachDifference(under: .all, leavingOut: \.staysInItsStore) {
            difference throws(StoreError) in
            guard let there = difference.target, difference.source.map({ there.version >= $0.version }) ?? true else {
                return
            }
            // What the source has removed since an earlier copy is no use of the target. Logs only lose their beginning.
            let isLater =
                RecordKey.Prefix.kills.contains(difference.key) && lastKill < difference.key
                || RecordKey.Prefix.audit.contains(difference.key) && lastAudit < difference.key
            guard difference.source != nil || !difference.key.mayBeRemoved || isLater else { return }
            throw StoreError(
                .invalid,
                "gateways have used the target since it was copied, \(difference.key) is newer there: a copy would put dead "
                    + "tokens in place of living ones; to copy all the same, empty the target first"
            )
        }
    }

    private func expectEmptyTarget() async throws(StoreError) {
        let found = try await self.target.records(under: .all, after: nil, limit: 2)
        guard found.allSatisfy(\.key.staysInItsStore) else {
            throw StoreError(
                .unreadable,
                "the target holds records and no canary, the record that names a store: copy into an empty store"
            )
        }
    }

    private func targetKeys() async throws(StoreError) -> KeyRing {
        let advice =
            "put the lines of the source's key file behind the first line of \(self.keys.name); martlet store rekey seals all "
            + "records under the first one afterwards"
        let existing: KeyRing?
        do throws(KeyRingError) { existing = try self.keys.existing() } catch {
            throw StoreError(.unreadable, "no sealing key for the target: \(error.message)")
        }
        guard let keyRing = existing else {
            throw StoreError(
                .unreadable,
                "the target has no sealing key in \(self.keys.name): copy the source's key file there"
            )
        }
        guard let stored = try await self.source.store.read(.canary) else {
            throw StoreError(.unreadable, "the source has no canary, the record that names a store")
        }
        guard (try? Canary(opening: stored, with: keyRing)) != nil else {
            throw StoreError(.unreadable, "the keys in \(self.keys.name) do not open what the source holds: \(advice)")
        }
        return keyRing
    }

    // MARK: - The steps

    private func copy(_ outcome: inout Outcome, progress: (Int) -> Void) async throws(StoreError) {
        let target = self.target
        let synchronizer = RecordSynchronizer(from: self.source.store, to: target) { () async throws(StoreError) in }
        // A target with records and no canary can't be told from another store, so a run that is cut short could not be
        // continued.
        try await synchronizer.synchronize(.canary)
        var batch = CallBatch<RecordDifference> { difference throws(StoreError) in
            guard difference.target == nil, let record = difference.source else {
                return try await synchronizer.synchronize(difference.key)
            }
            try await target.write(record.value, at: difference.key, as: record.version, expecting: nil)
        }
        let comparison = RecordComparison(of: target, with: self.source.store)
        try await comparison.forEachDifference(under: .all, leavingOut: \.staysInItsStore, compared: progress) {
            (found) async throws(StoreError) in
            if found.source == nil { outcome.removed += 1 } else { outcome.copied += 1 }
            try await batch.add(found)
        }
        try await batch.finish()
    }

    private func verify(
        _ opened: OpenedStore,
        _ outcome: inout Outcome,
        progress: (Int) -> Void
    ) async throws(StoreError) {
        let comparison = RecordComparison(of: self.target, with: self.source.store)
        var changed: Set<RecordKey> = []
        try await comparison.forEachDifference(under: .all, leavingOut: \.staysInItsStore) { changed.insert($0.key) }
        outcome.changed = changed.sorted()
        try await self.target.forEachRecord(under: .all) { (found) async throws(StoreError) in
            guard !found.key.staysInItsStore, !changed.contains(found.key) else { return }
            outcome.records += 1
            do throws(StoreError) {
                _ = try opened.opened(found.stored, at: found.key)
                outcome.verified += 1
            } catch {
                let finding = StoreSurvey.Finding(record: found.key, reason: error.message)
                let opensAtSource = (try? self.source.opened(found.stored, at: found.key)) != nil
                if opensAtSource { outcome.locked.append(finding) } else { outcome.unreadable.append(finding) }
            }
            progress(outcome.records)
        }
    }
}
