package import OAuth
package import TokenModel
package import TokenStorage

/// What a flight leaves behind.
package struct FlightOutcome: Equatable, Sendable {
    /// How it ended.
    package enum Result: Equatable, Sendable {
        /// New tokens are durable in the store.
        case committed
        /// The store holds what was asked for, or another grant: look at ``FlightOutcome/snapshot``.
        case settled
        case failed(CredentialError)
    }

    /// What those who wait are to be told.
    package internal(set) var result: Result
    /// The record as last read or written; `nil` if it never could be.
    package let snapshot: RecordSnapshot?
    /// What the provider's answers said about Martlet's own client; nothing where they did not, or there were none.
    package var lesson = ProviderHold.Lesson.nothing
    /// The last reason for no tokens, for the log.
    package var failure: RefreshFailure?
    /// Why there are no tokens, where the store did not take that: it stands in no record, and the claim stays.
    package var unwritten: CredentialError?
    /// Set by the one flight that wrote into the record that its grant is dead.
    package var declaredDead = false
    /// Tokens the provider issued and the store has no place for any more: another grant or generation stands there.
    package var dropped: TokenGrant?
    /// The same of a refresh token that came alone.
    package var droppedRefreshToken: Secret?
    /// What would have been stored with either.
    package var droppedRecord: AccountRecord?
    /// Tokens that stand in the journal and not in the store: whoever takes this incarnation's journal over commits them.
    package var leavesJournal = false
    /// What is known of another process's claim.
    package var watch = ClaimWatch()
    /// Times that the refresh token went, or may have gone, to the provider.
    package var uses = 0

    package init(_ result: Result, snapshot: RecordSnapshot?) {
        self.result = result
        self.snapshot = snapshot
    }
}
