/// Providers with known facts. The raw values are those of `preset` in the configuration.
package enum ProviderPreset: String, Sendable, CaseIterable {
    case github, slack, google, microsoft, okta, auth0, salesforce, atlassian, xero, zoho
    case djangoOAuthToolkit = "django_oauth_toolkit"

    /// The date on which the facts below, except ``PresetFacts/login``, were last checked against their sources.
    package var verified: String { self == .djangoOAuthToolkit ? "2026-11-23" : "2026-11-21" }

    /// The defaults for what the configuration leaves open. They do not include `Accept: application/json`, which
    /// GitHub needs and every request has, nor the meaning of responses (Slack's `ok: false`, GitHub's 200 with an
    /// `error`), which is the classifier's.
    package var facts: PresetFacts {
        switch self {
        case .github:
            // GitHub Apps: OAuth Apps have no refresh tokens. There is no RFC 7009 endpoint.
            PresetFacts(
                tokenEndpoint: "https://github.com/login/oauth/access_token",
                clientAuthentication: "client_secret_post",
                refreshKillsAccessToken: true,
                defaultLifetime: .seconds(8 * 3600),
                login: PresetLogin(
                    authorizationEndpoint: "https://github.com/login/oauth/authorize",
                    deviceAuthorizationEndpoint: "https://github.com/login/device/code",
                    basis: "GitHub Docs, Generating a user access token for a GitHub App: no scopes"
                ),
                basis:
                    "GitHub Docs, Refreshing user access tokens: both old tokens end with a refresh, expires_in 28800"
            )
        case .slack:
            PresetFacts(
                tokenEndpoint: "https://slack.com/api/oauth.v2.access",
                clientAuthentication: "client_secret_post",
                defaultLifetime: .seconds(12 * 3600),
                login: PresetLogin(
                    authorizationEndpoint: "https://slack.com/oauth/v2/authorize",
                    basis: "Slack Developer Docs, Installing with OAuth"
                ),
                basis: "Slack Developer Docs, Using token rotation: expires every 12 hours"
            )
        case .google:
            PresetFacts(
                tokenEndpoint: "https://oauth2.googleapis.com/token",
                revocationEndpoint: "https://oauth2.googleapis.com/revoke",
                clientAuthentication: "client_secret_post",
                rotation: .none,
                revokesWidely: true,
                login: PresetLogin(
                    authorizationEndpoint: "https://accounts.google.com/o/oauth2/v2/auth",
                    deviceAuthorizationEndpoint: "https://oauth2.googleapis.com/device/code",
                    prompt: "consent",
                    extra: ["access_type": "offline"],
                    basis: """
                        Google Identity, Using OAuth 2.0 for Web Server Applications: the refresh token comes with the first \
                        consent only; OAuth 2.0 for TV and Limited-Input Device Applications
                        """
                ),
                basis: "Google Identity, Using OAuth 2.0 for Web Server Applications"
            )
        case .microsoft:
            // Microsoft can't revoke a single token.
            PresetFacts(
                issuerExample: "https://login.microsoftonline.com/TENANT-ID/v2.0",
                clientAuthentication: "client_secret_post",
                rotation: .none,
                login: PresetLogin(
                    scopes: ["offline_access"],
                    basis: "Microsoft identity platform, Scopes and permissions: offline_access"
                ),
                basis: "Microsoft identity platform, Refresh the access token: client_secret in the form"
            )
        case .okta:
            PresetFacts(
                issuerExample: "https://example.okta.com/oauth2/default",
                clientAuthentication: "client_secret_basic",
                rotation: .grace(.seconds(30)),
                login: PresetLogin(
                    scopes: ["offline_access"],
                    basis: "Okta Developer, Refresh access tokens: offline_access"
                ),
                basis: "Okta Developer, Refresh access tokens"
            )
        case .auth0:
            PresetFacts(
                issuerExample: "https://example.auth0.com/, with its slash",
                clientAuthentication: "client_secret_post",
                assertionsNameIssuer: true,
                login: PresetLogin(
                    scopes: ["offline_access"],
                    basis: "Auth0 Docs, Get Refresh Tokens: offline_access, and the API's audience"
                ),
                basis: "Auth0 Docs, Authenticate with Private Key JWT: aud is the tenant's URL with the slash"
            )
        case .salesforce:
            // For a sandbox or a custom domain, set token_endpoint. Responses contain no lifetime.
            PresetFacts(
                tokenEndpoint: "https://login.salesforce.com/services/oauth2/token",
                revocationEndpoint: "https://login.salesforce.com/services/oauth2/revoke",
                clientAuthentication: "client_secret_post",
                login: PresetLogin(
                    authorizationEndpoint: "https://login.salesforce.com/services/oauth2/authorize",
                    scopes: ["refresh_token"],
                    basis: "Salesforce Help, OAuth Tokens and Scopes: refresh_token"
                ),
                basis: "Salesforce REST API Developer Guide, Understanding the OAuth Refresh Token Process"
            )
        case .atlassian:
            PresetFacts(
                tokenEndpoint: "https://auth.atlassian.com/oauth/token",
                clientAuthentication: "client_secret_post",
                login: PresetLogin(
                    authorizationEndpoint: "https://auth.atlassian.com/authorize",
                    scopes: ["offline_access"],
                    prompt: "consent",
                    extra: ["audience": "api.atlassian.com"],
                    basis: "Atlassian Developer, OAuth 2.0 (3LO) apps"
                ),
                basis: "Atlassian Developer, Implementing the Refresh Token Flow"
            )
        case .xero:
            PresetFacts(
                tokenEndpoint: "https://identity.xero.com/connect/token",
                revocationEndpoint: "https://identity.xero.com/connect/revocation",
                clientAuthentication: "client_secret_basic",
                rotation: .grace(.seconds(30 * 60)),
                defaultLifetime: .seconds(30 * 60),
                login: PresetLogin(
                    authorizationEndpoint: "https://login.xero.com/identity/connect/authorize",
                    scopes: ["offline_access"],
                    basis: "Xero Developer, The standard authorization code flow: offline_access"
                ),
                basis: "Xero Developer, The standard authorization code flow: expires_in 1800"
            )
        case .zoho:
            // These are the URLs of the US data centre. For other data centres (accounts.zoho.eu, …), set
            // token_endpoint.
            PresetFacts(
                tokenEndpoint: "https://accounts.zoho.com/oauth/v2/token",
                revocationEndpoint: "https://accounts.zoho.com/oauth/v2/token/revoke",
                clientAuthentication: "client_secret_post",
                rotation: .none,
                defaultLifetime: .seconds(3600),
                login: PresetLogin(
                    authorizationEndpoint: "https://accounts.zoho.com/oauth/v2/auth",
                    prompt: "consent",
                    extra: ["access_type": "offline"],
                    basis: "Zoho Accounts, Authorization Request: a further refresh token needs prompt=consent"
                ),
                basis: "Zoho, Refreshing Access Tokens: parameters in the form, expires_in 3600"
            )
        case .djangoOAuthToolkit:
            // It rotates, and by default the old refresh token ends at once (REFRESH_TOKEN_GRACE_PERIOD_SECONDS is 0).
            // There is metadata only with OIDC, and it does not name the revocation endpoint, which exists all the
            // same.
            PresetFacts(
                issuerExample: "https://example.org/o, where its urls are included under o/",
                belowIssuer: EndpointPaths(
                    token: "token/",
                    revocation: "revoke_token/",
                    authorization: "authorize/",
                    deviceAuthorization: "device-authorization/"
                ),
                clientAuthentication: "client_secret_basic",
                defaultLifetime: .seconds(36_000),
                login: PresetLogin(basis: "Django OAuth Toolkit, its urls.py; device-authorization/ since 3.1"),
                basis:
                    "Django OAuth Toolkit, Settings (ROTATE_REFRESH_TOKEN, ACCESS_TOKEN_EXPIRE_SECONDS 36000); its urls.py"
            )
        }
    }
}

