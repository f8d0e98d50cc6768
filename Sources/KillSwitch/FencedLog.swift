package import TokenModel
internal import TokenStorage

/// The kill log as this process has fenced itself by it: folded, with the kills that stand in it, and the orders that do
/// not yet.
package struct FencedLog: Sendable {
    /// A kill that stands in the log.
    package struct Kill: Sendable {
        package let epoch: Epoch
        package let entry: KillEntry
        /// Its scope was killed already.
        package let wasKilled: Bool
        package var watch: KillWatch?
        package var draining = 0
        package var isEnded = false
    }

    /// As this process has fenced itself.
    package private(set) var epochs = KillEpochs()
    /// What ``epochs`` is folded from.
    package private(set) var contents = KillLogContents()
    package private(set) var kills: [Kill] = []
    /// Kills that may not stand in the log yet.
    package private(set) var pendingKills: [PendingKill] = []
    /// The grant that the last import into each account began, of those that the log tells of.
    package private(set) var imports: [AccountID: GrantID] = [:]
    /// Kills that were complete at the start.
    package var ended: Set<Epoch> = []

    /// Whether entries may be lost, and another may come to have the number: then it is noted which they were.
    private let notesEntries: Bool

    package init(notesEntries: Bool = false) { self.notesEntries = notesEntries }

    /// What this process is to fence itself by: its orders, and what `contents` has behind the entries it goes by.
    package func fencing(by contents: KillLogContents) -> KillEpochs {
        var epochs = self.epochs
        let entries = contents.numbered(behind: epochs.last)
        for entry in entries {
            epochs.fold(entry)
            if self.notesEntries { epochs.note(entry.entry.id) }
        }
        let ids = Set(entries.map(\.entry.id))
        let left = self.pendingKills.filter { !ids.contains($0.entry.id) }
        // Of several orders the one that cuts goes.
        epochs.setPending(Dictionary(left.map { ($0.entry.scope, $0.entry.streams) }) { $0 == .abort ? $0 : $1 })
        return epochs
    }

    /// It is, and has left `draining` requests to end. In one step: at any time a kill is found, be it as an order or as one
    /// that stands.
    ///
    /// - Returns: the kills that are new, and the orders that these were.
    package mutating func fenced(
        by contents: KillLogContents,
        _ epochs: KillEpochs,
        draining: Int
    ) -> (kills: [Kill], pendingKills: [PendingKill]) {
        var (folded, kills) = (self.epochs, [Kill]())
        let entries = contents.numbered(behind: folded.last)
        if contents.snapshot.last > self.contents.last { self.imports = contents.snapshot.imports }
        for numbered in entries {
            let entry = numbered.entry
            let wasKilled = folded.holds(entry.scope)
            folded.fold(numbered)
            for replacement in entry.replacements { self.imports[replacement.account] = replacement.grant }
            guard entry.kind == .kill else { continue }
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

    /// How far the log can be folded, where that is worth it: up to before the first kill that is not complete, and as far as
    /// every replica has read.
    ///
    /// - Parameters:
    ///   - read: how far each has.
    ///   - fewest: so many entries are worth the writes, if they are a tenth of what a snapshot holds, too.
    package func foldableUpTo(read: [Epoch], fewest: Int = 1_000) -> Epoch? {
        let pending = self.kills.first { !$0.isEnded }?.epoch.rawValue
        let contents = self.contents
        let last = min(contents.last, read.min() ?? contents.last, pending.map { Epoch($0 - 1) } ?? contents.last)
        let kept = contents.snapshot.entries.count + contents.snapshot.imports.count
        let count = last.rawValue - min(last, contents.snapshot.last).rawValue
        return count >= UInt64(max(fewest, kept / 10)) ? last : nil
    }

    /// The log in the store is folded up to `epoch`.
    package mutating func fold(upTo epoch: Epoch) {
        self.contents = self.contents.folded(upTo: min(epoch, self.contents.last))
    }

    /// Mostly one of the last is asked for.
    package func kill(_ epoch: Epoch) -> Kill? { self.kills.last { $0.epoch == epoch } }

    package func kill(_ id: KillID) -> Kill? { self.kills.last { $0.entry.id == id } }

    package func pendingKill(_ id: KillID) -> PendingKill? { self.pendingKills.first { $0.entry.id == id } }

    package mutating func note(kill epoch: Epoch, _ change: (inout Kill) -> Void) {
        guard let index = self.kills.lastIndex(where: { $0.epoch == epoch }) else { return }
        change(&self.kills[index])
    }

    /// A kill that is to be written to the log holds from the next fence on.
    ///
    /// - Returns: whether it is new.
    package mutating func pendingKill(_ pendingKill: PendingKill) -> Bool {
        let id = pendingKill.entry.id
        guard self.pendingKill(id) == nil, !self.stands(id) else { return false }
        self.pendingKills.append(pendingKill)
        return true
    }

    /// Whether an entry is in the log, as this process has read it.
    package func stands(_ id: KillID) -> Bool { self.contents.contains(id) }

    package mutating func withdraw(_ id: KillID) { self.pendingKills.removeAll { $0.entry.id == id } }

    /// - Returns: whether it waits still.
    @discardableResult
    package mutating func note(pendingKill id: KillID, _ change: (inout PendingKill) -> Void) -> Bool {
        guard let index = self.pendingKills.firstIndex(where: { $0.entry.id == id }) else { return false }
        change(&self.pendingKills[index])
        return true
    }
}
