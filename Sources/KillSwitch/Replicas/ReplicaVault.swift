package import TokenModel
package import TokenStorage

/// The replicas of one store.
package struct ReplicaVault: Sendable {
    private let records: SealedRecords

    package init(_ records: SealedRecords) {
        self.records = records
    }

    /// A record, whose it is, and which write it is.
    package struct Entry: Equatable, Sendable {
        package let id: ReplicaID
        package let record: ReplicaRecord
        package let version: Version

        package init(id: ReplicaID, record: ReplicaRecord, version: Version) {
            self.id = id
            self.record = record
            self.version = version
        }
    }

    /// A replica's record; `nil` for one that has gone.
    package func read(_ id: ReplicaID) async throws(StoreError) -> Entry? {
        guard let stored = try await self.records.read(.replica(id.rawValue)) else { return nil }
        return Entry(id: id, record: try ReplicaRecord(decoding: stored.plaintext), version: stored.version)
    }

    /// All replicas there are.
    package func all() async throws(StoreError) -> [Entry] {
        var entries: [Entry] = []
        var last: RecordKey?
        repeat {
            let page = try await self.records.store.keys(under: .replicas, after: last, limit: 500)
            for key in page {
                let id = ReplicaID(rawValue: String(key.rawValue.dropFirst(RecordKey.Prefix.replicas.rawValue.count)))
                if let entry = try await self.read(id) { entries.append(entry) }
            }
            last = page.last
        } while last != nil
        return entries
    }

    /// Writes behind version `expecting` (`nil`: it joins).
    package func write(
        _ record: ReplicaRecord,
        for id: ReplicaID,
        expecting: Version?
    ) async throws(StoreError) -> Entry {
        let version = try await self.records.write(record.encoded(), at: .replica(id.rawValue), expecting: expecting)
        return Entry(id: id, record: record, version: version)
    }

    /// Removes a replica's record. One that has gone is no error.
    package func remove(_ id: ReplicaID) async throws(StoreError) {
        guard let stored = try await self.records.store.read(.replica(id.rawValue)) else { return }
        do throws(StoreError) {
            try await self.records.store.remove(.replica(id.rawValue), expecting: stored.version)
        } catch {
            guard error.code == .conflict, error.current == nil else { throw error }
        }
    }
}
