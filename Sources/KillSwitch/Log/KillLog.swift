package import TokenModel
package import TokenStorage

/// The kills of one store: entries numbered from 1, each written once at the first free number and never changed. An
/// entry's number is its epoch.
///
/// A long log is *folded*: a snapshot takes the place of its beginning (``fold(_:)``). Entry 1 says so from then on, so that a
/// version that knows no snapshots reads nothing, and does not take the log for an empty one.
package struct KillLog: Sendable {
    let log: NumberedLog

    package init(_ records: SealedRecords) {
        self.log = NumberedLog(records, under: .kills)
    }

    /// What a read has found.
    package enum Reading: Equatable, Sendable {
        /// Every entry behind the number that was asked for.
        case tail([KillEntry])
        /// All of the log: it was asked for from the start, or has a gap behind what was asked for.
        case whole(KillLogContents)
    }

    /// The entry numbered `epoch`; `nil` where the log ends before it, or where a snapshot has taken its place.
    package func entry(_ epoch: Epoch) async throws(StoreError) -> KillEntry? {
        guard let item = try await self.log.item(epoch.rawValue) else { return nil }
        guard case .entry(let entry) = try self.open(item) else { return nil }
        return entry
    }

    /// Which write put the entry with that id at the number `epoch`; ``foldedVersion`` where a snapshot has it, `nil` where it
    /// does not stand there.
    package func version(of id: KillID, at epoch: Epoch) async throws(StoreError) -> Version? {
        if let item = try await self.log.item(epoch.rawValue), case .entry(let entry) = try self.open(item) {
            return entry.id == id ? item.stored.version : nil
        }
        return try await self.contents()[epoch]?.id == id ? Self.foldedVersion : nil
    }

    /// Of an entry that a snapshot has taken the place of: a kill among those was complete before.
    package static let foldedVersion = Version(0)

    /// Whether there is no entry.
    package func isEmpty() async throws(StoreError) -> Bool { try await self.log.item(1) == nil }

    /// All entries behind `last`, in order.
    package func read(behind last: Epoch) async throws(StoreError) -> Reading {
        guard last > .start else { return .whole(try await self.contents()) }
        let tail = try await self.tail(behind: last)
        return tail.isCut ? .whole(try await self.contents()) : .tail(tail.entries)
    }

    /// All of the log.
    package func contents() async throws(StoreError) -> KillLogContents {
        for _ in 0..<Self.mostReads {
            let page = try await self.log.page(behind: 0, limit: StoreGuarantees.uncutPage)
            guard let first = page.first, first.number == 1 else { return KillLogContents() }
            var snapshot = KillLogSnapshot.none
            if case .snapshot(let header) = try self.open(first) {
                // It has gone where another has just taken its place.
                guard let found = try await self.snapshot(header) else { continue }
                snapshot = found
            } else if page.count < StoreGuarantees.uncutPage {
                // All there is, at one moment.
                return KillLogContents(entries: try self.entries(page, behind: 0).entries)
            }
            let tail = try await self.tail(behind: snapshot.last)
            // A snapshot may have taken the place of entries while they were read.
            if try await self.log.item(1)?.stored == first.stored {
                return KillLogContents(snapshot: snapshot, entries: tail.entries)
            }
        }
        throw StoreError(.unreachable, "the kill log is being folded again and again")
    }

    private static let mostReads = 8

    /// Entries up to the first number that is missing.
    private struct Tail {
        var entries: [KillEntry] = []
        /// Something stands behind a missing number.
        var isCut = false
    }

    private func tail(behind last: Epoch) async throws(StoreError) -> Tail {
        var tail = Tail()
        // Mostly there is nothing new, and one call tells.
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
            // What is behind a gap is no part of the log before the gap is filled.
            let next = last + UInt64(tail.entries.count) + 1
            guard item.number == next, case .entry(let entry) = try self.open(item) else {
                tail.isCut = true
                return tail
            }
            tail.entries.append(entry)
        }
        return tail
    }

    /// Writes `entry` at the first free number behind `last`; durable when this returns. An entry that stands already, by
    /// a write whose answer was lost, is found by its id.
    ///
    /// - Returns: its number.
    /// - Throws: ``StoreError/Code/unreachable`` where it may or may not stand: try again with the same entry and `last`.
    package func append(_ entry: KillEntry, behind last: Epoch) async throws(StoreError) -> Epoch {
        if last != .start, try await self.entry(last) == nil {
            // An entry behind a gap is found by nobody.
            throw StoreError(.unreachable, "the store has lost entries of its kill log, and they are not back yet")
        }
        var epoch = last.next
        while true {
            if try await self.place(entry, at: epoch) == .taken {
                epoch = epoch.next
            } else if let folded = try await self.foldedUpTo(), folded >= epoch {
                // It stands where nobody looks any more.
                epoch = folded.next
            } else {
                return epoch
            }
        }
    }

    /// What stands at a number by now.
    package enum Placement: Sendable {
        /// The entry, by this call.
        case written
        /// The entry, since before.
        case stood
        /// Another.
        case taken
    }

    /// Writes `entry` as the one numbered `epoch`, if nothing stands there; durable when this returns.
    package func place(_ entry: KillEntry, at epoch: Epoch) async throws(StoreError) -> Placement {
        switch try await self.log.place(entry.encoded(), at: epoch.rawValue) {
        case .written: return .written
        case .taken(nil): return .taken
        case .taken(let item?):
            guard case .entry(let other) = try self.open(item) else { return .taken }
            return other.standsFor(entry) ? .stood : .taken
        }
    }

    /// What can stand at a number.
    enum Record {
        case entry(KillEntry)
        /// At number 1.
        case snapshot(KillLogSnapshotHeader)
    }

    func open(_ item: NumberedLog.Item) throws(StoreError) -> Record {
        let plaintext = try self.log.open(item)
        if let header = try KillLogSnapshotHeader(ifIn: plaintext) { return .snapshot(header) }
        return .entry(try KillEntry(decoding: plaintext))
    }
}