/// The facts about a provider that a configuration then need not contain.
package struct PresetFacts: Equatable, Sendable {
    /// The token endpoint (RFC 6749 §3.2); `nil` if each tenant has its own, which its issuer's metadata names.
    package var tokenEndpoint: String?
    /// The revocation endpoint (RFC 7009); `nil` if there is none, or each tenant has its own.
    package var revocationEndpoint: String?
    /// An example of a tenant's issuer; `nil` if one endpoint serves all tenants.
    package var issuerExample: String?
    /// The paths of all endpoints below an issuer without usable metadata; `nil` if its metadata names them.
    package var belowIssuer: EndpointPaths?
    /// How a client with a secret authenticates, by its name in RFC 8414 §2.
    package var clientAuthentication: String?
    /// Whether the audience of client assertions is the issuer rather than the token endpoint.
    package var assertionsNameIssuer = false
    /// Whether a refresh invalidates the old access token.
    package var refreshKillsAccessToken = false
    /// What happens to the refresh token at a refresh, and so to the grant if a response is lost.
    package var rotation = RefreshTokenRotation.unknown
    /// Whether the revocation of one token ends all grants that the user has given this client.
    package var revokesWidely = false
    /// The lifetime of an access token whose response gives none.
    package var defaultLifetime: Duration?
    /// How people sign in.
    package var login: PresetLogin
    /// The source of the other facts.
    package var basis: String
}

