package import TokenModel

/// What introspection says about a live token (RFC 7662 section 2.2).
package struct TokenDescription: Equatable, Sendable {
    package let account: String

    /// Space-separated; nil where nothing was said.
    package let scope: String?
    package let issuedAt: Moment

    /// Nil for refresh tokens, which end only by use or revocation.
    package let expiresAt: Moment?
}
