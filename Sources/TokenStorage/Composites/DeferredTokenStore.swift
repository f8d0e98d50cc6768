package import TokenModel

/// A store that is opened when it can be reached, and anew when its server has lost all records: a mirror that is away must
/// not keep a gateway from starting, and one that comes back empty is filled again.
package actor DeferredTokenStore: TokenStore {
    package nonisolated let guarantees: StoreGuarantees
    private let open: @Sendable () async throws(StoreError) -> any TokenStore
    private let isLost: @Sendable (any TokenStore) -> Bool
    private let timepiece: Timepiece
    private var store: (any TokenStore)?
    private var opening: Task<Void, Never>?
    private var retryAt = BootInstant.distantPast
    private var failure = StoreError(.unreachable, "the store was not opened yet")
    private let broadcaster = ChangeBroadcaster()

    private static let pause = Duration.seconds(1)

    /// - Parameters:
    ///   - guarantees: those of the store.
    ///   - store: the store, if it is open already.
    ///   - isLost: whether an open store has to be opened anew. Asked when a call has failed.
    ///   - open: opens it. Called again about once a second while calls are made, until it succeeds.
    package init(
        _ guarantees: StoreGuarantees,
        store: (any TokenStore)? = nil,
        timepiece: Timepiece = .system,
        isLost: @escaping @Sendable (any TokenStore) -> Bool = { _ in false },
        open: @escaping @Sendable () async throws(StoreError) -> any TokenStore
    ) {
        self.guarantees = guarantees
        self.timepiece = timepiece
        self.store = store
        self.isLost = isLost
        self.open = open
    }

    /// The open store. The first call that comes while it is closed begins to open it, and does not wait for that.
    private func opened() throws(StoreError) -> any TokenStore {
        if let store = self.store { return store }
        if self.opening == nil, self.timepiece.now.boot >= self.retryAt {
            self.opening = Task { await self.openOnce() }
        }
        throw StoreError(.unreachable, self.failure.message)
    }

    private func openOnce() async {
        do throws(StoreError) {
            self.store = try await self.open()
        } catch {
            self.failure = error
            self.retryAt = self.timepiece.now.boot.advanced(by: Self.pause)
        }
        self.opening = nil
    }

    private func call<Value: Sendable>(
        _ body: (any TokenStore) async throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        let store = try self.opened()
        do throws(StoreError) {
            return try await body(store)
        } catch {
            if error.code == .unreachable, self.isLost(store) { self.store = nil }
            throw error
        }
    }

    package func read(_ key: RecordKey) async throws(StoreError) -> StoredRecord? {
        try await self.call { store throws(StoreError) in try await store.read(key) }
    }

    package func write(
        _ value: SealedBytes,
        at key: RecordKey,
        as version: Version,
        expecting: Version?
    ) async throws(StoreError) {
        try await self.call { store throws(StoreError) in
            try await store.write(value, at: key, as: version, expecting: expecting)
        }
    }

    package func remove(_ key: RecordKey, expecting: Version) async throws(StoreError) {
        try await self.call { store throws(StoreError) in try await store.remove(key, expecting: expecting) }
    }

    package func records(
        under prefix: RecordKey.Prefix,
        after: RecordKey?,
        limit: Int
    ) async throws(StoreError) -> [KeyedRecord] {
        try await self.call { store throws(StoreError) in
            try await store.records(under: prefix, after: after, limit: limit)
        }
    }

    /// Ends only with this object: nobody listens to a mirror.
    package nonisolated func changes() -> AsyncStream<RecordChange> { self.broadcaster.listen() }
}
