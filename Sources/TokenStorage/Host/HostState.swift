package import TokenModel

/// Files and locks of one host that outlive a gateway process, or prove that it has ended, without the store.
///
/// The kill switch and the refresh engine use this port and know of no file. ``DirectoryHostState`` keeps the state in
/// a `state_dir`; ``NoHostState`` keeps nothing. The state is not needed while the store is reachable and every process
/// exits in order. It is for stores that are unreachable or have lost writes, and for processes that were killed.
package protocol HostState: IncarnationWitness, SuccessJournal, KillLogCopy {
    /// The guarantees that are missing, and the consequences of each, as text for operators. Empty if none is missing.
    var limitations: [String] { get async }
}

/// This host's copy of the kill log, and the kills that the store has not yet taken.
///
/// The copy detects a store that was restored from a backup or has lost acknowledged writes, and restores its kills. It
/// is never shortened.
package protocol KillLogCopy: Sendable {
    /// Whether the store ends with the process, so that only this copy outlives the process.
    var storeEndsWithProcess: Bool { get }

    /// All entries, in the order in which they were added.
    ///
    /// - Throws: ``StoreError/Code/unreadable`` if they are damaged.
    func entries() async throws(StoreError) -> [KillLogFileEntry]

    /// Adds the entries that are not there yet. They survive a power loss once this returns.
    ///
    /// - Throws: ``StoreError/Code/unwritable``.
    func add(_ entries: [KillLogFileEntry]) async throws(StoreError)

    /// Saves a kill that the store does not take, so that it outlives this process.
    ///
    /// - Throws: ``StoreError/Code/unwritable`` if it can't be saved.
    func keep(pendingKill bytes: Secret, id: String) async throws(StoreError)

    /// The kills that were saved and not dropped. For a damaged one, the reason why it can't be read.
    func pendingKills() async throws(StoreError) -> [Result<Secret, StoreError>]

    /// Deletes a saved kill that the store has taken and the audit log has recorded.
    ///
    /// - Returns: whether it was still there.
    @discardableResult
    func drop(pendingKill id: String) async -> Bool
}

/// A host state that keeps nothing: only what is in the store outlives this process.
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
    package var storeEndsWithProcess: Bool { false }
    package func entries() async throws(StoreError) -> [KillLogFileEntry] { [] }
    package func add(_ entries: [KillLogFileEntry]) async throws(StoreError) {}
    package func pendingKills() async throws(StoreError) -> [Result<Secret, StoreError>] { [] }
    package func drop(pendingKill id: String) async -> Bool { false }

    package func keep(pendingKill bytes: Secret, id: String) async throws(StoreError) {
        throw StoreError(.unwritable, "this process has no state_dir")
    }
}
