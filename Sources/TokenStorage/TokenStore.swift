package import TokenModel

/// A durable map of small sealed records with compare-and-set: all that claims, tokens, kills and audit are built on.
///
/// This is the contract for whoever writes a driver; `TokenStoreContract` in TestKit checks all of it.
///
/// - A record is ciphertext to a store: at most 64 KiB, never looked into, never changed.
/// - The *writer* names the version. A write stands only if the key's current version is `expecting` (`nil`: there is
///   no record), and then all readers see it, from any process, also after `kill -9`; a write that threw
///   ``StoreError/Code/unreachable`` may or may not stand, and its writer must read again.
/// - Versions of a key only grow. ``remove(_:expecting:)`` is therefore only for keys that contain a random id.
/// - Each call ends within 2 s, with ``StoreError/Code/unreachable`` if need be, and survives cancellation of its task.
/// - Nothing blocks an event loop: blocking drivers bring threads of their own.
package protocol TokenStore: Sendable {
    /// The record at `key`, or `nil` where there is none.
    func read(_ key: RecordKey) async throws(StoreError) -> StoredRecord?

    /// Puts `value` at `key` as `version`, if the current version is `expecting`; else throws
    /// ``StoreError/conflict(_:)`` with the record that is there.
    func write(
        _ value: SealedBytes,
        at key: RecordKey,
        as version: Version,
        expecting: Version?
    ) async throws(StoreError)

    /// Erases the record at `key`, if its version is `expecting`.
    func remove(_ key: RecordKey, expecting: Version) async throws(StoreError)

    /// Up to `limit` keys under `prefix` in ascending order of their UTF-8 bytes, beginning behind `after`. Fewer are the
    /// last that there are.
    func keys(under prefix: RecordKey.Prefix, after: RecordKey?, limit: Int) async throws(StoreError) -> [RecordKey]

    /// Keys that may have changed, by anyone. Hints: they may be lost, doubled or late.
    func changes() -> AsyncStream<RecordKey>
}

extension TokenStore {
    /// All keys under `prefix`, in ascending order of their UTF-8 bytes.
    package func allKeys(under prefix: RecordKey.Prefix) async throws(StoreError) -> [RecordKey] {
        let limit = 500
        var keys: [RecordKey] = []
        while true {
            let page = try await self.keys(under: prefix, after: keys.last, limit: limit)
            keys += page
            if page.count < limit { return keys }
        }
    }

    /// Writes behind what was read: the version after `expecting`, or the first.
    ///
    /// - Returns: the version written.
    package func write(
        _ value: SealedBytes,
        at key: RecordKey,
        expecting: Version?
    ) async throws(StoreError) -> Version {
        let version = expecting?.next ?? .first
        try await self.write(value, at: key, as: version, expecting: expecting)
        return version
    }
}
