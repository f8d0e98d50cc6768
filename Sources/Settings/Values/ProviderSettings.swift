package import OAuth
package import TokenModel

/// An authorization server and the gateway's client registration there.
package struct ProviderSettings: Equatable, Sendable {
    /// When an access token in use is refreshed.
    package enum Refresh: String, Sendable, CaseIterable {
        /// Before it expires.
        case ahead
        /// After it has expired, because a refresh invalidates it.
        case onExpiry = "on_expiry"
    }

    package let id: ProviderID
    /// The source of the endpoints that are not configured (RFC 8414); `nil` only if there is a token endpoint.
    package let issuer: HTTPURL?
    package let tokenEndpoint: HTTPURL?
    package let revocationEndpoint: HTTPURL?
    /// Where people sign in (RFC 6749 §3.1); `nil`: where the issuer's metadata says. Never cleartext, except on
    /// loopback.
    package let authorizationEndpoint: HTTPURL?
    /// Where a device code is requested (RFC 8628 §3.1); otherwise as ``authorizationEndpoint``.
    package let deviceAuthorizationEndpoint: HTTPURL?
    package let clientID: String
    /// In the order in which they are tried; never empty for ``ClientAuthentication/basic`` and
    /// ``ClientAuthentication/post``.
    package let clientSecrets: [ClientSecret]
    /// Never `nil` for ``ClientAuthentication/privateKeyJWT``.
    package let privateKey: SigningKeySettings?
    /// The audience of the client's assertions.
    package let assertionAudience: AssertionAudience
    package let clientAuthentication: ClientAuthentication
    /// The certificate that the gateway presents if a provider asks for one; never `nil` for
    /// ``ClientAuthentication/tlsClientAuth``.
    package let identity: CertificateSettings?
    /// A PEM file with the only trusted roots for this provider; `nil`: the system's roots.
    package let certificateAuthorities: String?
    /// How long a caller waits for a refresh; at most 15 s.
    package let timeout: Duration
    /// How long the gateway waits for the response to a token request; at least ``timeout``, and at most 5 min.
    package let answerTimeout: Duration
    /// The assumed lifetime of an access token if the provider doesn't give one.
    package let defaultLifetime: Duration
    /// Added to each token request. Contains no parameter that the request itself sets.
    package let tokenParameters: [String: String]
    package let refresh: Refresh
    /// How long a refresh token may stay unused before the gateway refreshes with it.
    package let keepAlive: Duration
    package let refreshRate: RequestRateSettings
    package let revokeRate: RequestRateSettings
    package let login: ProviderLoginSettings
    /// Whether tokens may travel unencrypted to another host. Also applies to discovered endpoints.
    package let allowsCleartext: Bool
    /// The preset and the values from it; `nil`: all values come from the file and the defaults.
    package let preset: PresetSettings?

    /// Whether something says where people sign in: an endpoint here, or perhaps the issuer's metadata.
    package var canSignIn: Bool {
        self.issuer != nil || self.authorizationEndpoint != nil || self.deviceAuthorizationEndpoint != nil
    }
}

/// What a person is asked for who signs in at a provider.
package struct ProviderLoginSettings: Equatable, Sendable {
    /// Requested in addition to the account's scopes.
    package let scopes: [String]
    /// `prompt` of the authorization request (OpenID Connect Core §3.1.2.1); `nil`: the request has none.
    package let prompt: String?
    /// The redirect URI that is registered at the provider for this client.
    package let redirectURI: RedirectURI
    /// Added to each authorization request. Contains no parameter that the request itself sets.
    package let extra: [String: String]
}

/// The values that a provider's section takes from its preset.
package struct PresetSettings: Equatable, Sendable {
    package let preset: ProviderPreset
    /// The filled keys, by their names in the file.
    package let filled: [String]
}

/// How the gateway proves to a provider which client it is (RFC 6749 §2.3).
package enum ClientAuthentication: String, Sendable, CaseIterable {
    /// ID and secret in an `Authorization: Basic` field.
    case basic = "client_secret_basic"
    /// ID and secret in the request's form.
    case post = "client_secret_post"
    /// An assertion signed with a key of the client (RFC 7523 §2.2).
    case privateKeyJWT = "private_key_jwt"
    /// The client certificate of the connection (RFC 8705 §2.1).
    case tlsClientAuth = "tls_client_auth"
    /// Only the ID: a public client.
    case none
}

/// The maximum rate at which one process sends requests of a kind to a provider.
package struct RequestRateSettings: Equatable, Sendable {
    /// In the long term.
    package let perSecond: Int
    /// The number of requests at once after an idle period.
    package let burst: Int

    package init(perSecond: Int, burst: Int) {
        self.perSecond = perSecond
        self.burst = burst
    }

    static let standard = RequestRateSettings(perSecond: 50, burst: 200)
}

/// A private key that signs assertions.
package struct SigningKeySettings: Equatable, Sendable {
    /// The absolute path of a PEM file.
    package let file: String
    /// The contents of the file.
    package let pem: Secret
    package let algorithm: SigningAlgorithm
    /// The provider's name for the key; `nil`: the provider knows only one key.
    package let keyID: String?
}

/// The audience of a client's assertions (RFC 7523 §3), for each endpoint that receives them.
package struct AssertionAudience: Equatable, Sendable {
    /// `nil`: the URL of the token endpoint.
    package var token: String?
    /// `nil`: the same as ``token``.
    package var revocation: String?

    package init(token: String? = nil, revocation: String? = nil) {
        self.token = token
        self.revocation = revocation
    }
}

/// A secret of a client, of an account's owner or of the store, and its origin.
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

extension ClientSecret.Origin: CustomStringConvertible {
    package var description: String {
        switch self {
        case .file(let path): "file \(path)"
        case .variable(let name): "environment variable \(name)"
        }
    }
}

/// The receiver of events, which are sent as JSON in POST requests.
package struct WebhookSettings: Equatable, Sendable {
    package let url: HTTPURL
    /// Signs the request bodies.
    package let secret: ClientSecret
}
