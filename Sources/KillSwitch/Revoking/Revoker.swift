internal import Logging
internal import OAuth
package import ProviderClient
internal import Synchronization
package import TokenModel
package import TokenStorage

/// Takes killed tokens out of the accounts' records, and has their providers revoke them (RFC 7009).
///
/// A token is first stored for revocation, then taken out of its account's record. So it is neither lost in between nor
/// used again. Every replica does this; a later one finds it done. One replica asks the provider, and its claim is in
/// the token's record meanwhile.
package struct Revoker: Sendable {
    /// Returns where tokens with a given binding are revoked.
    package typealias Targets = @Sendable (AccountRecord.Binding) -> RevocationTarget?

    let revocations: RevocationVault
    let accounts: AccountVault
    let tallies: TallyBook
    let incarnation: IncarnationID
    /// Knows which other incarnations have ended for certain.
    let witness: any IncarnationWitness
    let timepiece: Timepiece
    let logger: Logger
    let target: Targets
    let schedule = RevocationSchedule()
    let claims = WatchedClaims()
    let lanes = LockedLanes()

    init(
        _ records: SealedRecords,
        incarnation: IncarnationID,
        witness: any IncarnationWitness,
        timepiece: Timepiece,
        logger: Logger,
        target: @escaping Targets
    ) {
        self.revocations = RevocationVault(records)
        self.accounts = AccountVault(records)
        self.tallies = TallyBook(records)
        self.incarnation = incarnation
        self.witness = witness
        self.timepiece = timepiece
        self.logger = logger
        self.target = target
    }

    /// Stores the tokens of a record for revocation, as the entry numbered `epoch` takes them away.
    func storeForRevocation(
        _ record: AccountRecord,
        of account: AccountID,
        takenBy epoch: Epoch
    ) async throws(StoreError) {
        let tokens = RevocationRecord.tokens(of: record, account, killedBy: epoch, at: self.timepiece.now.wall)
        try await tokens.readEach { token throws(StoreError) in
            try await self.revocations.put(token)
        } found: { token, isNew in
            if isNew { self.tallies.note(nil, token) }
        }
    }
}

/// Where tokens are revoked, and how often this process asks there.
package struct RevocationTarget: Sendable {
    package let endpoint: any TokenEndpoint
    package let rate: RequestRate

    package init(endpoint: any TokenEndpoint, rate: RequestRate = RequestRate()) {
        self.endpoint = endpoint
        self.rate = rate
    }
}
