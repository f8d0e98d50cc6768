internal import Synchronization
package import TokenModel

/// The same questions from those who know which token set a request carried, not only its number.
extension RefreshEngine {
    /// The account's pass, after an upstream answered 401 to `refused`, which may be of a grant that was replaced since:
    /// then what is there now is as good as unrefused. Else as ``pass(for:refused:)``.
    package func pass(for account: AccountID, after refused: TokenMark) async throws(PassError) -> Pass {
        try await self.pass(for: account, refused: self.isCurrentGrant(refused, of: account) ? refused.generation : nil)
    }

    /// As ``accepted(_:for:)``, for a token set of the account's current grant; one of an older grant says nothing.
    package func accepted(_ mark: TokenMark, for account: AccountID) {
        if self.isCurrentGrant(mark, of: account) { self.accepted(mark.generation, for: account) }
    }

    /// Tells that an upstream refused the token set with which a request was sent again after a 401: where it refuses
    /// everything, refreshing is of no use.
    package func refusedAgain(_ mark: TokenMark, for account: AccountID) {
        let now = self.timepiece.now.boot
        self.state.withLock { $0.desks[account]?.refusedAgain(mark, now: now) }
    }

    /// Tells that a request has carried an access token: an account that is used is refreshed before its token ends.
    /// Cheap; once per token set is enough.
    package func used(_ mark: TokenMark, of account: AccountID) {
        self.state.withLock { state in
            if state.desks[account]?.used(mark) == true { self.reschedule(account, &state) }
        }
    }

    private func isCurrentGrant(_ mark: TokenMark, of account: AccountID) -> Bool {
        self.state.withLock { $0.desks[account]?.sight?.mark?.grant } == mark.grant
    }
}
