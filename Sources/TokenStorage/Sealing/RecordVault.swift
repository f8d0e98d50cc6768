package import TokenModel

/// A value that is sealed as a record of its own.
package protocol SealableRecord: Sendable {
    /// The bytes to seal.
    func encoded() -> Secret

    /// Reads what ``encoded()`` wrote.
    ///
    /// - Throws: ``StoreError/Code/unreadable`` for any other bytes.
    init(decoding bytes: Secret) throws(StoreError)
}

/// A record and its version, which the next write expects.
package struct StoredEntry<Record: SealableRecord>: Sendable {
    package var record: Record
    package var version: Version

    package init(record: Record, version: Version) {
        self.record = record
        self.version = version
    }
}

extension StoredEntry: Equatable where Record: Equatable {}

/// The records of one kind in one store. They are sealed on write and opened on read.
package struct RecordVault<Record: SealableRecord>: Sendable {
    /// The records of all kinds.
    package let records: SealedRecords

    package init(_ records: SealedRecords) { self.records = records }

    /// The record at `key`; `nil` if there is none.
    ///
    /// - Throws: ``StoreError/Code/unreadable`` for a record that does not open. It stays in the store.
    package func read(_ key: RecordKey) async throws(StoreError) -> StoredEntry<Record>? {
        guard let stored = try await self.records.store.read(key) else { return nil }
        return try self.open(stored, at: key)
    }

    /// Opens a stored record that a conflict or a listing returned.
    package func open(_ stored: StoredRecord, at key: RecordKey) throws(StoreError) -> StoredEntry<Record> {
        let plaintext = try self.records.open(stored, at: key).plaintext
        return StoredEntry(record: try Record(decoding: plaintext), version: stored.version)
    }

    /// Writes a record that replaces version `expecting` (`nil`: there is no record yet).
    ///
    /// - Returns: the version written.
    /// - Throws: ``StoreError/Code/conflict`` with the sealed record that is there.
    package func write(_ record: Record, at key: RecordKey, expecting: Version?) async throws(StoreError) -> Version {
        try await self.records.write(record.encoded(), at: key, expecting: expecting)
    }

    /// Writes a record as `version`, which must be greater than any version read or written at `key` before.
    package func write(
        _ record: Record,
        at key: RecordKey,
        as version: Version,
        expecting: Version?
    ) async throws(StoreError) {
        try await self.records.write(record.encoded(), at: key, as: version, expecting: expecting)
    }

    /// Writes a record whose content is the same whoever writes it. An existing record is left as it is.
    package func put(_ record: Record, at key: RecordKey) async throws(StoreError) {
        do throws(StoreError) {
            _ = try await self.write(record, at: key, expecting: nil)
        } catch {
            guard error.code == .conflict else { throw error }
        }
    }

    /// Removes a record if it is unchanged. Use this only for keys that contain a random id or a token's name (see
    /// ``TokenStore/remove(_:expecting:)``).
    ///
    /// - Returns: whether there is no record any more.
    @discardableResult
    package func remove(_ key: RecordKey, expecting: Version) async throws(StoreError) -> Bool {
        do throws(StoreError) {
            try await self.records.store.remove(key, expecting: expecting)
            return true
        } catch {
            guard error.code == .conflict else { throw error }
            return error.current == nil
        }
    }

    /// A page of the records under `prefix` that open, in the order of the keys' bytes.
    package struct Page: Sendable {
        package var entries: [(key: RecordKey, entry: StoredEntry<Record>)] = []
        /// The records that do not open.
        package var unreadable: [RecordKey] = []
        /// The last key of the page, where the next one goes on; `nil` after the last page.
        package var last: RecordKey?
    }

    /// The records that follow `after`, as many as a page holds.
    package func page(
        under prefix: RecordKey.Prefix,
        after: RecordKey?,
        limit: Int = StoreGuarantees.listing
    ) async throws(StoreError) -> Page {
        var page = Page()
        for found in try await self.records.store.records(under: prefix, after: after, limit: limit) {
            page.last = found.key
            do throws(StoreError) {
                page.entries.append((found.key, try self.open(found.stored, at: found.key)))
            } catch {
                guard error.code == .unreadable else { throw error }
                page.unreadable.append(found.key)
            }
        }
        return page
    }

    /// Calls `body` with each record under `prefix` that opens, and `unreadable` with the key of each that does not, in
    /// the order of the keys' bytes. Reads a page at a time.
    package func forEach(
        under prefix: RecordKey.Prefix,
        unreadable: (RecordKey) -> Void = { _ in },
        _ body: (RecordKey, StoredEntry<Record>) -> Void
    ) async throws(StoreError) {
        try await self.records.store.forEachRecord(under: prefix) { (found) async throws(StoreError) in
            do throws(StoreError) {
                body(found.key, try self.open(found.stored, at: found.key))
            } catch {
                guard error.code == .unreadable else { throw error }
                unreadable(found.key)
            }
        }
    }
}
