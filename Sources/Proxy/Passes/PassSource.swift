package import TokenModel

/// What the data path asks of whoever refreshes tokens.
package protocol PassSource: Sendable {
    /// Sees to it that `account` has a usable pass, by a refresh if need be, and names it.
    ///
    /// The pass has been announced to the event loops (``PassEvent``) before this returns. When `refused` is still the
    /// account's current generation although an upstream refused it, and no refresh is due, that same pass comes back.
    func pass(for account: AccountID, refused: TokenMark?) async throws(PassError) -> Pass

    /// A request has carried the token, whatever comes of it: the account is in use. Told once per token set and event
    /// loop; comes back at once.
    func used(_ token: TokenMark, of account: AccountID)

    /// An upstream took the token: a later refusal of it means its end, not an upstream that refuses everything. Told
    /// once per token set and event loop.
    func accepted(_ token: TokenMark, of account: AccountID)

    /// An upstream refused the token with which a request was sent again after a 401. Told with each such answer; comes
    /// back at once.
    func refusedAgain(_ token: TokenMark, of account: AccountID)
}

/// A loop's question for a pass, on its way to the ``PassSource``.
struct PassRequest: Sendable {
    let account: AccountID
    let refused: TokenMark?
    let answer: @Sendable (Result<Pass, PassError>) -> Void
}

/// Why the data path itself sends no token.
extension PassError {
    static var accountKilled: PassError {
        PassError(.killed, "a kill covers the account: no token of it is used until that is lifted")
    }

    static var tokenKilled: PassError {
        PassError(.killed, "the request carried a token that was killed before its answer came")
    }

    static var leaseEnded: PassError {
        PassError(
            .storeLost,
            "the kill log could not be read for as long as the lease: nobody knows here whether the token is still allowed",
            retryAfter: .seconds(1)
        )
    }
}
