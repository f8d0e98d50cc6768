package import TokenModel

/// A store whose key is proven to be the right one.
package struct OpenedStore: Sendable {
    package let store: any TokenStore
    /// The current keys, which ``records`` use.
    package var keyRing: KeyRing { self.keys.ring }
    package let storeID: StoreID
    let keys: LiveKeyRing
    /// How often the store was moved away when this process opened it; `nil`: that is not looked at. A gateway looks, so that it
    /// writes no account anew that has moved without it.
    package var moves: (@Sendable () -> UInt64)?

    /// - Parameters:
    ///   - source: where `keyRing` comes from, if its keys may change.
    ///   - sealing: the key of the canary, if that decides which key seals.
    init(
        store: any TokenStore,
        keyRing: KeyRing,
        from source: (any KeyRingSource)? = nil,
        sealing: SealingKey.ID? = nil,
        storeID: StoreID
    ) {
        self.store = store
        self.keys = LiveKeyRing(keyRing, from: source, sealing: sealing)
        self.storeID = storeID
    }

    /// Access to records of any kind: sealed on write, opened on read.
    package var records: SealedRecords {
        SealedRecords(store: self.store, keys: self.keys, storeID: self.storeID)
    }

    /// Access to the records of the accounts.
    package var accounts: AccountVault { AccountVault(self.records, moves: self.moves) }

    /// Opens a store. If it has a canary, the existing keys must open it. Otherwise the store is new, and `keys` makes
    /// a first key if it can. If several processes open a new store at once, all get the same keys.
    ///
    /// - Parameter mirror: what to do with a store that is a mirror of another one.
    /// - Throws: ``StoreError/Code/unreadable`` if the keys are missing, can't be read or are not this store's;
    ///   ``StoreError/Code/outdated`` for a mirror; any error of the store.
    package static func open(
        _ store: any TokenStore,
        keys: some KeyRingSource,
        mirror: MirrorTreatment = .refuse
    ) async throws(StoreError) -> OpenedStore {
        let mark = try await MirrorMark.read(in: store)?.mark
        if let refusal = mark?.refusal, mirror == .refuse { throw refusal }
        let opened = try await Self.open(store, keys: keys, isMirror: mark != nil)
        if mirror == .promote { try await MirrorMark.promote(store) }
        return opened
    }

    private static func open(
        _ store: any TokenStore,
        keys: some KeyRingSource,
        isMirror: Bool
    ) async throws(StoreError) -> OpenedStore {
        if let stored = try await store.read(.canary) {
            return try Self.open(store, stored, keys: keys)
        }
        guard !isMirror, try await store.records(under: .all, after: nil, limit: 1).isEmpty else {
            // Another process may have made the canary, and records after it, since this process looked for it.
            guard let stored = try await store.read(.canary) else {
                throw StoreError(
                    .unreadable,
                    isMirror
                        ? "the store is a mirror that has never been filled: there is nothing to go on from"
                        : "the store holds records and no canary, the record that names it: without it none of them opens; "
                            + "restore the store from a backup"
                )
            }
            return try Self.open(store, stored, keys: keys)
        }
        let keyRing = try Self.translating(keys) { keys throws(KeyRingError) in
            if let existing = try keys.existing() { existing } else { try keys.make() }
        }
        let canary = Canary(storeID: .random())
        do {
            let sealed = try canary.sealed(with: keyRing, as: .first)
            try await store.write(sealed, at: .canary, as: .first, expecting: nil)
            return Self.opened(store, keyRing, from: keys, sealed, canary)
        } catch {
            guard error.code == .conflict, let winner = error.current else { throw error }
            return try Self.open(store, winner, keys: keys)
        }
    }

    private static func open(
        _ store: any TokenStore,
        _ stored: StoredRecord,
        keys: some KeyRingSource
    ) throws(StoreError) -> OpenedStore {
        guard let keyRing = try Self.translating(keys, { keys throws(KeyRingError) in try keys.existing() }) else {
            throw StoreError(
                .unreadable,
                "the store is sealed and its key is missing at \(keys.name): put the key file back from its copy; "
                    + "a new key can't open what was sealed under another"
            )
        }
        do {
            let canary = try Canary(opening: stored, with: keyRing)
            return Self.opened(store, keyRing, from: keys, stored.value, canary)
        } catch {
            throw StoreError(
                .unreadable,
                "wrong sealing key in \(keys.name): the store's canary does not open (\(error.message)); "
                    + "use the key this store was made with, or the store this key belongs to"
            )
        }
    }

    private static func opened(
        _ store: any TokenStore,
        _ keyRing: KeyRing,
        from keys: some KeyRingSource,
        _ sealed: SealedBytes,
        _ canary: Canary
    ) -> OpenedStore {
        let isShared = store.guarantees.reach == .network
        return OpenedStore(
            store: store,
            keyRing: keyRing,
            from: keys,
            sealing: isShared ? sealed.keyID : nil,
            storeID: canary.storeID
        )
    }

    private static func translating<Keys: KeyRingSource, Result>(
        _ keys: Keys,
        _ body: (Keys) throws(KeyRingError) -> Result
    ) throws(StoreError) -> Result {
        do {
            return try body(keys)
        } catch {
            throw StoreError(.unreadable, "no sealing key: \(error.message)")
        }
    }
}

/// The record that names a store. It opens only under the right key, so a process with the wrong key fails at start.
package struct Canary: Equatable, Sendable {
    /// The id of the store.
    package let storeID: StoreID
    /// The ids of the keys that it was sealed under before, on a store that several hosts share.
    package internal(set) var formerKeys: [String] = []

    /// Makes the canary of a new store.
    package init(storeID: StoreID) {
        self.storeID = storeID
    }

    /// Format 2 has former keys.
    private static let formats: ClosedRange<UInt8> = 1...2

    /// The canary names the store, so it can't be sealed for a particular store.
    static func context(_ version: Version) -> SealingContext {
        SealingContext(store: StoreID(rawValue: ""), key: .canary, version: version)
    }

    /// The canary sealed as `version`.
    package func sealed(with keyRing: KeyRing, as version: Version) throws(StoreError) -> SealedBytes {
        let writer = FieldWriter(format: self.formerKeys.isEmpty ? 1 : 2)
        writer.write(self.storeID.rawValue)
        if !self.formerKeys.isEmpty { writer.write(self.formerKeys) { writer.write($0) } }
        return try keyRing.seal(writer.finish(), for: Self.context(version))
    }

    /// Opens a stored canary.
    ///
    /// - Throws: ``StoreError/Code/unreadable`` under any key other than its own.
    package init(opening stored: StoredRecord, with keyRing: KeyRing) throws(StoreError) {
        let plaintext = try keyRing.open(stored.value, for: Self.context(stored.version))
        var reader = try FieldReader(plaintext, formats: Self.formats)
        self.storeID = StoreID(rawValue: try reader.read())
        if reader.format == 2 {
            self.formerKeys = try reader.readArray { reader throws(StoreError) in try reader.read() }
        }
        try reader.finish()
    }
}
