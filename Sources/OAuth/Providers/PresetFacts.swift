/// What is known of a provider's token endpoint, so that a configuration need not say it.
package struct PresetFacts: Equatable, Sendable {
    /// RFC 6749 §3.2; `nil` where each tenant has its own, and its issuer says where.
    package var tokenEndpoint: String?
    /// RFC 7009; `nil` where there is none, or each tenant has its own.
    package var revocationEndpoint: String?
    /// What the issuer of a tenant looks like; `nil` where one endpoint serves all.
    package var issuerExample: String?
    /// How a client with a secret shows it, by its name in RFC 8414 §2.
    package var clientAuthentication: String?
    /// Whether the client's assertions are for the issuer rather than the token endpoint.
    package var assertionsNameIssuer = false
    /// Whether the old access token ends with a refresh.
    package var refreshKillsAccessToken = false
    /// Of an access token whose answer names no lifetime.
    package var defaultLifetime: Duration?
    /// What this rests on.
    package var basis: String
}
