package import TokenModel

/// A durable map of small sealed records with compare-and-set: all that claims, tokens, kills and audit are built on.
///
/// This is the contract for whoever writes a driver; `TokenStoreContract` in TestKit checks all of it.
///
/// - A record is ciphertext to a store: at most 64 KiB, never looked into, never changed.
/// - The *writer* names the version. A write stands only if the key's current version is `expecting` (`nil`: there is
///   no record), and then all readers see it, from any process, also after `kill -9`; a write that threw
///   ``StoreError/Code/unreachable`` may or may not stand, and its writer must read again.
/// - Compare-and-set is linearizable per key, and real-time order holds across keys: who starts after a write was
///   acknowledged sees it, on the node that took it.
/// - Where ``StoreGuarantees/reach`` is `.network` a *read* may be stale (an isolated old primary goes on answering); a
///   write that is acknowledged is not. What a failover loses is what ``StoreGuarantees/failover`` says: nothing, or a
///   suffix of one order over all keys that agrees with real time, never a hole.
/// - What a store object reads is never older than its own last acknowledged write, also where it has connected anew in
///   between: joining the replicas and raising a kill rest on that.
/// - Errors of a failover are ``StoreError/Code/unreachable``, and such a write may land later;
///   ``StoreError/Code/unwritable`` is for what does not pass by itself.
/// - Versions of a key only grow. ``remove(_:expecting:)`` is therefore only for keys that contain a random id.
/// - Versions are unsigned 64-bit numbers: a database keeps them in its signed type by bit pattern, none as a
///   floating-point number.
/// - Each call ends within 2 s, with ``StoreError/Code/unreachable`` if need be, and survives cancellation of its task.
/// - Nothing blocks an event loop: blocking drivers bring threads of their own.
package protocol TokenStore: Sendable {
    /// What this store promises beyond the above, and what it does not.
    var guarantees: StoreGuarantees { get }

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

    /// Up to `limit` records under `prefix` in ascending order of their keys' UTF-8 bytes, beginning behind `after`.
    ///
    /// A page is bounded in bytes too (``StoreGuarantees/largestPage``), so only an empty one is the end, or a short one
    /// where no more than ``StoreGuarantees/uncutPage`` were asked for. Pages are no snapshot: a key that is there throughout appears once, one that comes or goes meanwhile may or may not.
    func records(
        under prefix: RecordKey.Prefix,
        after: RecordKey?,
        limit: Int
    ) async throws(StoreError) -> [KeyedRecord]

    /// Records that may have changed, by anyone. Hints: they may be lost, doubled or late.
    func changes() -> AsyncStream<RecordChange>
}

extension TokenStore {
    /// Calls `body` with each record under `prefix`, in ascending order of their keys' UTF-8 bytes, a page at a time.
    package func forEachRecord(
        under prefix: RecordKey.Prefix,
        _ body: (KeyedRecord) async throws(StoreError) -> Void
    ) async throws(StoreError) {
        var last: RecordKey?
        while true {
            let page = try await self.records(under: prefix, after: last, limit: 500)
            guard let end = page.last?.key else { return }
            for record in page { try await body(record) }
            last = end
        }
    }
}
