package import TokenModel

/// Decrypted access to the records of one store. A read decrypts a record and authenticates it for its key and version;
/// a write seals it first. Other modules build their own records on this type.
package struct SealedRecords: Sendable {
    /// The store that the records are sealed for.
    package let storeID: StoreID
    /// The store that holds the sealed records. Listings, removals and change hints go to it directly.
    package let store: any TokenStore
    package let keys: LiveKeyRing

    package init(store: any TokenStore, keyRing: KeyRing, storeID: StoreID) {
        self.init(store: store, keys: LiveKeyRing(keyRing), storeID: storeID)
    }

    package init(store: any TokenStore, keys: LiveKeyRing, storeID: StoreID) {
        self.store = store
        self.keys = keys
        self.storeID = storeID
    }

    /// The plaintext of a record, and its version.
    package struct Entry: Equatable, Sendable {
        package let plaintext: Secret
        package let version: Version
    }

    /// The record at `key`; `nil` if there is none.
    ///
    /// - Throws: ``StoreError/Code/unreadable`` for a record that does not open. It stays in the store.
    package func read(_ key: RecordKey) async throws(StoreError) -> Entry? {
        guard let stored = try await self.store.read(key) else { return nil }
        return try self.open(stored, at: key)
    }

    /// Opens a stored record that a conflict or a read of ``store`` returned.
    package func open(_ stored: StoredRecord, at key: RecordKey) throws(StoreError) -> Entry {
        let context = SealingContext(store: self.storeID, key: key, version: stored.version)
        return Entry(plaintext: try self.keys.open(stored.value, for: context), version: stored.version)
    }

    /// The version for a write that replaces version `expecting`.
    package func version(behind expecting: Version?) -> Version { self.store.guarantees.version(behind: expecting) }

    /// Seals under the key that the canary is sealed under now, on a store that several hosts share. A replica does this
    /// with each heartbeat.
    package func followCanary() async throws(StoreError) {
        guard self.store.guarantees.reach == .network, let stored = try await self.store.read(.canary) else { return }
        if let id = stored.value.keyID, !self.keys.ring.holds(id) {
            try await self.keys.reloadIfChanged { () async throws(StoreError) in stored }
        }
        self.keys.follow(canary: stored)
    }

    /// Whether a write now uses another key than `sealed` does. Loads changed keys from their source first.
    package func sealsAnew(_ sealed: SealedBytes) async throws(StoreError) -> Bool {
        let store = self.store
        try await self.keys.reloadIfChanged { () async throws(StoreError) in try await store.read(.canary) }
        return self.keys.ring.sealsAnew(sealed)
    }

    /// Seals `plaintext` and writes it in place of version `expecting` (`nil`: there is no record yet).
    ///
    /// - Returns: the version written.
    /// - Throws: ``StoreError/Code/conflict`` with the sealed record that is there; ``StoreError/Code/invalid`` if the
    ///   record is too large.
    package func write(
        _ plaintext: Secret,
        at key: RecordKey,
        expecting: Version?
    ) async throws(StoreError) -> Version {
        let version = self.version(behind: expecting)
        try await self.write(plaintext, at: key, as: version, expecting: expecting)
        return version
    }

    /// Seals `plaintext` and writes it as `version`, which must be greater than any version read or written at `key`
    /// before.
    ///
    /// - Throws: as ``write(_:at:expecting:)``.
    package func write(
        _ plaintext: Secret,
        at key: RecordKey,
        as version: Version,
        expecting: Version?
    ) async throws(StoreError) {
        let context = SealingContext(store: self.storeID, key: key, version: version)
        let store = self.store
        try await self.keys.reloadIfChanged { () async throws(StoreError) in try await store.read(.canary) }
        let sealed = try self.keys.ring.seal(plaintext, for: context)
        try await store.write(sealed, at: key, as: version, expecting: expecting)
    }
}

/// The identity of a store. It is drawn once, when the store is first opened, and stays the same when the store is
/// moved.
package struct StoreID: RandomIdentifier {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }
}
