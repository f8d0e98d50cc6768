package import TokenModel

/// The grant for which an access token is requested without a refresh token.
package enum MintGrant: Sendable {
    /// The client's own authority (RFC 6749 §4.4).
    case clientCredentials
    /// The resource owner's name and password (RFC 6749 §4.3).
    case password(username: Secret, password: Secret)
    /// An assertion of an issuer that the provider trusts (RFC 7523 §2.1), signed anew for each request.
    case jwtBearer(GrantAssertion)
}
