package import TokenModel
package import TokenStorage

/// The replicas of one store.
package struct ReplicaVault: Sendable {
    private let vault: RecordVault<ReplicaRecord>

    package init(_ records: SealedRecords) { self.vault = RecordVault(records) }

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

        fileprivate init(_ id: ReplicaID, _ stored: StoredEntry<ReplicaRecord>) {
            self.init(id: id, record: stored.record, version: stored.version)
        }
    }

    /// A replica's record; `nil` for one that has gone.
    package func read(_ id: ReplicaID) async throws(StoreError) -> Entry? {
        try await self.vault.read(.replica(id.rawValue)).map { Entry(id, $0) }
    }

    /// As ``read(_:)``, and whether it stands under another key than what is written from here now.
    func readOwn(_ id: ReplicaID) async throws(StoreError) -> (entry: Entry, sealsAnew: Bool)? {
        let key = RecordKey.replica(id.rawValue)
        guard let stored = try await self.vault.records.store.read(key) else { return nil }
        let entry = Entry(id, try self.vault.open(stored, at: key))
        return (entry, try await self.vault.records.sealsAnew(stored.value))
    }

    /// A read of a record that does open.
    package struct Found: Sendable {
        /// `nil` where it has gone.
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

    /// The replicas there are.
    package struct Listing: Equatable, Sendable {
        package var entries: [Entry] = []
        /// Those whose record does not open: whoever they are, they may be running.
        package var unreadable: [ReplicaID] = []

        package init(entries: [Entry] = [], unreadable: [ReplicaID] = []) {
            self.entries = entries
            self.unreadable = unreadable
        }
    }

    /// All replicas there are.
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

    /// Marks a replica that it is to be removed: from its next poll on it puts no token into a request before it has
    /// joined anew. One whose record does not open gets another in its place.
    ///
    /// - Parameter longestLease: taken for the lease of one whose record does not open.
    /// - Returns: `nil` for one that has gone.
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

    /// Writes behind version `expecting` (`nil`: it joins).
    package func write(
        _ record: ReplicaRecord,
        for id: ReplicaID,
        expecting: Version?
    ) async throws(StoreError) -> Entry {
        let version = try await self.vault.write(record, at: .replica(id.rawValue), expecting: expecting)
        return Entry(id: id, record: record, version: version)
    }

    /// Writes as `version`, if the version there is `expecting`, and says what is there where it is not.
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
            // Also where what stands there does not open: nobody knows whose it is, and it has not gone.
            return .failed(error)
        }
    }

    /// Marks a replica as expelled, if nobody has written its record since it was read.
    ///
    /// - Returns: as that of one's own record.
    package func expel(_ entry: Entry) async -> KillMachine.ReplicaWrite {
        var record = entry.record
        record.isExpelled = true
        return await self.write(record, for: entry.id, as: entry.version.next, expecting: entry.version)
    }

    /// Removes a replica's record. One that has gone is no error.
    package func remove(_ id: ReplicaID) async throws(StoreError) {
        guard let stored = try await self.vault.records.store.read(.replica(id.rawValue)) else { return }
        _ = try await self.remove(id, expecting: stored.version)
    }

    /// Removes a replica's record if nobody has written it since.
    ///
    /// - Returns: whether there is none any more.
    func remove(_ id: ReplicaID, expecting version: Version) async throws(StoreError) -> Bool {
        try await self.vault.remove(.replica(id.rawValue), expecting: version)
    }
}

extension ReplicaID {
    /// What is shown of a replica whose record does not open.
    package var unreadableName: String { "\(self.rawValue.prefix(8)), whose record does not open" }
}
