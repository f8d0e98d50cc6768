internal import TokenModel

/// A wrapper around a store that reports each call that fails for another reason than a conflict.
///
/// Work on two stores uses it to tell which of them has failed.
struct FailureNotingTokenStore: TokenStore {
    private let store: any TokenStore
    private let failed: @Sendable (StoreError, _ isWrite: Bool) -> Void

    /// - Parameter failed: called before the error is thrown. It must return quickly.
    init(_ store: any TokenStore, failed: @escaping @Sendable (StoreError, _ isWrite: Bool) -> Void) {
        self.store = store
        self.failed = failed
    }

    var guarantees: StoreGuarantees { self.store.guarantees }

    func read(_ key: RecordKey) async throws(StoreError) -> StoredRecord? {
        do throws(StoreError) {
            return try await self.store.read(key)
        } catch {
            throw self.noted(error, isWrite: false)
        }
    }

    func write(
        _ value: SealedBytes,
        at key: RecordKey,
        as version: Version,
        expecting: Version?
    ) async throws(StoreError) {
        do throws(StoreError) {
            try await self.store.write(value, at: key, as: version, expecting: expecting)
        } catch {
            throw self.noted(error, isWrite: true)
        }
    }

    func remove(_ key: RecordKey, expecting: Version) async throws(StoreError) {
        do throws(StoreError) {
            try await self.store.remove(key, expecting: expecting)
        } catch {
            throw self.noted(error, isWrite: true)
        }
    }

    func records(
        under prefix: RecordKey.Prefix,
        after: RecordKey?,
        limit: Int
    ) async throws(StoreError) -> [KeyedRecord] {
        do throws(StoreError) {
            return try await self.store.records(under: prefix, after: after, limit: limit)
        } catch {
            throw self.noted(error, isWrite: false)
        }
    }

    func changes() -> AsyncStream<RecordChange> { self.store.changes() }

    private func noted(_ error: StoreError, isWrite: Bool) -> StoreError {
        if error.code != .conflict { self.failed(error, isWrite) }
        return error
    }
}