/// How people sign in at a provider, so that it issues a refresh token.
package struct PresetLogin: Equatable, Sendable {
    /// The date on which these facts were last checked against their sources.
    package static let verified = "2026-11-26"

    /// The authorization endpoint (RFC 6749 §3.1); `nil` if each tenant has its own.
    package var authorizationEndpoint: String?
    /// The device authorization endpoint (RFC 8628 §3.1); `nil` if each tenant has its own, or if there is none that
    /// keeps to the RFC. Those of Salesforce and Zoho don't.
    package var deviceAuthorizationEndpoint: String?
    /// The scopes without which there is no refresh token.
    package var scopes: [String] = []
    /// `prompt` of the authorization request (OpenID Connect Core §3.1.2.1).
    package var prompt: String?
    /// Further parameters of the authorization request.
    package var extra: [String: String] = [:]
    /// The source of these facts.
    package var basis: String
}

/// What a provider does with a refresh token that was used (RFC 6749 §6; RFC 9700 §4.14.2).
package enum RefreshTokenRotation: Equatable, Sendable {
    /// It may become invalid at once.
    case unknown
    /// It stays valid, so a lost response does no harm.
    case none
    /// It becomes invalid after this time. Until then it may be used again, so that a lost response can be requested
    /// again.
    case grace(Duration)

    /// How long to wait for the response to a token request before the same refresh token may be sent again.
    ///
    /// A provider that rotates at once and responds late has already rotated, so a retry destroys the grant. With a
    /// grace period, the retry for a lost response must come before the period ends.
    ///
    /// - Parameter timeout: how long callers wait. The result is never less.
    package func answerTimeout(atLeast timeout: Duration) -> Duration {
        switch self {
        case .none: timeout
        case .grace(let grace) where grace >= .seconds(15): max(min(.seconds(60), grace - .seconds(10)), timeout)
        case .grace, .unknown: max(.seconds(60), timeout)
        }
    }
}

/// The last part of the path of each endpoint.
package struct EndpointPaths: Equatable, Sendable {
    /// The token endpoint (RFC 6749 §3.2).
    package let token: String
    /// The revocation endpoint (RFC 7009 §2).
    package let revocation: String
    /// The authorization endpoint (RFC 6749 §3.1).
    package let authorization: String
    /// The device authorization endpoint (RFC 8628 §3.1).
    package let deviceAuthorization: String
}
