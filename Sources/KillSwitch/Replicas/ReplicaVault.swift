package import TokenModel
package import TokenStorage

/// The records of the replicas of one store.
package struct ReplicaVault: Sendable {
    private let vault: RecordVault<ReplicaRecord>

    package init(_ records: SealedRecords) { self.vault = RecordVault(records) }

    /// A record with the ID of its replica and its version.
    package struct Entry: Equatable, Sendable {
        package let id: ReplicaID
        package let record: ReplicaRecord
        package let version: Version

        package init(id: ReplicaID, record: ReplicaRecord, version: Version) {
            self.id = id
            self.record = record
            self.version = version
        }

        fileprivate init(_ id: ReplicaID, _ stored: StoredEntry<ReplicaRecord>) {
            self.init(id: id, record: stored.record, version: stored.version)
        }
    }

    /// A replica's record; `nil` where it is gone.
    package func read(_ id: ReplicaID) async throws(StoreError) -> Entry? {
        try await self.vault.read(.replica(id.rawValue)).map { Entry(id, $0) }
    }

    /// As ``read(_:)``. Also returns whether the record is sealed under another key than the one that this process
    /// writes with.
    func readOwn(_ id: ReplicaID) async throws(StoreError) -> (entry: Entry, sealsAnew: Bool)? {
        let key = RecordKey.replica(id.rawValue)
        guard let stored = try await self.vault.records.store.read(key) else { return nil }
        let entry = Entry(id, try self.vault.open(stored, at: key))
        return (entry, try await self.vault.records.sealsAnew(stored.value))
    }

    /// The result of reading a record that opens.
    package struct Found: Sendable {
        /// `nil` where the record is gone.
        package let entry: Entry?
    }

    /// As ``read(_:)``, but `nil` for a record that does not open.
    package func readIfOpen(_ id: ReplicaID) async throws(StoreError) -> Found? {
        do throws(StoreError) {
            return Found(entry: try await self.read(id))
        } catch {
            guard error.code == .unreadable else { throw error }
            return nil
        }
    }

    /// The listed replicas.
    package struct Listing: Equatable, Sendable {
        package var entries: [Entry] = []
        /// The replicas whose record does not open. They may be running.
        package var unreadable: [ReplicaID] = []

        package init(entries: [Entry] = [], unreadable: [ReplicaID] = []) {
            self.entries = entries
            self.unreadable = unreadable
        }
    }

    /// Lists all replicas.
    package func list() async throws(StoreError) -> Listing {
        func id(_ key: RecordKey) -> ReplicaID {
            ReplicaID(rawValue: String(key.rawValue.dropFirst(RecordKey.Prefix.replicas.rawValue.count)))
        }
        var listing = Listing()
        var unreadable: [ReplicaID] = []
        try await self.vault.forEach(under: .replicas, unreadable: { unreadable.append(id($0)) }) { key, entry in
            listing.entries.append(Entry(id(key), entry))
        }
        listing.unreadable = unreadable
        return listing
    }

    /// Marks a replica for removal: from its next poll on it puts no token into a request before it has joined again. A
    /// record that does not open is replaced by a new one.
    ///
    /// - Parameter longestLease: assumed as the lease of a replica whose record does not open.
    /// - Returns: `nil` where the record is gone.
    func expel(_ id: ReplicaID, longestLease: Duration, at now: WallTime) async throws(StoreError) -> Entry? {
        for _ in 0..<Self.mostTries {
            guard let stored = try await self.vault.records.store.read(.replica(id.rawValue)) else { return nil }
            var record = ReplicaRecord(
                incarnation: IncarnationID(rawValue: ""),
                name: id.unreadableName,
                lease: longestLease,
                joinedAt: now
            )
            if let found = try await self.readIfOpen(id) {
                guard let entry = found.entry else { return nil }
                guard !entry.record.isExpelled else { return entry }
                record = entry.record
            }
            record.isExpelled = true
            do throws(StoreError) {
                return try await self.write(record, for: id, expecting: stored.version)
            } catch {
                guard error.code == .conflict else { throw error }
            }
        }
        throw StoreError(.unreachable, "other writers came between each time")
    }

    private static let mostTries = 8

    /// Writes the record if the version there is `expecting` (`nil`: no record, for a replica that joins).
    package func write(
        _ record: ReplicaRecord,
        for id: ReplicaID,
        expecting: Version?
    ) async throws(StoreError) -> Entry {
        let version = try await self.vault.write(record, at: .replica(id.rawValue), expecting: expecting)
        return Entry(id: id, record: record, version: version)
    }

    /// Writes the record as `version` if the version there is `expecting`. Otherwise returns what is there.
    package func write(
        _ record: ReplicaRecord,
        for id: ReplicaID,
        as version: Version,
        expecting: Version?
    ) async -> KillMachine.ReplicaWrite {
        let key = RecordKey.replica(id.rawValue)
        do throws(StoreError) {
            do throws(StoreError) {
                try await self.vault.write(record, at: key, as: version, expecting: expecting)
                return .stands(version)
            } catch {
                guard error.code == .conflict else { throw error }
                guard let current = error.current else { return .conflict(nil) }
                return .conflict(Entry(id, try self.vault.open(current, at: key)))
            }
        } catch {
            // A present record that does not open fails too: its owner is unknown, and it is not gone.
            return .failed(error)
        }
    }

    /// Marks a replica as expelled, if its record has not been written since it was read.
    ///
    /// - Returns: the same as for a write of our own record.
    package func expel(_ entry: Entry) async -> KillMachine.ReplicaWrite {
        var record = entry.record
        record.isExpelled = true
        return await self.write(record, for: entry.id, as: entry.version.next, expecting: entry.version)
    }

    /// Removes a replica's record. A missing record is no error.
    package func remove(_ id: ReplicaID) async throws(StoreError) {
        guard let stored = try await self.vault.records.store.read(.replica(id.rawValue)) else { return }
        _ = try await self.remove(id, expecting: stored.version)
    }

    /// Removes a replica's record if it has not been written since.
    ///
    /// - Returns: whether no record is there any more.
    func remove(_ id: ReplicaID, expecting version: Version) async throws(StoreError) -> Bool {
        try await self.vault.remove(.replica(id.rawValue), expecting: version)
    }
}

extension ReplicaID {
    /// The display name of a replica whose record does not open.
    package var unreadableName: String { "\(self.rawValue.prefix(8)), whose record does not open" }
}
