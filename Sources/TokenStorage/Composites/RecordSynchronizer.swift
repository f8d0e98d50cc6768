/// Makes the record of a mirror at one key that of the primary.
///
/// Any number of gateways may do this at once, and none of them knows what the others do. So whoever has written to a
/// mirror reads the primary afterwards, and starts over while it has changed. A write that is late then never brings
/// back what was removed, unless its writer ends in between: a later comparison finds that.
struct RecordSynchronizer: Sendable {
    private static let mostTries = 64

    private let primary: any TokenStore
    private let mirror: any TokenStore
    /// Throws if the mirror is a store of its own by now.
    private let checkMark: @Sendable () async throws(StoreError) -> Void

    /// - Parameter checkMark: called before a record is removed that is newer than the primary's.
    init(
        from primary: any TokenStore,
        to mirror: any TokenStore,
        checkMark: @escaping @Sendable () async throws(StoreError) -> Void
    ) {
        self.primary = primary
        self.mirror = mirror
        self.checkMark = checkMark
    }

    /// Returns when both stores have had the same record at `key`.
    ///
    /// - Throws: any error of either store; ``StoreError/Code/unreachable`` also if others wrote each time.
    func synchronize(_ key: RecordKey) async throws(StoreError) {
        var wanted = try await self.primary.read(key)
        for _ in 0..<Self.mostTries {
            do throws(StoreError) {
                try await self.put(wanted, at: key)
            } catch {
                // Somebody else writes to the mirror: what is right, only the primary says.
                guard error.code == .conflict else { throw error }
                wanted = try await self.primary.read(key)
                continue
            }
            let now = try await self.primary.read(key)
            if now == wanted { return }
            wanted = now
        }
        throw StoreError(.unreachable, "\(key) was written by others at each attempt to mirror it")
    }

    private func put(_ wanted: StoredRecord?, at key: RecordKey) async throws(StoreError) {
        let current = try await self.mirror.read(key)
        guard current != wanted else { return }
        guard let wanted else {
            if let current { try await self.mirror.remove(key, expecting: current.version) }
            return
        }
        if let current, current.version >= wanted.version {
            // The primary has lost its last writes in a failover, or was restored from a backup. A store takes no lower
            // version over a higher one, so the record is removed and written anew. Where the record read from the
            // primary was replaced meanwhile, the mirror's is the newer one and stays.
            try await self.checkMark()
            guard try await self.primary.read(key) == wanted else { return }
            try await self.mirror.remove(key, expecting: current.version)
            try await self.mirror.write(wanted.value, at: key, as: wanted.version, expecting: nil)
        } else {
            try await self.mirror.write(wanted.value, at: key, as: wanted.version, expecting: current?.version)
        }
    }
}
