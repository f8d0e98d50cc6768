package import TokenModel

/// The records of one store, opened: what is read has been decrypted and authenticated for its key and version, what is
/// written is sealed first. Rooms put their own records on top of it.
package struct SealedRecords: Sendable {
    /// Who the records belong to; each is sealed for it.
    package let storeID: StoreID
    /// Where they are kept, sealed; listing, removing and hints of changes are asked of it.
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

    /// A record's plaintext, and which write it is.
    package struct Entry: Equatable, Sendable {
        package let plaintext: Secret
        package let version: Version
    }

    /// What is at `key`; `nil` where there is no record.
    ///
    /// - Throws: ``StoreError/Code/unreadable`` for a record that does not open. It stays where it is.
    package func read(_ key: RecordKey) async throws(StoreError) -> Entry? {
        guard let stored = try await self.store.read(key) else { return nil }
        return try self.open(stored, at: key)
    }

    /// Opens what a conflict carried, or a read of the store itself.
    package func open(_ stored: StoredRecord, at key: RecordKey) throws(StoreError) -> Entry {
        let context = SealingContext(store: self.storeID, key: key, version: stored.version)
        return Entry(plaintext: try self.keys.open(stored.value, for: context), version: stored.version)
    }

    /// The version that a write behind `expecting` names.
    package func version(behind expecting: Version?) -> Version { self.store.guarantees.version(behind: expecting) }

    /// Whether a write now would be under another key than `sealed` is; keys that the source holds by now are gone over to.
    package func sealsAnew(_ sealed: SealedBytes) async throws(StoreError) -> Bool {
        let store = self.store
        try await self.keys.reloadIfChanged { () async throws(StoreError) in try await store.read(.canary) }
        return self.keys.ring.sealsAnew(sealed)
    }

    /// Seals `plaintext` and writes it behind version `expecting` (`nil`: there is no record yet).
    ///
    /// - Returns: the version written.
    /// - Throws: ``StoreError/Code/conflict`` with the sealed record that is there; ``StoreError/Code/invalid`` when the
    ///   record would be too large.
    package func write(
        _ plaintext: Secret,
        at key: RecordKey,
        expecting: Version?
    ) async throws(StoreError) -> Version {
        let version = self.version(behind: expecting)
        try await self.write(plaintext, at: key, as: version, expecting: expecting)
        return version
    }

    /// Seals `plaintext` and writes it as `version`, which must be larger than any that was ever read or written there.
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

/// Which store a record belongs to: drawn once, when the store is first opened, and carried along when it is moved.
package struct StoreID: RandomIdentifier {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }
}
