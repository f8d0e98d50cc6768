package import TokenModel

/// What the data path asks of whoever refreshes tokens.
package protocol CredentialSource: Sendable {
    /// Sees to it that `account` has a usable credential, by a refresh if need be, and names it.
    ///
    /// The credential has been announced to the event loops (``CredentialEvent``) before this returns. When `refused` is still the
    /// account's current generation although an upstream refused it, and no refresh is due, that same credential comes back.
    func credential(for account: AccountID, refused: TokenVersion?) async throws(CredentialError) -> UpstreamCredential

    /// A request has carried the token, whatever comes of it: the account is in use. Told once per token set and event
    /// loop; comes back at once.
    func used(_ token: TokenVersion, of account: AccountID)

    /// An upstream took the token: a later refusal of it means its end, not an upstream that refuses everything. Told
    /// once per token set and event loop.
    func accepted(_ token: TokenVersion, of account: AccountID)

    /// An upstream refused the token with which a request was sent again after a 401. Told with each such answer; comes
    /// back at once.
    func refusedAgain(_ token: TokenVersion, of account: AccountID)
}

/// A loop's question for a credential, on its way to the ``CredentialSource``.
struct CredentialQuery: Sendable {
    let account: AccountID
    let refused: TokenVersion?
    let resume: @Sendable (Result<UpstreamCredential, CredentialError>) -> Void
}

/// Why the data path itself sends no token.
extension CredentialError {
    static var accountKilled: CredentialError {
        CredentialError(.killed, "a kill covers the account: no token of it is used until that is lifted")
    }

    static var tokenKilled: CredentialError {
        CredentialError(.killed, "the request carried a token that was killed before its answer came")
    }

    static var leaseEnded: CredentialError {
        CredentialError(
            .storeLost,
            "the kill log could not be read for as long as the lease: nobody knows here whether the token is still allowed",
            retryAfter: .seconds(1)
        )
    }
}
