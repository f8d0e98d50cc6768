internal import TokenModel

/// One mirror of a ``MirroringTokenStore``, and the work on it.
struct Mirror: Sendable {
    /// A write or removal that the primary has acknowledged.
    struct Change: Sendable {
        let key: RecordKey
        /// The record that was written; `nil` if it was removed.
        let record: StoredRecord?
        let expecting: Version?
    }

    let status: MirrorStatus
    private let primary: any TokenStore
    private let store: any TokenStore
    private let inspection: MirrorInspection
    private let synchronizer: RecordSynchronizer

    init(
        _ status: MirrorStatus,
        store target: any TokenStore,
        of primary: any TokenStore,
        keys: (any KeyRingSource)?
    ) {
        let store = FailureNotingTokenStore(target) { _, isWrite in status.failed(isWrite: isWrite) }
        let inspection = MirrorInspection(of: store, for: primary, keys: keys)
        self.status = status
        self.primary = primary
        self.store = store
        self.inspection = inspection
        self.synchronizer = RecordSynchronizer(from: primary, to: store) { () async throws(StoreError) in
            guard let id = status.markID, try await !inspection.isMirror(id) else { return }
            status.update { progress, _ in progress.promoted() }
            throw StoreError(.outdated, "mirror \(status.name) is a store of its own by now")
        }
    }

    // MARK: - Single records

    /// What becomes of a write at `key`.
    func route(_ key: RecordKey) -> MirrorProgress.Route {
        self.status.update { progress, _ in progress.route(key) }
    }

    /// Makes the change of the primary here too. Returns also if the mirror has failed, which its status then says.
    func apply(_ change: Change) async {
        do throws(StoreError) {
            do throws(StoreError) {
                if let record = change.record {
                    try await self.store.write(
                        record.value,
                        at: change.key,
                        as: record.version,
                        expecting: change.expecting
                    )
                } else if let expecting = change.expecting {
                    try await self.store.remove(change.key, expecting: expecting)
                }
            } catch {
                guard error.code == .conflict else { throw error }
                guard error.current != change.record else { return }
                // Another change of the record was faster here.
                try await self.synchronizer.synchronize(change.key)
            }
        } catch {
            self.doubt()
        }
    }

    /// Looks at the primary after a change was applied: the record may have changed again meanwhile, and whoever changed
    /// it may have been faster here.
    func follow(_ change: Change) async {
        do throws(StoreError) {
            guard try await self.primary.read(change.key) != change.record else { return }
        } catch {
            return self.doubt()
        }
        await self.synchronize(change.key)
    }

    /// Makes the record at `key` that of the primary, whatever has become of it there.
    func synchronize(_ key: RecordKey) async {
        do throws(StoreError) {
            try await self.synchronizer.synchronize(key)
        } catch {
            self.doubt()
        }
    }

    /// A comparison is needed soon.
    func doubt() { self.status.update { $0.doubt(at: $1) } }

    // MARK: - All records

    /// Compares this mirror with the primary whenever that is due. Returns when its task is cancelled.
    func keepComparing() async {
        while await self.status.wait(for: { $0.comparisonDue(at: $1) }) {
            self.status.update { $0.beginComparison(at: $1) }
            do throws(StoreError) {
                try await self.compare()
            } catch {
                self.status.update { $0.comparisonFailed(at: $1) }
            }
        }
    }

    private func compare() async throws(StoreError) {
        guard let mark = try await self.inspect() else { return }
        let version = try await self.prepareMark(mark)
        let synchronizer = self.synchronizer
        let update: @Sendable (RecordKey) async throws(StoreError) -> Void = { key throws(StoreError) in
            try await synchronizer.synchronize(key)
        }
        // A mirror that has records and no canary can't be told from another store.
        try await update(.canary)
        var batch = CallBatch(update)
        let comparison = RecordComparison(of: self.store, with: self.primary)
        try await comparison.forEachDifference(under: .all, leavingOut: \.staysInItsStore) {
            (found) async throws(StoreError) in
            try await batch.add(found.key)
        }
        try await batch.finish()
        // What was written meanwhile. Few are left after some rounds, and writes of these wait for the mirror again.
        for _ in 0..<Self.rounds {
            let noted = self.status.update { progress, _ in progress.takeNoted() }
            guard !noted.isEmpty else { break }
            try await ConcurrentCalls.forEach(noted, update)
        }
        guard let left = self.status.update({ $0.endComparison(at: $1) }) else { return }
        do throws(StoreError) {
            try await ConcurrentCalls.forEach(left, update)
        } catch {
            return self.status.failed(isWrite: true)
        }
        try await self.completeMark(version)
    }

