/// What a provider's answers are measured by, beyond the RFCs.
package struct ResponseRules: Equatable, Sendable {
    /// The lifetime of an access token when neither `expires_in` nor the token itself names one.
    package let defaultLifetime: Duration
    /// The `token_type`s that mean a bearer token here, in lower case; RFC 6750 has `bearer`, Slack says `bot` and `user`.
    package let bearerTokenTypes: Set<String>

    /// - Parameter defaultLifetime: Held to between 1 s and 24 h.
    package init(defaultLifetime: Duration = .seconds(3600), bearerTokenTypes: Set<String> = ["bearer", "bot", "user"])
    {
        self.defaultLifetime = min(max(defaultLifetime, TokenLifetime.shortest), TokenLifetime.longest)
        self.bearerTokenTypes = bearerTokenTypes
    }
}
