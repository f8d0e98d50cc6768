package import TokenModel
package import TokenStorage

/// The kill log of one store. Entries are numbered from 1. Each is written once, at the first free number, and never
/// changed. An entry's number is its epoch.
///
/// A long log is *folded*: a snapshot replaces its beginning (``fold(_:)``). Entry 1 then names the snapshot. A version
/// that does not know snapshots therefore reads nothing, and does not take the log for an empty one.
package struct KillLog: Sendable {
    package let log: NumberedLog

    package init(_ records: SealedRecords) {
        self.log = NumberedLog(records, under: .kills)
    }

    /// The result of a read.
    package enum Reading: Equatable, Sendable {
        /// Every entry behind the given number.
        case tail([KillEntry])
        /// The whole log: the read was from the start, or there is a gap behind the given number.
        case whole(KillLogContents)
        /// Pages of the snapshot are missing; see ``restoreSnapshot(knowing:)``.
        case incomplete
    }

    /// The entry numbered `epoch`; `nil` where the log ends before it, or where a snapshot has replaced it.
    package func entry(_ epoch: Epoch) async throws(StoreError) -> KillEntry? {
        guard let item = try await self.log.item(epoch.rawValue) else { return nil }
        guard case .entry(let entry) = try self.open(item) else { return nil }
        return entry
    }

    /// The version of the entry with that ID at the number `epoch`; ``foldedVersion`` where a snapshot holds the entry,
    /// `nil` where the entry is not there.
    package func version(of id: KillID, at epoch: Epoch) async throws(StoreError) -> Version? {
        if let item = try await self.log.item(epoch.rawValue), case .entry(let entry) = try self.open(item) {
            return entry.id == id ? item.stored.version : nil
        }
        return try await self.contents()[epoch]?.id == id ? Self.foldedVersion : nil
    }

    /// The version of an entry that a snapshot has replaced. A kill among those was complete before.
    package static let foldedVersion = Version(0)

    /// Whether the log has no entry.
    package func isEmpty() async throws(StoreError) -> Bool { try await self.log.item(1) == nil }

    /// All entries behind `last`, in order.
    package func read(behind last: Epoch) async throws(StoreError) -> Reading {
        if last > .start {
            let tail = try await self.tail(behind: last)
            guard tail.isCut else { return .tail(tail.entries) }
        }
        return try await self.whole().map { .whole($0) } ?? .incomplete
    }

    /// All of the log.
    ///
    /// - Throws: ``StoreError/Code/unreachable`` where pages of the snapshot are missing.
    package func contents() async throws(StoreError) -> KillLogContents {
        guard let whole = try await self.whole() else { throw .logIncomplete }
        return whole
    }

    /// - Returns: `nil` where pages of the snapshot are missing.
    private func whole() async throws(StoreError) -> KillLogContents? {
        var incomplete: KillLogSnapshotHeader?
        for _ in 0..<Self.mostReads {
            let page = try await self.log.page(behind: 0, limit: StoreGuarantees.uncutPage)
            guard let first = page.first, first.number == 1 else { return KillLogContents() }
            var snapshot = KillLogSnapshot.none
            if case .snapshot(let header) = try self.open(first) {
                guard let found = try await self.snapshot(header) else {
                    guard header != incomplete else { return nil }
                    // Perhaps the pages are gone because a newer snapshot has just replaced this one.
                    incomplete = header
                    continue
                }
                snapshot = found
            } else if page.count < StoreGuarantees.uncutPage {
                // One page holds the whole log, read at one moment.
                return KillLogContents(entries: try self.entries(page, behind: 0).entries)
            }
            let tail = try await self.tail(behind: snapshot.last)
            // A snapshot may have replaced entries while they were read.
            if try await self.log.item(1)?.stored == first.stored {
                return KillLogContents(snapshot: snapshot, entries: tail.entries)
            }
        }
        throw StoreError(.unreachable, "the kill log is being folded again and again")
    }

    private static let mostReads = 8

    /// Entries up to the first missing number.
    private struct Tail {
        var entries: [KillEntry] = []
        /// There is an entry behind a missing number.
        var isCut = false
    }

    private func tail(behind last: Epoch) async throws(StoreError) -> Tail {
        var tail = Tail()
        // Usually nothing is new, and one call shows that.
        var limit = StoreGuarantees.uncutPage
        while true {
            let number = last.rawValue + UInt64(tail.entries.count)
            let page = try await self.log.page(behind: number, limit: limit)
            let found = try self.entries(page, behind: number)
            tail.entries += found.entries
            tail.isCut = found.isCut
            if found.isCut || page.isEmpty || limit < 500 && page.count < limit { return tail }
            limit = 500
        }
    }

    private func entries(_ page: [NumberedLog.Item], behind last: UInt64) throws(StoreError) -> Tail {
        var tail = Tail()
        for item in page {
            // Entries behind a gap are not part of the log until the gap is filled.
            let next = last + UInt64(tail.entries.count) + 1
            guard item.number == next, case .entry(let entry) = try self.open(item) else {
                tail.isCut = true
                return tail
            }
            tail.entries.append(entry)
        }
        return tail
    }

    /// Writes `entry` at the first free number behind `last`. The entry is durable when this returns. An entry that a
    /// write with a lost response has put there already is found by its ID.
    ///
    /// - Returns: its number.
    /// - Throws: ``StoreError/Code/unreachable`` where the entry may or may not have been written. Try again with the
    ///   same entry and `last`.
    package func append(_ entry: KillEntry, behind last: Epoch) async throws(StoreError) -> Epoch {
        if last != .start, try await self.entry(last) == nil {
            // No process finds an entry behind a gap.
            throw StoreError(.unreachable, "the store has lost entries of its kill log, and they are not back yet")
        }
        var epoch = last.next
        while true {
            if try await self.place(entry, at: epoch) == .taken {
                epoch = epoch.next
            } else if let folded = try await self.foldedUpTo(), folded >= epoch {
                // The number is folded already, so no process reads the entry there.
                epoch = folded.next
            } else {
                return epoch
            }
        }
    }

    /// What is at a number after the call.
    package enum Placement: Sendable {
        /// The entry, written by this call.
        case written
        /// The entry, written before.
        case stood
        /// Another entry.
        case taken
    }

    /// Writes `entry` at the number `epoch`, if that is free. The entry is durable when this returns.
    package func place(_ entry: KillEntry, at epoch: Epoch) async throws(StoreError) -> Placement {
        switch try await self.log.place(entry.encoded(), at: epoch.rawValue) {
        case .written: return .written
        case .taken(nil): return .taken
        case .taken(let item?):
            guard case .entry(let other) = try self.open(item) else { return .taken }
            return other.standsFor(entry) ? .stood : .taken
        }
    }

    /// The two kinds of record in the log.
    enum Record {
        case entry(KillEntry)
        /// Only at number 1.
        case snapshot(KillLogSnapshotHeader)
    }

    func open(_ item: NumberedLog.Item) throws(StoreError) -> Record {
        let plaintext = try self.log.open(item)
        if let header = try KillLogSnapshotHeader(ifIn: plaintext) { return .snapshot(header) }
        return .entry(try KillEntry(decoding: plaintext))
    }
}
