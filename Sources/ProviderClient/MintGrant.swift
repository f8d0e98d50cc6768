package import TokenModel

/// What an access token is asked for by where no refresh token pays for it.
package enum MintGrant: Sendable {
    /// The client's own name (RFC 6749 §4.4).
    case clientCredentials
    /// The owner's name and password (RFC 6749 §4.3).
    case password(username: Secret, password: Secret)
    /// An assertion of somebody the provider trusts (RFC 7523 §2.1), signed anew for each request.
    case jwtBearer(GrantAssertion)
}
