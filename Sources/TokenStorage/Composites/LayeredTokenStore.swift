internal import TokenModel

/// Two stores that together hold one set of records: what the upper one has counts, and the lower one has what was not
/// moved up yet. So a move needs no standstill (``MigratingTokenStore``).
///
/// - A read looks into the upper store, then into the lower one, then into the upper one again. So a record that moves up
///   meanwhile is never missed.
/// - A write or removal first moves the record up (``moveUp(_:)``), and then changes it in the upper store. So the upper
///   store never has a newer version of a record that the lower one still has: a record that a crash has left in both
///   is the same in both, and the move can be turned around.
///
/// A removal is undone by a process that has read the record below before, and copies it up after: it comes back. Only records
/// whose key holds a random id are removed, revocations and the like, and what is done with them may be done twice.
///
/// A few keys are only looked for in the upper store (``RecordKey/isPinned``). A call makes up to ten calls of the two
/// stores, so the caller limits its time.
struct LayeredTokenStore: TokenStore {
    let upper: any TokenStore
    let lower: any TokenStore

    var guarantees: StoreGuarantees { self.upper.guarantees }

    func changes() -> AsyncStream<RecordChange> { self.upper.changes() }

    func read(_ key: RecordKey) async throws(StoreError) -> StoredRecord? {
        if let found = try await self.upper.read(key) { return found }
        guard !key.isPinned else { return nil }
        if let found = try await self.lower.read(key) { return found }
        return try await self.upper.read(key)
    }

    func write(
        _ value: SealedBytes,
        at key: RecordKey,
        as version: Version,
        expecting: Version?
    ) async throws(StoreError) {
        try StoreError.checkWrite(value, at: key, as: version, expecting: expecting)
        try await self.moveUp(key)
        try await self.upper.write(value, at: key, as: version, expecting: expecting)
    }

    func remove(_ key: RecordKey, expecting: Version) async throws(StoreError) {
        try await self.moveUp(key)
        try await self.upper.remove(key, expecting: expecting)
    }

    /// Moves a record from the lower store to the upper one.
    ///
    /// - Returns: whether there was one.
    @discardableResult
    func moveUp(_ key: RecordKey) async throws(StoreError) -> Bool {
        guard !key.isPinned else { return false }
        var wasThere = false
        for _ in 0..<Self.mostTries {
            guard let below = try await self.lower.read(key) else { return wasThere }
            wasThere = true
            try await self.copyUp(below, at: key)
            do throws(StoreError) {
                try await self.lower.remove(key, expecting: below.version)
                return true
            } catch {
                // A replica that was stopped for long has changed it in between: the change moves up too.
                guard error.code == .conflict else { throw error }
                if error.current == nil { return true }
            }
        }
        throw StoreError(.unreachable, "\(key) is changed again and again in the store that it is moved from")
    }

    private func copyUp(_ below: StoredRecord, at key: RecordKey) async throws(StoreError) {
        var expected: Version?
        for _ in 0..<Self.mostTries {
            do throws(StoreError) {
                return try await self.upper.write(below.value, at: key, as: below.version, expecting: expected)
            } catch {
                guard error.code == .conflict else { throw error }
                // It was copied before, and the copy is not older: what is below is what a crash has left.
                if let above = error.current, above.version >= below.version { return }
                expected = error.current?.version
            }
        }
        throw StoreError(.unreachable, "\(key) is changed again and again in the store that it is moved to")
    }

    private static let mostTries = 8

    func records(
        under prefix: RecordKey.Prefix,
        after: RecordKey?,
        limit: Int
    ) async throws(StoreError) -> [KeyedRecord] {
        try StoreError.checkLimit(limit)
        // The lower one first: a record that moves up meanwhile is then on the upper page.
        let below = prefix.isPinned ? [] : try await self.lower.records(under: prefix, after: after, limit: limit)
        let above = try await self.upper.records(under: prefix, after: after, limit: limit)
        guard !below.isEmpty else { return above }
        let page = Self.merged(below, above, limit: limit)
        // All that the lower page had are keys that only the upper store counts for: go on behind them.
        guard page.isEmpty, let end = below.last?.key, Self.mayGoOn(below, limit: limit) else { return page }
        return try await self.records(under: prefix, after: end, limit: limit)
    }

    /// Joins two pages, up to the end of the one behind which there may be more.
    private static func merged(_ below: [KeyedRecord], _ above: [KeyedRecord], limit: Int) -> [KeyedRecord] {
        let end = [below, above].compactMap { Self.mayGoOn($0, limit: limit) ? $0.last?.key : nil }.min()
        var (page, bytes) = ([KeyedRecord](), 0)
        var (lower, upper) = (below[...], above[...])
        while page.count < limit {
            let next: KeyedRecord
            if let first = upper.first, lower.first.map({ first.key <= $0.key }) ?? true {
                next = first
                upper.removeFirst()
                if lower.first?.key == first.key { lower.removeFirst() }
            } else if let first = lower.popFirst() {
                next = first
                guard !first.key.isPinned else { continue }
            } else {
                break
            }
            if let end, end < next.key { break }
            bytes += next.stored.value.bytes.count
            guard page.isEmpty || bytes <= StoreGuarantees.largestPage else { break }
            page.append(next)
        }
        return page
    }

    /// Whether there may be records behind a page. A store ends a page early only because of its bytes, or because it is
    /// as long as any.
    private static func mayGoOn(_ page: [KeyedRecord], limit: Int) -> Bool {
        guard page.count < min(limit, StoreGuarantees.listing) else { return true }
        let bytes = page.reduce(0) { $0 + $1.stored.value.bytes.count }
        return bytes + SealedBytes.maximumCount > StoreGuarantees.largestPage
    }
}

extension RecordKey {
    /// Whether a move does not take the record along like others: the kill log and the record that names the store are
    /// copied before the move, and what belongs to one copy of the records stays there.
    var isPinned: Bool {
        self == .canary || self.staysInItsStore || RecordKey.Prefix.pinned.contains { $0.contains(self) }
    }
}

extension RecordKey.Prefix {
    /// The parts of the kill log. They are copied before the move.
    static let killLog: [RecordKey.Prefix] = [.kills, .killSnapshots]

    fileprivate static let pinned = Self.killLog + [.replicas]

    /// Whether all keys under it are.
    var isPinned: Bool { Self.pinned.contains { self.rawValue.utf8.starts(with: $0.rawValue.utf8) } }
}
