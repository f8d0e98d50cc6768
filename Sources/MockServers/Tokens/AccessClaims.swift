package import TokenModel

/// What an access token says about itself where it can be read (RFC 9068 section 2.2).
package struct AccessClaims: Sendable {
    package let issuer: String
    package let account: String
    package let scope: String?
    package let issuedAt: WallTime
    package let expiresAt: WallTime
}
