/// How an account's access tokens come about (RFC 6749 §1.3).
package enum AccountGrant: Equatable, Sendable {
    /// From a stored refresh token; the first arrives by import.
    case refreshToken
    /// In the client's own name, minted when one is needed (RFC 6749 §4.4). There is nothing to lose: such an account is
    /// never empty and never kept alive, and a refusal is not final.
    case clientCredentials
}
