internal import TokenModel
internal import TokenStorage

/// A store that repeats calls without a response. A driver gives up after two seconds, which a busy machine may take for
/// anything.
struct PatientTokenStore: TokenStore {
    let store: any TokenStore

    private static let patience = Duration.seconds(60)

    var guarantees: StoreGuarantees { self.store.guarantees }

    func read(_ key: RecordKey) async throws(StoreError) -> StoredRecord? {
        try await self.repeated { () async throws(StoreError) in try await self.store.read(key) }
    }

    func write(
        _ value: SealedBytes,
        at key: RecordKey,
        as version: Version,
        expecting: Version?
    ) async throws(StoreError) {
        let record = StoredRecord(version: version, value: value)
        try await self.repeated(isDone: { $0 == record }) { () async throws(StoreError) in
            try await self.store.write(value, at: key, as: version, expecting: expecting)
        }
    }

    func remove(_ key: RecordKey, expecting: Version) async throws(StoreError) {
        try await self.repeated(isDone: { $0 == nil }) { () async throws(StoreError) in
            try await self.store.remove(key, expecting: expecting)
        }
    }

    func records(
        under prefix: RecordKey.Prefix,
        after: RecordKey?,
        limit: Int
    ) async throws(StoreError) -> [KeyedRecord] {
        try await self.repeated { () async throws(StoreError) in
            try await self.store.records(under: prefix, after: after, limit: limit)
        }
    }

    func changes() -> AsyncStream<RecordChange> { self.store.changes() }

    /// - Parameter isDone: whether a call that was repeated finds what the one before has done, in a conflict with it.
    private func repeated<Value>(
        isDone: (StoredRecord?) -> Bool = { _ in false },
        _ call: () async throws(StoreError) -> Value
    ) async throws(StoreError) -> Value where Value: Sendable {
        let end = ContinuousClock.now + Self.patience
        var isRepeated = false
        while true {
            do throws(StoreError) {
                return try await call()
            } catch {
                if isRepeated, error.code == .conflict, isDone(error.current), let done = () as? Value { return done }
                guard error.code == .unreachable, ContinuousClock.now < end else { throw error }
            }
            isRepeated = true
        }
    }
}