    private static let rounds = 8

    // MARK: - The mark

    /// Checks that this is a mirror of the primary, and writes the mark if it has none yet.
    ///
    /// - Returns: the mark; `nil` if nothing may be written to the mirror, which its status then says.
    func inspect() async throws(StoreError) -> MirrorMark.Entry? {
        switch try await self.inspection.run(knowing: self.status.markID) {
        case .mirror(let entry):
            self.status.markID = entry.mark.id
            self.status.update { $0.accepted(at: $1) }
            return entry
        case .promoted:
            self.status.update { progress, _ in progress.promoted() }
            return nil
        case .refused(let error):
            self.status.update { $0.refused(error.message, at: $1) }
            return nil
        }
    }

    /// - Returns: why nothing may be written to the mirror; `nil` if it is a mirror or can't be reached now.
    func refusal() async throws(StoreError) -> StoreError? {
        do throws(StoreError) {
            guard try await self.inspect() == nil, case .refused(let reason) = self.status.state.phase else {
                return nil
            }
            return StoreError(.unreadable, "mirror \(self.status.name): \(reason)")
        } catch {
            guard error.code == .unreachable else { throw error }
            return nil
        }
    }

    /// Lets the mark of a mirror that is behind say so before the first record is written.
    ///
    /// - Returns: the version of the mark that a complete one replaces.
    private func prepareMark(_ entry: MirrorMark.Entry) async throws(StoreError) -> Version {
        guard self.status.state.phase != .upToDate, entry.mark.state == .complete else { return entry.version }
        return try await self.write(.behind, over: entry)?.version ?? entry.version
    }

    /// Lets the mark say that the mirror is complete, unless another gateway has found it behind since `version`.
    private func completeMark(_ version: Version) async throws(StoreError) {
        guard let entry = try await self.ownMark() else { return }
        guard entry.version == version || entry.mark.state == .complete else { return self.doubt() }
        guard let now = try await self.write(.complete, over: entry) else { return }
        guard now.mark.state == .complete else { return self.doubt() }
        self.status.update { $0.confirmed(at: $1) }
    }

    /// Writes the mark whenever that is due. Returns when its task is cancelled.
    func keepMarking() async {
        while await self.status.wait(for: { $0.refreshDue(at: $1) }) { await self.refreshMark() }
    }

    /// Lets the mark say when the mirror was complete, or that it is behind.
    func refreshMark() async {
        let isComplete = self.status.update { $0.beginRefresh(at: $1) }
        do throws(StoreError) {
            guard let entry = try await self.ownMark() else { return }
            guard isComplete else {
                _ = try await self.write(.behind, over: entry)
                return
            }
            // Another gateway has found the mirror behind: it is complete after a comparison.
            guard entry.mark.state == .complete else { return self.doubt() }
            guard try await self.write(.complete, over: entry)?.mark.state == .complete else { return }
            self.status.update { $0.confirmed(at: $1) }
        } catch {
            // The status says that the mirror has failed.
        }
    }

    /// The mark, if it is the one that the mirror has had. Otherwise somebody has started from the mirror.
    private func ownMark() async throws(StoreError) -> MirrorMark.Entry? {
        guard let id = self.status.markID else { return nil }
        if let entry = try await MirrorMark.read(in: self.store), entry.mark.isOfMirror(id) { return entry }
        self.status.update { progress, _ in progress.promoted() }
        return nil
    }

    /// - Returns: the mark that is there then; `nil` if the mirror is a store of its own by now.
    private func write(
        _ state: MirrorMark.State,
        over entry: MirrorMark.Entry
    ) async throws(StoreError) -> MirrorMark.Entry? {
        var mark = entry.mark
        var version = entry.version
        for _ in 0..<Self.rounds {
            mark.state = state
            if state == .complete { mark.completeAt = self.status.now.wall }
            let found = try await mark.write(in: self.store, expecting: version)
            guard let found, found.mark.isOfMirror(entry.mark.id) else {
                self.status.update { progress, _ in progress.promoted() }
                return nil
            }
            // Another gateway was faster. A complete mark gives way to any other; one that is behind does not.
            if found.mark == mark || state == .complete { return found }
            mark = found.mark
            version = found.version
        }
        return MirrorMark.Entry(mark: mark, version: version)
    }
}
