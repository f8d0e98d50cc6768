package import TokenModel

/// What an operator is to know of an account beside its state: its token may be valid and the last one, or valid here and
/// refused where it is used.
package struct AccountIssue: Equatable, Sendable {
    /// The first that holds.
    package enum Kind: String, Sendable, CaseIterable {
        /// An upstream answered 401 to the access token, in this process, and no other is to be had.
        case tokenRefused = "token_refused"
        /// The provider refuses the client, or what it asks for the account.
        case clientRefused = "client_refused"
        /// The last refresh brought no tokens, or the next can bring none.
        case refreshFailing = "refresh_failing"
    }

    package let kind: Kind
    /// Why no other token is to be had: one word, of the provider's or ours.
    package let reason: String
    /// When this process found out: it may have begun before.
    package let knownSince: WallTime
}

extension AccountIssue {
    /// The ``reason`` of an account whose provider fails, whoever asks.
    package static let providerFailing = "provider_failing"
    /// The ``reason`` of an account in whose provider's place something else answers, whoever asks.
    package static let notProvider = "not_provider"
    /// The ``reason`` of an account whose access token is all there is.
    package static let noRefreshToken = "no_refresh_token"
}
