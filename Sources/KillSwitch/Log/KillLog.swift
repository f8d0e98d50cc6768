package import TokenModel
package import TokenStorage

/// The kills of one store: entries numbered from 1, each written once at the first free number and never changed. An
/// entry's number is its epoch.
package struct KillLog: Sendable {
    private let records: SealedRecords

    package init(_ records: SealedRecords) {
        self.records = records
    }

    /// The entry numbered `epoch`; `nil` where the log ends before it.
    package func entry(_ epoch: Epoch) async throws(StoreError) -> KillEntry? {
        guard let stored = try await self.records.read(.kill(epoch.rawValue)) else { return nil }
        return try KillEntry(decoding: stored.plaintext)
    }

    /// All entries behind `last`, in order.
    package func entries(behind last: Epoch) async throws(StoreError) -> [KillEntry] {
        var entries: [KillEntry] = []
        var epoch = last
        while true {
            let isFirst = epoch == last
            let limit = isFirst ? StoreGuarantees.uncutPage : 500
            let page = try await self.records.store.records(under: .kills, after: .kill(epoch.rawValue), limit: limit)
            for record in page {
                // What is behind a gap is no part of the log before the gap is filled.
                guard record.key == .kill(epoch.next.rawValue) else { return entries }
                let plaintext = try self.records.open(record.stored, at: record.key).plaintext
                entries.append(try KillEntry(decoding: plaintext))
                epoch = epoch.next
            }
            // Mostly there is nothing new, and one call tells.
            if page.isEmpty || isFirst && page.count < limit { return entries }
        }
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
        while try await self.place(entry, at: epoch) == .taken { epoch = epoch.next }
        return epoch
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
        do throws(StoreError) {
            _ = try await self.records.write(entry.encoded(), at: .kill(epoch.rawValue), expecting: nil)
            return .written
        } catch {
            guard error.code == .conflict else { throw error }
            guard let current = error.current else { return .taken }
            let plaintext = try self.records.open(current, at: .kill(epoch.rawValue)).plaintext
            return try KillEntry(decoding: plaintext).id == entry.id ? .stood : .taken
        }
    }
}
