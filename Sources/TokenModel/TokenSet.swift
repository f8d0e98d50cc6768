/// What a provider's token answer left us with (RFC 6749 §5.1), as it is kept.
package struct TokenSet: Equatable, Sendable {
    /// `nil` after an import without one: the first use refreshes.
    package var accessToken: Secret?
    package var refreshToken: Secret?
    /// When the answer had been received.
    package var receivedAt: WallTime
    /// How long the access token is good for, counted from ``receivedAt``; already parsed and clamped.
    package var lifetime: Duration
    /// How long the refresh token is good for, counted from ``receivedAt``, where the provider says.
    package var refreshLifetime: Duration?
    /// What was granted; empty where the provider did not say (then it is what was asked for, RFC 6749 §5.1).
    package var scopes: [String]

    package init(
        accessToken: Secret?,
        refreshToken: Secret?,
        receivedAt: WallTime,
        lifetime: Duration,
        refreshLifetime: Duration? = nil,
        scopes: [String] = []
    ) {
        self.accessToken = accessToken
        self.refreshToken = refreshToken
        self.receivedAt = receivedAt
        self.lifetime = lifetime
        self.refreshLifetime = refreshLifetime
        self.scopes = scopes
    }

    /// When the access token ends, by the wall clock.
    package var expiresAt: WallTime { self.receivedAt.advanced(by: self.lifetime) }
}
