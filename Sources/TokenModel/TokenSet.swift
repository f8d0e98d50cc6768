/// The content of a provider's token response (RFC 6749 §5.1) as it is stored.
package struct TokenSet: Equatable, Sendable {
    /// `nil` after an import without an access token. The first use then refreshes.
    package var accessToken: Secret?
    package var refreshToken: Secret?
    /// When the response was received.
    package var receivedAt: WallTime
    /// The lifetime of the access token, counted from ``receivedAt``. It is already parsed and clamped.
    package var lifetime: Duration
    /// The lifetime of the refresh token, counted from ``receivedAt``; `nil` if the provider does not say.
    package var refreshLifetime: Duration?
    /// The granted scopes. Empty if the provider did not say; then they are the requested ones (RFC 6749 §5.1).
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

    /// When the access token expires, on the wall clock.
    package var expiresAt: WallTime { self.receivedAt.advanced(by: self.lifetime) }
}
