package import TokenModel

/// A store that can't be reached yet, and is opened when it can: a mirror that is away must not keep a gateway from
/// starting.
package actor DeferredTokenStore: TokenStore {
    package nonisolated let guarantees: StoreGuarantees
    private let open: @Sendable () async throws(StoreError) -> any TokenStore
    private let timepiece: Timepiece
    private var store: (any TokenStore)?
    private var opening: Task<Void, Never>?
    private var retryAt = BootInstant.distantPast
    private var failure = StoreError(.unreachable, "the store was not opened yet")
    private let broadcaster = ChangeBroadcaster()

    private static let pause = Duration.seconds(1)

    /// - Parameters:
    ///   - guarantees: those of the store.
    ///   - open: opens it. Called again about once a second while calls are made, until it succeeds.
    package init(
        _ guarantees: StoreGuarantees,
        timepiece: Timepiece = .system,
        open: @escaping @Sendable () async throws(StoreError) -> any TokenStore
    ) {
        self.guarantees = guarantees
        self.timepiece = timepiece
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

    package func read(_ key: RecordKey) async throws(StoreError) -> StoredRecord? {
        try await self.opened().read(key)
    }

    package func write(
        _ value: SealedBytes,
        at key: RecordKey,
        as version: Version,
        expecting: Version?
    ) async throws(StoreError) {
        try await self.opened().write(value, at: key, as: version, expecting: expecting)
    }

    package func remove(_ key: RecordKey, expecting: Version) async throws(StoreError) {
        try await self.opened().remove(key, expecting: expecting)
    }

    package func records(
        under prefix: RecordKey.Prefix,
        after: RecordKey?,
        limit: Int
    ) async throws(StoreError) -> [KeyedRecord] {
        try await self.opened().records(under: prefix, after: after, limit: limit)
    }

    /// Ends only with this object: nobody listens to a mirror.
    package nonisolated func changes() -> AsyncStream<RecordChange> { self.broadcaster.listen() }
}
