package import TokenModel

/// An authorization server and the gateway's client registration there.
package struct ProviderSettings: Equatable, Sendable {
    /// When an access token in use is replaced.
    package enum Refresh: String, Sendable, CaseIterable {
        /// Before it ends.
        case ahead
        /// When it has ended, since a refresh kills it.
        case onExpiry = "on_expiry"
    }

    package let id: ProviderID
    /// Where to discover the endpoints that are not named here (RFC 8414); `nil` only with a token endpoint.
    package let issuer: HTTPURL?
    package let tokenEndpoint: HTTPURL?
    package let revocationEndpoint: HTTPURL?
    package let clientID: String
    /// In the order to try them; never empty for ``ClientAuthentication/basic`` and ``ClientAuthentication/post``.
    package let clientSecrets: [ClientSecret]
    /// Always there for ``ClientAuthentication/privateKeyJWT``.
    package let privateKey: SigningKeySettings?
    /// Whom its assertions are for.
    package let assertionAudience: AssertionAudience
    package let clientAuthentication: ClientAuthentication
    /// What the gateway shows a provider that asks for a certificate; always there for
    /// ``ClientAuthentication/tlsClientAuth``.
    package let identity: CertificateSettings?
    /// PEM file with the only roots to trust for this provider; `nil`: the system's.
    package let certificateAuthorities: String?
    /// How long a caller waits for a refresh; at most 15 s.
    package let timeout: Duration
    /// How long the answer to a token request is listened for; at least ``timeout``, and at most 5 min.
    package let answerTimeout: Duration
    /// How long an access token is taken to live where the provider doesn't say.
    package let defaultLifetime: Duration
    /// Added to each token request; none that the request itself decides.
    package let tokenParameters: [String: String]
    package let refresh: Refresh
    /// How long a refresh token is left unused.
    package let keepAlive: Duration
    package let refreshRate: RefreshRateSettings
    /// Whether tokens may go unencrypted to a host that is not this one; also for endpoints that are discovered.
    package let allowsCleartext: Bool
    /// Where the rest of this came from; `nil`: from the file and the defaults alone.
    package let preset: PresetSettings?
}
