package import TokenModel

/// Records numbered from 1, each written once at the first free number: the kill log and the audit log stand on it.
///
/// A number is won by compare-and-set, so all processes that share the store write one log. Who loses a number reads what
/// stands there, and tries the next.
package struct NumberedLog: Sendable {
    package let records: SealedRecords
    private let prefix: RecordKey.Prefix

    package init(_ records: SealedRecords, under prefix: RecordKey.Prefix) {
        self.records = records
        self.prefix = prefix
    }

    /// What stands at a number, sealed.
    package struct Item: Sendable {
        package let number: UInt64
        package let stored: StoredRecord
    }

    /// What became of a write.
    package enum Placement: Sendable {
        /// It stands.
        case written
        /// Something stood there before; `nil` where the store did not say what.
        case taken(Item?)
    }

    /// What stands at `number`; `nil` for nothing.
    package func item(_ number: UInt64) async throws(StoreError) -> Item? {
        try await self.records.store.read(self.key(number)).map { Item(number: number, stored: $0) }
    }

    /// Up to `limit` items behind `last`, in order; a number that is missing is passed over. Ends as a page of the store
    /// does (``TokenStore/records(under:after:limit:)``).
    package func page(behind last: UInt64, limit: Int) async throws(StoreError) -> [Item] {
        try await self.records.store.records(under: self.prefix, after: self.key(last), limit: limit).compactMap {
            record in
            self.number(of: record.key).map { Item(number: $0, stored: record.stored) }
        }
    }

    /// The plaintext of an item.
    ///
    /// - Throws: ``StoreError/Code/unreadable`` where it does not open.
    package func open(_ item: Item) throws(StoreError) -> Secret {
        try self.records.open(item.stored, at: self.key(item.number)).plaintext
    }

    /// Writes at `number`, if nothing stands there; durable when this returns.
    package func place(_ plaintext: Secret, at number: UInt64) async throws(StoreError) -> Placement {
        do throws(StoreError) {
            _ = try await self.records.write(plaintext, at: self.key(number), expecting: nil)
            return .written
        } catch {
            guard error.code == .conflict else { throw error }
            return .taken(error.current.map { Item(number: number, stored: $0) })
        }
    }

    /// Writes in place of `item`, which it must be still.
    ///
    /// - Throws: ``StoreError/Code/conflict`` where another has written meanwhile.
    package func replace(_ item: Item, with plaintext: Secret) async throws(StoreError) {
        _ = try await self.records.write(plaintext, at: self.key(item.number), expecting: item.stored.version)
    }

    /// Removes an item that nobody needs any more. One that has gone, or was written over, is left alone.
    package func remove(_ item: Item) async throws(StoreError) {
        do throws(StoreError) {
            try await self.records.store.remove(self.key(item.number), expecting: item.stored.version)
        } catch {
            guard error.code == .conflict else { throw error }
        }
    }

    /// The number of the last item; 0 where there is none. Finds it also where others are missing, in steps that double.
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
