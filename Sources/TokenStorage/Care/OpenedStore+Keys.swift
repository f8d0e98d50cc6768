extension OpenedStore {
    /// The same with other keys of the store.
    package func with(_ keyRing: KeyRing) -> OpenedStore {
        OpenedStore(store: self.store, keyRing: keyRing, storeID: self.storeID)
    }

    /// Opens a store that is there; makes nothing.
    ///
    /// - Throws: as ``open(_:keys:)``; ``StoreError/Code/unreadable`` also where no gateway has used the store yet.
    package static func openExisting(
        _ store: any TokenStore,
        keys: some KeyRingSource
    ) async throws(StoreError) -> OpenedStore {
        guard try await store.read(.canary) != nil else {
            let isEmpty = try await store.records(under: .all, after: nil, limit: 1).isEmpty
            throw StoreError(
                .unreadable,
                isEmpty
                    ? "the store holds nothing yet; it is made when a gateway first starts"
                    : "the store holds records and no canary, the record that names it; restore the store from a backup"
            )
        }
        return try await Self.open(store, keys: keys)
    }
}

extension KeyRing {
    /// Of all keys, the one that seals first.
    package var ids: [SealingKey.ID] { ([self.current] + self.retired).map(\.id) }

    /// Whether it can open what is sealed under that key.
    package func holds(_ id: SealingKey.ID) -> Bool { self.ids.contains(id) }
}

extension SealedBytes {
    /// Which key they say they are sealed under; `nil` for what is no sealed record.
    package var keyID: SealingKey.ID? { try? self.layout().keyID }
}
