package import TokenModel
internal import TokenStorage

/// An entry of the kill log with its number.
package struct NumberedKillEntry: Equatable, Sendable {
    package let epoch: Epoch
    package let entry: KillEntry

    package init(epoch: Epoch, entry: KillEntry) {
        self.epoch = epoch
        self.entry = entry
    }
}

/// The kill log up to one entry, reduced to what still matters.
///
/// Every entry that kills, removes, revives, moves, locks or unlocks is kept with its number. Of the entries that report imports, the last
/// import of each account is kept, without its number. So the size grows with the accounts and the kills, not with the
/// imports.
package struct KillLogSnapshot: Equatable, Sendable {
    /// The entries that are kept, in order, and the last entry, whatever its kind.
    package var entries: [NumberedKillEntry]
    /// For each account, the grant that its last import began.
    package var imports: [AccountID: GrantID]

    package init(entries: [NumberedKillEntry], imports: [AccountID: GrantID]) {
        self.entries = entries
        self.imports = imports
    }

    /// The snapshot of an empty log.
    package static let none = KillLogSnapshot(entries: [], imports: [:])

    /// The number of the last entry that the snapshot covers.
    package var last: Epoch { self.entries.last?.epoch ?? .start }

    fileprivate subscript(epoch: Epoch) -> KillEntry? {
        var (low, high) = (0, self.entries.count)
        while low < high {
            let middle = (low + high) / 2
            if self.entries[middle].epoch < epoch { low = middle + 1 } else { high = middle }
        }
        return low < self.entries.count && self.entries[low].epoch == epoch ? self.entries[low].entry : nil
    }
}

/// A whole kill log: a snapshot of its beginning, if there is one, and every entry behind that.
package struct KillLogContents: Equatable, Sendable {
    package private(set) var snapshot: KillLogSnapshot
    /// The first is the entry right behind the snapshot's last.
    package private(set) var entries: [KillEntry]
    /// The last move to another store.
    package private(set) var lastMove: NumberedKillEntry?
    /// The last entry that begins or ends a lock.
    private var lastOfLock: NumberedKillEntry?

    package init(snapshot: KillLogSnapshot = .none, entries: [KillEntry] = []) {
        self.snapshot = snapshot
        self.entries = entries
        self.lastMove = self.last { $0.kind == .moved }
        self.lastOfLock = self.last(where: \.concernsLock)
    }

    /// The lock that no later entry ends.
    package var standingLock: NumberedKillEntry? { self.lastOfLock.flatMap { $0.entry.kind == .locked ? $0 : nil } }

    /// The number of the last entry.
    package var last: Epoch { Epoch(self.snapshot.last.rawValue + UInt64(self.entries.count)) }

    package var lastEntry: KillEntry? { self.entries.last ?? self.snapshot.entries.last?.entry }

    /// The entry of that number; `nil` where it is unknown.
    package subscript(epoch: Epoch) -> KillEntry? {
        guard epoch > self.snapshot.last else { return self.snapshot[epoch] }
        let index = Int(epoch.rawValue - self.snapshot.last.rawValue) - 1
        return self.entries.indices.contains(index) ? self.entries[index] : nil
    }

    /// The known entries behind `last`, in order.
    package func numbered(behind last: Epoch = .start) -> [NumberedKillEntry] {
        let first = self.snapshot.last.rawValue
        let known = last.rawValue > first ? Int(clamping: last.rawValue - first) : 0
        let tail = self.entries.indices.dropFirst(known).map { index in
            NumberedKillEntry(epoch: Epoch(first + UInt64(index) + 1), entry: self.entries[index])
        }
        // Nearly always the whole snapshot is known already.
        return last >= self.snapshot.last ? tail : self.snapshot.entries.filter { $0.epoch > last } + tail
    }

    /// The last known entry that matches.
    package func last(where matches: (KillEntry) -> Bool) -> NumberedKillEntry? {
        guard let index = self.entries.lastIndex(where: matches) else {
            return self.snapshot.entries.last { matches($0.entry) }
        }
        return NumberedKillEntry(
            epoch: Epoch(self.snapshot.last.rawValue + UInt64(index) + 1),
            entry: self.entries[index]
        )
    }

    /// The last entries that have records of their own in the store, `count` at most.
    package func lastEntries(_ count: UInt64) -> [NumberedKillEntry] {
        let (last, folded) = (self.last.rawValue, self.snapshot.last.rawValue)
        return self.numbered(behind: Epoch(max(last - min(count, last), max(folded, 1) - 1)))
    }

    /// Whether the entry is among the known ones.
    package func contains(_ id: KillID) -> Bool {
        self.entries.contains { $0.id == id } || self.snapshot.entries.contains { $0.entry.id == id }
    }

    /// For each account, the grant that its last import began.
    package var imports: [AccountID: GrantID] {
        var imports = self.snapshot.imports
        for replacement in self.entries.lazy.flatMap(\.replacements) {
            imports[replacement.account] = replacement.grant
        }
        return imports
    }

    package mutating func append(_ entries: some Collection<KillEntry>) {
        var epoch = self.last
        self.entries += entries
        for entry in entries {
            epoch = epoch.next
            if entry.kind == .moved { self.lastMove = NumberedKillEntry(epoch: epoch, entry: entry) }
            if entry.concernsLock { self.lastOfLock = NumberedKillEntry(epoch: epoch, entry: entry) }
        }
    }

    /// The log of one store: without what stands behind a move to another store, which was written too late.
    package func ofStore(_ home: KillMachine.Home) -> KillLogContents {
        guard let move = self.lastMove, !home.holds(after: move), move.epoch < self.last,
            move.epoch >= self.snapshot.last
        else { return self }
        let count = Int(move.epoch.rawValue - self.snapshot.last.rawValue)
        return KillLogContents(snapshot: self.snapshot, entries: Array(self.entries.prefix(count)))
    }

    /// Whether both can be parts of one log: no number has two different entries.
    package func agrees(with other: KillLogContents) -> Bool {
        let end = min(self.last, other.last)
        return self.holds(other, until: end) && other.holds(self, until: end)
    }

    /// Whether it has all entries of `other` up to `end`, except those that a snapshot leaves out.
    private func holds(_ other: KillLogContents, until end: Epoch) -> Bool {
        other.numbered().prefix { $0.epoch <= end }.allSatisfy { known in
            guard let own = self[known.epoch] else {
                return known.epoch <= self.snapshot.last && known.entry.kind == .replaced
            }
            return own.standsFor(known.entry)
        }
    }

    /// The same log with a snapshot up to `epoch`. Where the present snapshot reaches further, the log is unchanged.
    package func folded(upTo epoch: Epoch) -> KillLogContents {
        guard epoch > self.snapshot.last, let anchor = self[epoch] else { return self }
        let count = Int(epoch.rawValue - self.snapshot.last.rawValue)
        let head = KillLogContents(snapshot: self.snapshot, entries: Array(self.entries.prefix(count)))
        var kept = head.numbered().filter { $0.entry.outlivesFolding && $0.epoch != epoch }
        kept.append(NumberedKillEntry(epoch: epoch, entry: anchor))
        return KillLogContents(
            snapshot: KillLogSnapshot(entries: kept, imports: head.imports),
            entries: Array(self.entries.dropFirst(count))
        )
    }
}
