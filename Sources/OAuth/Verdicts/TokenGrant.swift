package import TokenModel

/// The tokens of a successful token answer (RFC 6749 §5.1), parsed and clamped.
package struct TokenGrant: Equatable, Sendable {
    /// Printable ASCII without a space, so that it may stand in a header field.
    package let accessToken: Secret
    /// `nil` where the provider sent none: the old one stays good (RFC 6749 §6).
    package let refreshToken: Secret?
    /// How long the access token is good for, counted from receipt; above zero and at most 24 h.
    package let lifetime: Duration
    /// How long the refresh token is good for, counted from receipt, where the provider says.
    package let refreshLifetime: Duration?
    /// What was granted; empty where the provider did not say (then it is what was asked for).
    package let scopes: [String]

    package init(
        accessToken: Secret,
        refreshToken: Secret?,
        lifetime: Duration,
        refreshLifetime: Duration? = nil,
        scopes: [String] = []
    ) {
        self.accessToken = accessToken
        self.refreshToken = refreshToken
        self.lifetime = lifetime
        self.refreshLifetime = refreshLifetime
        self.scopes = scopes
    }
}
