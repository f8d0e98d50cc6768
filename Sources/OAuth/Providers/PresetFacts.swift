/// What is known of a provider's token endpoint, so that a configuration need not say it.
package struct PresetFacts: Equatable, Sendable {
    /// RFC 6749 §3.2; `nil` where each tenant has its own, and its issuer says where.
    package var tokenEndpoint: String?
    /// RFC 7009; `nil` where there is none, or each tenant has its own.
    package var revocationEndpoint: String?
    /// What the issuer of a tenant looks like; `nil` where one endpoint serves all.
    package var issuerExample: String?
    /// Where both endpoints are below an issuer that names them nowhere; `nil`: its metadata does.
    package var belowIssuer: EndpointPaths?
    /// How a client with a secret shows it, by its name in RFC 8414 §2.
    package var clientAuthentication: String?
    /// Whether the client's assertions are for the issuer rather than the token endpoint.
    package var assertionsNameIssuer = false
    /// Whether the old access token ends with a refresh.
    package var refreshKillsAccessToken = false
    /// What becomes of the grant where an answer is lost.
    package var rotation = RefreshTokenRotation.unknown
    /// Of an access token whose answer names no lifetime.
    package var defaultLifetime: Duration?
    /// What this rests on.
    package var basis: String
}

/// What a provider does with a refresh token that was used (RFC 6749 §6; RFC 9700 §4.14.2).
package enum RefreshTokenRotation: Equatable, Sendable {
    /// It may end at once.
    case unknown
    /// It stays valid: nothing is lost with an answer.
    case none
    /// It ends, and works again for so long, so that a lost answer can be asked for again.
    case grace(Duration)

    /// How long to listen for an answer to a token request before the same refresh token may be sent again.
    ///
    /// A provider that rotates at once and answers late has rotated: whoever repeats the request destroys the grant. Within a
    /// grace an answer that never comes must be asked for again before that ends.
    ///
    /// - Parameter timeout: how long callers wait. It is never less.
    package func answerTimeout(atLeast timeout: Duration) -> Duration {
        switch self {
        case .none: timeout
        case .grace(let grace) where grace >= .seconds(15): max(min(.seconds(60), grace - .seconds(10)), timeout)
        case .grace, .unknown: max(.seconds(60), timeout)
        }
    }
}

/// Where endpoints are, as the last part of their path.
package struct EndpointPaths: Equatable, Sendable {
    /// RFC 6749 §3.2
    package let token: String
    /// RFC 7009 §2
    package let revocation: String
}
