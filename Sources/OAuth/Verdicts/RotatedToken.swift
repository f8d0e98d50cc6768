package import TokenModel

/// The successor of a refresh token that came in an answer without a usable access token.
///
/// The provider has rotated: the old refresh token may be dead, and this one is the grant's only copy.
package struct RotatedToken: Equatable, Sendable {
    package let refreshToken: Secret
    /// How long it is good for, counted from receipt, where the provider says.
    package let refreshLifetime: Duration?

    package init(refreshToken: Secret, refreshLifetime: Duration? = nil) {
        self.refreshToken = refreshToken
        self.refreshLifetime = refreshLifetime
    }
}
