package import TokenModel

/// What the data path needs from the component that refreshes tokens.
package protocol CredentialSource: Sendable {
    /// Ensures that `account` has a usable credential, by a refresh if necessary, and returns it.
    ///
    /// The credential has been announced to the event loops (``CredentialEvent``) before this returns. If `refused` is
    /// still the account's current generation although an upstream refused it, and no refresh is due, this returns that
    /// same credential.
    ///
    /// Where the account requires an approval, this waits for one, and announces it before it returns. A credential that
    /// comes without it is asked for anew a few times, as one that comes without a lease, and then the request fails.
    func credential(for account: AccountID, refused: TokenVersion?) async throws(CredentialError) -> UpstreamCredential

    /// Whether an account of a family exists. Called on an event loop, each time a request names one that the loop does
    /// not know, so anybody who may use the family can have it called with any name; returns at once, and reads no store.
    func knows(_ account: AccountID) -> Bool

    /// A request has carried the token, so the account is in use, whatever the response. Called once per token set and
    /// event loop; returns at once.
    func used(_ token: TokenVersion, of account: AccountID)

    /// An upstream accepted the token. A later refusal then means the token's end, not an upstream that refuses
    /// everything. Called once per token set and event loop.
    func accepted(_ token: TokenVersion, of account: AccountID)

    /// An upstream refused the token of a request that was sent again after a 401. Called for each such response;
    /// returns at once.
    func refusedAgain(_ token: TokenVersion, of account: AccountID)
}

/// An event loop's request for a credential, on its way to the ``CredentialSource``.
struct CredentialQuery: Sendable {
    let account: AccountID
    let refused: TokenVersion?
    let resume: @Sendable (Result<UpstreamCredential, CredentialError>) -> Void
}

/// The reasons for which the data path itself sends no token.
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

    static var approvalEnded: CredentialError {
        CredentialError(
            .approvalRequired,
            "no approval of the account's use stands, or it has ended before a token was used: martlet approve NAME",
            retryAfter: .seconds(1)
        )
    }
}
