package import TokenModel

/// A durable map of small sealed records with compare-and-set. Replicas share it; claims, tokens, kills, leases and the
/// audit log are records in it.
///
/// This comment is the contract for the author of a driver. The driver's tests run each clause of `TokenStoreContract`
/// (TestKit) on a new, empty store. Where they can cause an outage or kill a process, they also run its `checkOutage`
/// and `checkWhatWasKilled`. No clause can cause a failover or observe a stale read; what is said about those here
/// binds a driver all the same.
///
/// **Values and keys**
///
/// - A value is ciphertext of 0 to 65,536 bytes (``SealedBytes/maximumCount``). A store never interprets or changes it.
/// - A key is any Unicode text, including the empty text and text with U+0000. Keys are equal if their UTF-8 bytes are
///   equal, and ordered by these bytes. So a driver does no normalization, case folding, trimming or collation; a
///   binary column is safest. A store takes keys of at least 1,024 bytes; those in use are shorter than 512 bytes.
///
/// **Versions**
///
/// - The *writer* chooses the version of a write, by ``StoreGuarantees/version(behind:)``; a driver never calls that. It must be greater than
///   `expecting`, or at least 1 where `expecting` is `nil`. It may skip any number of versions.
/// - Versions are unsigned 64-bit numbers up to `UInt64.max`. A database with signed integers stores the bit pattern,
///   because a driver only tests versions for equality. No version may pass through a floating-point number.
///
/// **Writes and removals**
///
/// - A write or removal succeeds only if the version of the record at the key is `expecting` (`nil`: there is no
///   record). Otherwise it changes nothing and throws ``StoreError/conflict(_:)`` with the record that is there.
/// - Compare-and-set is linearizable per key. If several first writes of a key race, exactly one succeeds.
/// - Real-time order holds across keys: an operation that starts after a write was acknowledged sees that write, on the
///   node that acknowledged it.
/// - An acknowledged write is visible through every store object in every process, within the limits that the sections
///   on stale reads and failover set. It survives `kill -9` of the process that wrote it, and a loss of power of its
///   node. A reader may see a write shortly before it is acknowledged.
/// - A write or removal that throws ``StoreError/Code/unreachable`` has an unknown outcome: it is done, is not done, or
///   is done later. Its caller reads again. One that throws ``StoreError/Code/unwritable`` has changed nothing; if
///   that is uncertain, a driver throws `unreachable`.
///
/// **Stale reads**
///
/// - Where ``StoreGuarantees/reach`` is `.process` or `.host`, no read is stale.
/// - Where it is `.network`, a read or listing may be stale, because an isolated former primary still responds to
///   reads. It must not acknowledge writes.
/// - No store object reads or lists a state older than its own last acknowledged write or removal, or than the record
///   that its last conflict carried. This also holds after it has reconnected in between. Joining the replicas and
///   raising a kill rely on it.
/// - While nothing fails, no read is stale, and no reader sees the version of a record fall.
///
/// **Failover**
///
/// - ``StoreGuarantees/failover`` says what a failover may lose: nothing, or the last writes in one order over all keys
///   that agrees with real time. It never leaves a hole, which is a lost write before one that is kept.
/// - During a failover or another outage, a write or removal throws ``StoreError/Code/unreachable``. A read or listing
///   throws the same, or returns what it can. ``StoreError/Code/unwritable`` is for failures that do not pass by
///   themselves, such as a full disk.
/// - After the outage the same store object works again.
///
/// **Calls**
///
/// - Each call ends within 2 s, if need be with ``StoreError/Code/unreachable``.
/// - Cancellation of the calling task does not stop a call: it is carried out and returns its result.
/// - At least 256 calls may be in progress at once.
/// - No call blocks an event loop or a thread of the concurrency runtime. A driver that blocks uses threads of its own,
///   such as an actor on a ``BlockingExecutor``.
///
/// **Opening and errors**
///
/// - A driver opens by a function of its own, which throws ``StoreError`` and creates what is missing where it can.
///   Releasing the store object closes it and ends its streams. A driver whose closing can wait has a function for that
///   too.
/// - A read that fails for any reason but a damaged record throws ``StoreError/Code/unreachable``. A driver never throws
///   ``StoreError/Code/outdated``.
package protocol TokenStore: Sendable {
    /// What this store promises beyond the contract, and what it does not. It does not change during the life of the
    /// store object: callers keep copies.
    var guarantees: StoreGuarantees { get }

    /// The record at `key`, or `nil` if there is none.
    ///
    /// - Throws: ``StoreError/Code/unreachable``; ``StoreError/Code/unreadable`` if what is stored at `key` is not a
    ///   record.
    func read(_ key: RecordKey) async throws(StoreError) -> StoredRecord?

    /// Writes `value` at `key` as `version`, if the current version there is `expecting`. The write is durable when
    /// this returns.
    ///
    /// - Parameter expecting: the version to replace; `nil`: there is no record at `key` yet.
    /// - Throws: ``StoreError/Code/invalid`` for a value over 64 KiB or a version that does not grow, before anything
    ///   else is checked (``StoreError/checkWrite(_:at:as:expecting:)``); ``StoreError/Code/conflict`` with the record
    ///   that is there (`nil`: none); ``StoreError/Code/unreachable`` where the outcome is unknown;
    ///   ``StoreError/Code/unwritable``; ``StoreError/Code/unreadable`` if what is stored at `key` is not a record.
    func write(
        _ value: SealedBytes,
        at key: RecordKey,
        as version: Version,
        expecting: Version?
    ) async throws(StoreError)

    /// Removes the record at `key`, if its version is `expecting`.
    ///
    /// A store does not remember the version of a removed record: the next write at `key` expects `nil` and may have
    /// any version, even a lower one. Readers rely on versions that only grow. So callers remove only records whose key
    /// contains a random id or a token's name (``StoreID/name(of:)``), and kill log entries that a snapshot has
    /// replaced.
    ///
    /// - Throws: ``StoreError/Code/conflict`` with the record that is there (`nil`: there is none at `key`), and
    ///   otherwise as ``write(_:at:as:expecting:)``.
    func remove(_ key: RecordKey, expecting: Version) async throws(StoreError)

    /// A page of the records whose keys' UTF-8 bytes begin with those of `prefix`, in ascending order of these bytes.
    ///
    /// A page is limited in bytes too: its values have at most ``StoreGuarantees/largestPage`` bytes together, except
    /// that its first record always fits. So an empty page is the end of a listing. A page with fewer than `limit`
    /// records is the end only if `limit` is at most ``StoreGuarantees/uncutPage``, because byte limits never cut such
    /// a page.
    ///
    /// One page shows one moment; `KillLog` relies on this. Several pages do not: a key that exists throughout the
    /// listing appears exactly once, a key that is written or removed meanwhile may or may not appear.
    ///
    /// - Parameters:
    ///   - prefix: ``RecordKey/Prefix/all`` lists every key.
    ///   - after: the page begins with the first key greater than this one. There need not be a record at `after`, and
    ///     it need not begin with `prefix`.
    ///   - limit: the most records on the page, up to `Int.max`.
    /// - Throws: ``StoreError/Code/invalid`` for a limit below 1 (``StoreError/checkLimit(_:)``);
    ///   ``StoreError/Code/unreachable``; ``StoreError/Code/unreadable`` if something on the page is not a record.
    ///   ``KeyedRecord/page(of:under:after:limit:_:)`` makes a page where all keys can be listed in memory.
    func records(
        under prefix: RecordKey.Prefix,
        after: RecordKey?,
        limit: Int
    ) async throws(StoreError) -> [KeyedRecord]

    /// A stream of hints about records that may have changed, whoever wrote them.
    ///
    /// Hints may be lost, duplicated or late, so callers work without them. In undisturbed operation, though, a stream
    /// gets a hint for each key that is written after this method has returned, through any store object in any
    /// process, including this one. Any number of streams may be open at once. A removal need not be hinted at.
    /// ``RecordChange/version`` is the version that was written, or `nil`. A driver that has lost its connection announces
    /// ``RecordChange/everything`` or ``RecordChange/anotherServer`` when it is back.
    ///
    /// The stream ends when the task that reads it is cancelled. A later call returns a new, working stream.
    /// ``ChangeBroadcaster`` does all this for one store object: announce its own writes, and what the driver learns of
    /// those of others.
    func changes() -> AsyncStream<RecordChange>
}

extension TokenStore {
    /// Calls `body` with each record under `prefix`, in ascending order of the UTF-8 bytes of the keys. Reads a page at
    /// a time.
    package func forEachRecord(
        under prefix: RecordKey.Prefix,
        _ body: (KeyedRecord) async throws(StoreError) -> Void
    ) async throws(StoreError) {
        var last: RecordKey?
        while true {
            let page = try await self.records(under: prefix, after: last, limit: StoreGuarantees.listing)
            guard let end = page.last?.key else { return }
            for record in page { try await body(record) }
            last = end
        }
    }
}
