package import TokenModel
internal import TokenStorage

/// The kill log by which this process has fenced itself: folded into epochs, with the kills in the log and the pending
/// kills.
package struct FencedLog: Sendable {
    /// A kill, a lock, or a move to another store, that is in the log.
    package struct Kill: Sendable {
        package let epoch: Epoch
        package let entry: KillEntry
        /// Its scope was already killed.
        package let wasKilled: Bool
        package var watch: KillWatch?
        package var draining = 0
        package var isEnded = false
    }

    /// An account's last import, as the log reports it.
    package struct Import: Sendable {
        /// What it began.
        package let grant: GrantID
        /// The number of its entry; that of the last entry that a snapshot contains, if it is in there.
        package let epoch: Epoch

        package init(grant: GrantID, epoch: Epoch) { (self.grant, self.epoch) = (grant, epoch) }
    }

    /// The kills that this process has fenced itself against.
    package private(set) var epochs = KillEpochs()
    /// The log that ``epochs`` is folded from.
    package private(set) var contents = KillLogContents()
    package private(set) var kills: [Kill] = []
    /// Kills that may not be in the log yet.
    package private(set) var pendingKills: [PendingKill] = []
    /// The last import of each account.
    package private(set) var imports: [AccountID: Import] = [:]
    /// Kills that were complete at the start.
    package var ended: Set<Epoch> = []

    /// Whether the store may lose entries, so that another entry may get the same number. Then the IDs of the entries
    /// are noted.
    private let notesEntries: Bool

    package init(notesEntries: Bool = false) { self.notesEntries = notesEntries }

    /// The epochs that this process is to fence itself by: its pending kills, and the entries of `contents` that it has
    /// not applied yet.
    package func fencing(by contents: KillLogContents) -> KillEpochs {
        var epochs = self.epochs
        let entries = contents.numbered(behind: epochs.last)
        for entry in entries {
            epochs.fold(entry)
            if self.notesEntries { epochs.note(entry.entry.id) }
        }
        let ids = Set(entries.map(\.entry.id))
        let left = self.pendingKills.filter { !ids.contains($0.entry.id) }
        // Of several pending kills of a scope, the one that aborts requests wins.
        epochs.setPending(Dictionary(left.map { ($0.entry.scope, $0.entry.streams) }) { $0 == .abort ? $0 : $1 })
        return epochs
    }

    /// Records that this process is fenced by `epochs`, and that `draining` requests were left to finish. A kill
    /// changes from pending to present in one step, so that a lookup finds it at any time.
    ///
    /// - Returns: the new kills, and the pending kills that became those.
    package mutating func fenced(
        by contents: KillLogContents,
        _ epochs: KillEpochs,
        draining: Int
    ) -> (kills: [Kill], pendingKills: [PendingKill]) {
        var (folded, kills) = (self.epochs, [Kill]())
        let entries = contents.numbered(behind: folded.last)
        let snapshot = contents.snapshot
        if snapshot.last > self.contents.last {
            self.imports = snapshot.imports.mapValues { Import(grant: $0, epoch: snapshot.last) }
        }
        for numbered in entries {
            let entry = numbered.entry
            let wasKilled = folded.holds(entry.scope)
            folded.fold(numbered)
            for replacement in entry.replacements {
                self.imports[replacement.account] = Import(grant: replacement.grant, epoch: numbered.epoch)
            }
            guard entry.isSeenThrough || entry.kind == .moved else { continue }
            let before = self.pendingKills.first { $0.entry.id == entry.id }?.draining ?? 0
            kills.append(
                Kill(
                    epoch: folded.last,
                    entry: entry,
                    wasKilled: wasKilled,
                    draining: entry.streams == .drain ? max(before, draining) : 0,
                    isEnded: self.ended.contains(folded.last)
                )
            )
        }
        if contents.last > self.contents.last { self.contents = contents }
        self.kills += kills
        self.epochs = epochs
        let ids = Set(entries.map(\.entry.id))
        let taken = self.pendingKills.filter { ids.contains($0.entry.id) }
        self.pendingKills.removeAll { ids.contains($0.entry.id) }
        return (kills, taken)
    }

    /// The number up to which the log can be folded, if that is worth the writes. It ends before the first kill or lock that is
    /// not complete, and at the last entry that every replica has read.
    ///
    /// - Parameters:
    ///   - read: the last entry that each replica has read.
    ///   - fewest: the number of entries that is worth the writes, provided it is also a tenth of what the snapshot
    ///     holds.
    package func foldableUpTo(read: [Epoch], fewest: Int = 1_000) -> Epoch? {
        let pending = self.kills.first { !$0.isEnded && $0.entry.isSeenThrough }?.epoch.rawValue
        let contents = self.contents
        let last = min(contents.last, read.min() ?? contents.last, pending.map { Epoch($0 - 1) } ?? contents.last)
        let kept = contents.snapshot.entries.count + contents.snapshot.imports.count
        let count = last.rawValue - min(last, contents.snapshot.last).rawValue
        return count >= UInt64(max(fewest, kept / 10)) ? last : nil
    }

    /// The log in the store was folded up to `epoch`.
    package mutating func fold(upTo epoch: Epoch) {
        self.contents = self.contents.folded(upTo: min(epoch, self.contents.last))
    }

    /// Searches from the end, since most lookups are for one of the last kills.
    package func kill(_ epoch: Epoch) -> Kill? { self.kills.last { $0.epoch == epoch } }

    package func kill(_ id: KillID) -> Kill? { self.kills.last { $0.entry.id == id } }

    package func pendingKill(_ id: KillID) -> PendingKill? { self.pendingKills.first { $0.entry.id == id } }

    package mutating func note(kill epoch: Epoch, _ change: (inout Kill) -> Void) {
        guard let index = self.kills.lastIndex(where: { $0.epoch == epoch }) else { return }
        change(&self.kills[index])
    }

    /// Adds a kill that is to be written to the log. It holds from the next fence on.
    ///
    /// - Returns: whether it is new.
    package mutating func pendingKill(_ pendingKill: PendingKill) -> Bool {
        let id = pendingKill.entry.id
        guard self.pendingKill(id) == nil, !self.stands(id) else { return false }
        self.pendingKills.append(pendingKill)
        return true
    }

    /// Whether the log, as this process has read it, has the entry.
    package func stands(_ id: KillID) -> Bool { self.contents.contains(id) }

    package mutating func withdraw(_ id: KillID) { self.pendingKills.removeAll { $0.entry.id == id } }

    /// - Returns: whether the kill is still pending.
    @discardableResult
    package mutating func note(pendingKill id: KillID, _ change: (inout PendingKill) -> Void) -> Bool {
        guard let index = self.pendingKills.firstIndex(where: { $0.entry.id == id }) else { return false }
        change(&self.pendingKills[index])
        return true
    }
}
