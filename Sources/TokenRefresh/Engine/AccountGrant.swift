/// How an account's access tokens come about (RFC 6749 §1.3).
package enum AccountGrant: String, Equatable, Sendable {
    /// From a stored refresh token; the first arrives by import.
    case refreshToken = "refresh_token"
    /// In the client's own name, minted when one is needed (RFC 6749 §4.4). There is nothing to lose: such an account is
    /// never empty and never kept alive, and a refusal is not final.
    case clientCredentials = "client_credentials"
    /// By a sign-in with the owner's password (RFC 6749 §4.3), which may bring a refresh token to be redeemed from then on.
    case password
    /// Minted for an assertion of somebody the provider trusts (RFC 7523 §2.1).
    case jwtBearer = "jwt-bearer"

    /// Whether tokens can be had without one that was stored.
    package var mints: Bool { self != .refreshToken }
}
