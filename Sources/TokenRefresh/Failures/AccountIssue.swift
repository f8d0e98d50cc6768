package import TokenModel

/// A problem of an account that its state does not show. For example, the token is valid but the next one can't be
/// obtained, or upstreams refuse it.
package struct AccountIssue: Equatable, Sendable {
    /// The kind of a problem. If several apply, the first one is reported.
    package enum Kind: String, Sendable, CaseIterable {
        /// An upstream responded 401 to the access token in this process, and no other token can be obtained.
        case tokenRefused = "token_refused"
        /// The provider refuses the client, or the client's request for this account.
        case clientRefused = "client_refused"
        /// The last refresh brought no tokens, or the next refresh can't bring any.
        case refreshFailing = "refresh_failing"
    }

    package let kind: Kind
    /// Why no other token can be obtained: one word from the provider or from Martlet.
    package let reason: String
    /// When this process found out. The problem may have begun earlier.
    package let knownSince: WallTime
}

extension AccountIssue {
    /// The ``reason`` for an account whose provider fails for every account.
    package static let providerFailing = "provider_failing"
    /// The ``reason`` for an account if another server responds in the provider's place, for every account.
    package static let notProvider = "not_provider"
    /// The ``reason`` for an account that has only an access token.
    package static let noRefreshToken = "no_refresh_token"
}
