internal import Synchronization
package import TokenModel

/// The same questions from those who know which token set a request carried, not only its number.
extension RefreshEngine {
    /// The account's credential, after an upstream answered 401 to `refused`, which may be of a grant that was replaced since:
    /// then what is there now is as good as unrefused. Else as ``credential(for:refused:)``.
    package func credential(for account: AccountID, after refused: TokenVersion) async throws(CredentialError)
        -> UpstreamCredential
    {
        try await self.credential(
            for: account,
            refused: self.isCurrentGrant(refused, of: account) ? refused.generation : nil
        )
    }

    /// As ``accepted(_:for:)``, for a token set of the account's current grant; one of an older grant says nothing.
    package func accepted(_ tokenVersion: TokenVersion, for account: AccountID) {
        if self.isCurrentGrant(tokenVersion, of: account) { self.accepted(tokenVersion.generation, for: account) }
    }

    /// Tells that an upstream refused the token set with which a request was sent again after a 401: where it refuses
    /// everything, refreshing is of no use.
    package func refusedAgain(_ tokenVersion: TokenVersion, for account: AccountID) {
        let now = self.timepiece.now.boot
        self.state.withLock { $0.accountStates[account]?.refusedAgain(tokenVersion, now: now) }
    }

    /// Tells that a request has carried an access token: an account that is used is refreshed before its token ends.
    /// Cheap; once per token set is enough.
    package func used(_ tokenVersion: TokenVersion, of account: AccountID) {
        self.state.withLock { state in
            if state.accountStates[account]?.used(tokenVersion) == true { self.reschedule(account, &state) }
        }
    }

    private func isCurrentGrant(_ tokenVersion: TokenVersion, of account: AccountID) -> Bool {
        self.state.withLock { $0.accountStates[account]?.snapshot?.tokenVersion?.grant } == tokenVersion.grant
    }
}
