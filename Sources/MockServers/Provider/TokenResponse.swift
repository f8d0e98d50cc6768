/// The body of a good answer of the token endpoint (RFC 6749 section 5.1).
struct TokenResponse: Encodable {
    let access_token: String
    let token_type = "Bearer"
    let expires_in: Int64
    let refresh_token: String?
    let scope: String?

    init(_ tokens: IssuedTokens) {
        self.access_token = tokens.accessToken
        self.expires_in = tokens.expiresIn
        self.refresh_token = tokens.refreshToken
        self.scope = tokens.scope
    }
}
