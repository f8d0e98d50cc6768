package import TokenModel
package import TokenStorage

extension KillMachine {
    /// What the shell has to do next for a poll.
    package enum PollAction: Equatable {
        /// → ``didReadReplica(_:sealsAnew:)``
        case readReplica(ReplicaID)
        /// Compare-and-set → ``didWriteReplica(_:)``
        case writeReplica(ReplicaRecord, ReplicaID, as: Version, expecting: Version?)
        /// All entries behind, or the whole log → ``didReadLog(_:)``
        case readLog(behind: Epoch)
        /// Put the entry at that number, if nothing is there → ``didPlace(_:)``
        case place(KillEntry, at: Epoch)
        /// Fence this process by the log, of which something is new (``FencedLog/fencing(by:)``) → ``didFence()``
        case fence(KillLogContents)
        /// The poll is over; `nil`: there is a lease.
        case end(StoreError?)
    }

    /// What came of a write of one's own record.
    package enum ReplicaWrite: Sendable {
        case stands(Version)
        /// Another write came before, by whomever.
        case conflict(ReplicaVault.Entry?)
        case failed(StoreError)
    }

    /// Something worth a line in the log.
    package enum Notice: Equatable, Sendable {
        case removedFromList
        case restored(count: Int)
        case foreignLog
        case unacknowledged(StoreError.Code)
        case waiting(StoreError.Code)
    }

    /// What the shell has to do next to find out whether a kill is complete. Several may wait for one kill at once.
    package enum WaitAction: Equatable {
        /// Find the version of the kill's entry, then list all replicas, those left out whose process has ended for certain →
        /// ``didList(_:behind:for:at:)``
        case list(KillID)
        /// Read these → ``saw(_:_:for:at:)`` of each, then ``wait(for:)``
        case read([ReplicaID])
        /// Expel these, each at its version → ``saw(_:_:for:at:)`` or ``expelled(_:for:)`` of each, then ``wait(for:)``
        case expel([ReplicaVault.Entry])
        /// Read the kill's entry: a store that has lost it may have another's there, or the same as another version →
        /// ``entryWasRewritten(_:)``; else the kill is complete
        case check(KillID, Version)
        /// Find out whether another replica has said that it is complete; else pause.
        case lookForEnd
        case nothing
    }
}

extension StoreError {
    /// The log goes another way than the one this process went by.
    static let foreignLog = StoreError(
        .outdated,
        "the kill log in the store is not the one this replica went by: the store was put back, and others have written to it "
            + "since; no token is used here until a restart with --accept-older-store"
    )
    static let logLosing = StoreError(.unreachable, "the kill log lacks again and again what was written back to it")
    static let recordContended = StoreError(.unreachable, "this replica's record was written by others each time")
}
