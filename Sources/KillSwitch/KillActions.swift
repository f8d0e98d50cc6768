package import TokenModel
package import TokenStorage

extension KillMachine {
    /// The next step of a poll, for the shell to perform. Each leads to the event after the arrow.
    package enum PollAction: Equatable {
        /// → ``didReadReplica(_:sealsAnew:)``
        case readReplica(ReplicaID)
        /// Compare-and-set → ``didWriteReplica(_:)``
        case writeReplica(ReplicaRecord, ReplicaID, as: Version, expecting: Version?)
        /// Read all entries behind that number, or the whole log → ``didReadLog(_:)``
        case readLog(behind: Epoch)
        /// Place the entry at that number, if the number is free → ``didPlace(_:)``
        case place(KillEntry, at: Epoch)
        /// Fence this process by the log, which has new entries (``FencedLog/fencing(by:)``) → ``didFence()``
        case fence(KillLogContents)
        /// Start no call of this store any more, and find out whether all have ended → ``didLeave(_:)``
        case leave
        /// The poll is over; `nil`: it succeeded.
        case end(StoreError?)
    }

    /// The result of a write of our own record.
    package enum ReplicaWrite: Sendable {
        case stands(Version)
        /// Another write came first, by any process.
        case conflict(ReplicaVault.Entry?)
        case failed(StoreError)
    }

    /// An event worth a log entry.
    package enum Notice: Equatable, Sendable {
        case removedFromList
        case restored(count: Int)
        case foreignLog
        case unacknowledged(StoreError.Code)
        case waiting(StoreError.Code)
    }

    /// The next step towards finding out whether a kill is complete. Several tasks may wait for one kill at once.
    package enum WaitAction: Equatable {
        /// Find the version of the kill's entry, then list all replicas except those whose process has ended for
        /// certain → ``didList(_:behind:for:at:)``
        case list(KillID)
        /// Read these records → ``saw(_:_:for:at:)`` for each, then ``wait(for:)``
        case read([ReplicaID])
        /// Expel these replicas, each at its version → ``saw(_:_:for:at:)`` or ``expelled(_:for:)`` for each, then
        /// ``wait(for:)``
        case expel([ReplicaVault.Entry])
        /// Read the kill's entry. A store that has lost it may have another entry there, or the same entry as another
        /// version → ``entryWasRewritten(_:)``. Otherwise the kill is complete.
        case check(KillID, Version)
        /// Find out whether another replica has recorded that the kill is complete; if not, pause.
        case lookForEnd
        case nothing
    }
}

extension StoreError {
    /// The log in the store has diverged from the one that this process has applied.
    static let foreignLog = StoreError(
        .outdated,
        "the kill log in the store is not the one this replica went by: the store was put back, and others have written to it "
            + "since; no token is used here until a restart with --accept-older-store"
    )
    /// The records are in another store, or on their way there.
    static let movedAway = StoreError(
        .moved,
        "the records are moved to another store, and this gateway is not configured for it: name that store in its "
            + "configuration, and restart it"
    )
    /// All replicas go over to another store, and this one waits for the others.
    static let moving = StoreError(.moved, "the replicas go over to another store at this moment")
    /// A lock stands in the log, and this start does not override it.
    static func locked(_ entry: KillEntry) -> StoreError {
        StoreError(
            .locked,
            "all replicas were locked at \(entry.at.rfc3339) (\(entry.reason)); martlet unlock opens this one"
        )
    }
    static let logLosing = StoreError(.unreachable, "the kill log lacks again and again what was written back to it")
    static let logIncomplete = StoreError(.unreachable, "the store has lost a part of the kill log's snapshot")
    static let recordContended = StoreError(.unreachable, "this replica's record was written by others each time")
}

/// The part of this process that a kill stops: everything that holds tokens in memory or is about to get some.
package protocol KillFence: Sendable {
    /// Applies `epochs`. After it returns, no request with a token that `epochs` kills is written, and requests that
    /// wait for such a token have been told. Requests in progress with such tokens are aborted, except those that
    /// ``KillEpochs/mayEnd(with:of:at:)`` allows to finish.
    ///
    /// - Returns: how many requests with dead tokens were left to finish.
    func fence(_ epochs: KillEpochs) async -> Int

    /// All replicas are locked. After it returns, no request with a token is written, and none is answered from memory.
    /// The replica then says in the store that it has acted on `entry`, and goes on: ``KillSwitch/lockOrders`` asks for
    /// the rest of the lock.
    func locked(_ entry: KillEntry) async

    /// An import has replaced the account's tokens: what memory holds of the account is read again.
    func replaced(_ account: AccountID) async

    /// Tokens may be put into requests until `instant`. Each call replaces the one before. Before the first call no
    /// token may be used.
    func setLeaseDeadline(_ instant: BootInstant)
}
