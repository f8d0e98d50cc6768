/// What a client gets for a good grant (RFC 6749 section 5.1).
package struct IssuedTokens: Equatable, Sendable {
    package let account: String
    package let accessToken: String

    /// Nil where the client keeps the one it has, and for accounts that mint.
    package let refreshToken: String?

    /// Whole seconds, rounded down, so that the token lives at least that long.
    package let expiresIn: Int64

    /// Space-separated; nil where nothing was said.
    package let scope: String?
}
