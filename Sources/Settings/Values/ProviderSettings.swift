package import OAuth
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

/// What a provider's section leaves to its preset.
package struct PresetSettings: Equatable, Sendable {
    package let preset: ProviderPreset
    /// The keys that it filled, as the file would name them.
    package let filled: [String]
}

/// How the gateway proves to a provider which client it is (RFC 6749 §2.3).
package enum ClientAuthentication: String, Sendable, CaseIterable {
    /// Id and secret in an `Authorization: Basic` field.
    case basic = "client_secret_basic"
    /// Id and secret in the request's form.
    case post = "client_secret_post"
    /// An assertion that a key of the client's has signed (RFC 7523 §2.2).
    case privateKeyJWT = "private_key_jwt"
    /// The certificate that the connection is made with (RFC 8705 §2.1).
    case tlsClientAuth = "tls_client_auth"
    /// Only the id: a public client.
    case none
}

/// How fast one process sends token requests to a provider, at the most.
package struct RefreshRateSettings: Equatable, Sendable {
    /// In the long run.
    package let perSecond: Int
    /// At once, after a time of rest.
    package let burst: Int

    package init(perSecond: Int, burst: Int) {
        self.perSecond = perSecond
        self.burst = burst
    }

    static let standard = RefreshRateSettings(perSecond: 50, burst: 200)
}

/// A private key that signs assertions.
package struct SigningKeySettings: Equatable, Sendable {
    /// The absolute path of a PEM file.
    package let file: String
    /// What stands in it.
    package let pem: Secret
    package let algorithm: SigningAlgorithm
    /// What the provider knows the key by; `nil`: it knows one only.
    package let keyID: String?
}

/// Whom a client's assertions are for (RFC 7523 §3), by the endpoint they are shown to.
package struct AssertionAudience: Equatable, Sendable {
    /// `nil`: the token endpoint, by its URL.
    package var token: String?
    /// `nil`: as for tokens.
    package var revocation: String?

    package init(token: String? = nil, revocation: String? = nil) {
        self.token = token
        self.revocation = revocation
    }
}

/// A secret that the gateway shows a provider, a client's or an account owner's, and where it came from.
package struct ClientSecret: Equatable, Sendable {
    package enum Origin: Equatable, Sendable {
        /// The absolute path of a file.
        case file(String)
        /// The name of an environment variable.
        case variable(String)
    }

    /// Never empty.
    package let value: Secret
    package let origin: Origin
}

/// Where events are told, as JSON that is posted.
package struct WebhookSettings: Equatable, Sendable {
    package let url: HTTPURL
    /// Signs what is posted.
    package let secret: ClientSecret
}

/// One authorization at a provider.
package struct AccountSettings: Equatable, Sendable {
    /// How new tokens come about (RFC 6749 §1.3).
    package enum Grant: String, Sendable, CaseIterable {
        /// From a stored refresh token; the first arrives by import.
        case refreshToken = "refresh_token"
        /// In the client's own name, when one is needed.
        case clientCredentials = "client_credentials"
        /// By a sign-in with the owner's name and password.
        case password
        /// For an assertion of somebody the provider trusts.
        case jwtBearer = "jwt-bearer"
    }

    /// What the grant `password` signs in with.
    package struct Owner: Equatable, Sendable {
        package let username: ClientSecret
        package let password: ClientSecret
    }

    /// What the grant `jwt-bearer` presents.
    package struct Assertion: Equatable, Sendable {
        package let issuer: String
        /// `nil`: nobody is named.
        package let subject: String?
        /// `nil`: the token endpoint.
        package let audience: String?
        package let key: SigningKeySettings
    }

    package let id: AccountID
    package let provider: ProviderID
    package let grant: Grant
    /// Always there for ``Grant/password``.
    package let owner: Owner?
    /// Always there for ``Grant/jwtBearer``.
    package let assertion: Assertion?
    /// What to ask for at each refresh; empty: what was granted.
    package let scopes: [String]
}
