package import TokenModel

/// An append-only log of records numbered from 1. The kill log and the audit log are such logs.
///
/// A writer takes the first free number by compare-and-set, so all processes that share the store write one log. A
/// writer that loses a number reads the entry that is there and tries the next number.
package struct NumberedLog: Sendable {
    package let records: SealedRecords
    private let prefix: RecordKey.Prefix

    package init(_ records: SealedRecords, under prefix: RecordKey.Prefix) {
        self.records = records
        self.prefix = prefix
    }

    /// The sealed entry at a number.
    package struct Item: Sendable {
        package let number: UInt64
        package let stored: StoredRecord
    }

    /// The outcome of a write.
    package enum Placement: Sendable {
        /// The entry was written.
        case written
        /// The number was taken; `nil` if the store did not return the entry that is there.
        case taken(Item?)
    }

    /// The entry at `number`; `nil` if there is none.
    package func item(_ number: UInt64) async throws(StoreError) -> Item? {
        try await self.records.store.read(self.key(number)).map { Item(number: number, stored: $0) }
    }

    /// Up to `limit` items after number `last`, in order. Missing numbers are skipped. The end is recognized as with a
    /// page of the store (``TokenStore/records(under:after:limit:)``).
    package func page(behind last: UInt64, limit: Int) async throws(StoreError) -> [Item] {
        try await self.records.store.records(under: self.prefix, after: self.key(last), limit: limit).compactMap {
            record in
            self.number(of: record.key).map { Item(number: $0, stored: record.stored) }
        }
    }

    /// The plaintext of an item.
    ///
    /// - Throws: ``StoreError/Code/unreadable`` if it does not open.
    package func open(_ item: Item) throws(StoreError) -> Secret {
        try self.records.open(item.stored, at: self.key(item.number)).plaintext
    }

    /// Writes at `number`, if that is free. The entry is durable when this returns.
    package func place(_ plaintext: Secret, at number: UInt64) async throws(StoreError) -> Placement {
        do throws(StoreError) {
            _ = try await self.records.write(plaintext, at: self.key(number), expecting: nil)
            return .written
        } catch {
            guard error.code == .conflict else { throw error }
            return .taken(error.current.map { Item(number: number, stored: $0) })
        }
    }

    /// Replaces `item`, if it is unchanged.
    ///
    /// - Throws: ``StoreError/Code/conflict`` if another writer has changed it.
    package func replace(_ item: Item, with plaintext: Secret) async throws(StoreError) {
        _ = try await self.records.write(plaintext, at: self.key(item.number), expecting: item.stored.version)
    }

    /// Removes an item that is no longer needed. Does nothing if it has been removed or replaced meanwhile.
    package func remove(_ item: Item) async throws(StoreError) {
        do throws(StoreError) {
            try await self.records.store.remove(self.key(item.number), expecting: item.stored.version)
        } catch {
            guard error.code == .conflict else { throw error }
        }
    }

    /// The number of the last item; 0 if there is none. Searches in steps that double, so missing items do not matter.
    ///
    /// - Parameter known: a number that is known to be taken.
    package func lastNumber(from known: UInt64 = 0) async throws(StoreError) -> UInt64 {
        var low = known
        var step: UInt64 = 1
        while step < 1 << 62, let found = try await self.first(behind: low &+ step &- 1), found > low {
            low = found
            step *= 2
        }
        var high = low &+ step &- 1
        while low < high {
            let middle = low + (high - low) / 2
            if let found = try await self.first(behind: middle) { low = found } else { high = middle }
        }
        return low
    }

    private func first(behind number: UInt64) async throws(StoreError) -> UInt64? {
        try await self.page(behind: number, limit: 1).first?.number
    }

    private func key(_ number: UInt64) -> RecordKey { .numbered(self.prefix, number) }

    private func number(of key: RecordKey) -> UInt64? { UInt64(key.rawValue.dropFirst(self.prefix.rawValue.count)) }
}
