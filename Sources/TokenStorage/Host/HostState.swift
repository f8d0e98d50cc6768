package import TokenModel

/// What lives beside the process on its host: it outlives the process, or proves its end, without the store.
///
/// The kill switch and the refresh engine go by this port and know no file. ``DirectoryHostState`` keeps it in a `state_dir`;
/// ``NoHostState`` keeps nothing. Nothing here is needed while the store answers and every process stops in order: it is for
/// stores that are away or have lost writes, and for processes that were killed.
package protocol HostState: IncarnationWitness, SuccessJournal, KillLogCopy {
    /// What is missing here, and what that costs, for people; empty where nothing is.
    var limitations: [String] { get async }
}

/// This host's own copy of the kill log, and kills that the store has not taken yet.
///
/// By the copy a store that was put back from a backup, or has lost acknowledged writes, is found out, and what was killed
/// stays dead. It is never shortened.
package protocol KillLogCopy: Sendable {
    /// Whether the store ends with the process, so that only what stands here outlives it.
    var isAllThatLasts: Bool { get }

    /// All entries, in the order in which they came.
    ///
    /// - Throws: ``StoreError/Code/unreadable`` where they are damaged.
    func entries() async throws(StoreError) -> [KeptEntry]

    /// Adds those that are not there yet; they would survive a loss of power when this returns.
    ///
    /// - Throws: ``StoreError/Code/unwritable``.
    func add(_ entries: [KeptEntry]) async throws(StoreError)

    /// Keeps a kill that the store does not take, past the end of this process.
    ///
    /// - Throws: ``StoreError/Code/unwritable`` where it ends with the process.
    func keep(pendingKill bytes: Secret, id: String) async throws(StoreError)

    /// The kills that were kept and not dropped; for one that is damaged, why it can't be read.
    func pendingKills() async throws(StoreError) -> [Result<Secret, StoreError>]

    /// Forgets a kill that stands in the store and was recorded.
    ///
    /// - Returns: whether it was there still.
    @discardableResult
    func drop(pendingKill id: String) async -> Bool
}

/// Nothing outlives this process but what the store has.
package struct NoHostState: HostState {
    package init() {}

    package var limitations: [String] {
        [
            "other processes can't prove that this one has ended: after a crash they wait for its claims and its lease",
            "new tokens that the store does not take end with this process",
            "a store that was put back from a backup is not found out at a start",
            "a kill that the store does not take ends with this process",
        ]
    }

    package func isDead(_ incarnation: IncarnationID) async -> Bool { false }
    package func keep(_ record: AccountRecord, for account: AccountID) async -> JournalPlace? { nil }
    package func release(_ place: JournalPlace) async {}
    package var isAllThatLasts: Bool { false }
    package func entries() async throws(StoreError) -> [KeptEntry] { [] }
    package func add(_ entries: [KeptEntry]) async throws(StoreError) {}
    package func pendingKills() async throws(StoreError) -> [Result<Secret, StoreError>] { [] }
    package func drop(pendingKill id: String) async -> Bool { false }

    package func keep(pendingKill bytes: Secret, id: String) async throws(StoreError) {
        throw StoreError(.unwritable, "this process has no state_dir")
    }
}
