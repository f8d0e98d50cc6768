/// Providers whose facts are known here; the raw values are what a configuration's `preset` says.
package enum ProviderPreset: String, Sendable, CaseIterable {
    case github, slack, google, microsoft, okta, auth0, salesforce, atlassian, xero, zoho
    case djangoOAuthToolkit = "django_oauth_toolkit"

    /// When the facts below were last held against what they rest on.
    package var verified: String { self == .djangoOAuthToolkit ? "2026-11-23" : "2026-11-21" }

    /// What is filled in where the configuration says nothing. `Accept: application/json`, which GitHub asks for, goes with
    /// every request; what an answer means (Slack's `ok: false`, GitHub's 200 with an `error`) is the classifier's.
    package var facts: PresetFacts {
        switch self {
        case .github:
            // GitHub Apps; OAuth Apps have no refresh tokens. No RFC 7009 endpoint.
            PresetFacts(
                tokenEndpoint: "https://github.com/login/oauth/access_token",
                clientAuthentication: "client_secret_post",
                refreshKillsAccessToken: true,
                defaultLifetime: .seconds(8 * 3600),
                basis:
                    "GitHub Docs, Refreshing user access tokens: both old tokens end with a refresh, expires_in 28800"
            )
        case .slack:
            PresetFacts(
                tokenEndpoint: "https://slack.com/api/oauth.v2.access",
                clientAuthentication: "client_secret_post",
                defaultLifetime: .seconds(12 * 3600),
                basis: "Slack Developer Docs, Using token rotation: expires every 12 hours"
            )
        case .google:
            // Revoking takes the project's other tokens of that user along.
            PresetFacts(
                tokenEndpoint: "https://oauth2.googleapis.com/token",
                revocationEndpoint: "https://oauth2.googleapis.com/revoke",
                clientAuthentication: "client_secret_post",
                rotation: .none,
                basis: "Google Identity, Using OAuth 2.0 for Web Server Applications"
            )
        case .microsoft:
            // It revokes no single token.
            PresetFacts(
                issuerExample: "https://login.microsoftonline.com/TENANT-ID/v2.0",
                clientAuthentication: "client_secret_post",
                rotation: .none,
                basis: "Microsoft identity platform, Refresh the access token: client_secret in the form"
            )
        case .okta:
            PresetFacts(
                issuerExample: "https://example.okta.com/oauth2/default",
                clientAuthentication: "client_secret_basic",
                rotation: .grace(.seconds(30)),
                basis: "Okta Developer, Refresh access tokens"
            )
        case .auth0:
            PresetFacts(
                issuerExample: "https://example.auth0.com/, with its slash",
                clientAuthentication: "client_secret_post",
                assertionsNameIssuer: true,
                basis: "Auth0 Docs, Authenticate with Private Key JWT: aud is the tenant's URL with the slash"
            )
        case .salesforce:
            // A sandbox, or a domain of one's own, is named by token_endpoint. Answers name no lifetime.
            PresetFacts(
                tokenEndpoint: "https://login.salesforce.com/services/oauth2/token",
                revocationEndpoint: "https://login.salesforce.com/services/oauth2/revoke",
                clientAuthentication: "client_secret_post",
                basis: "Salesforce REST API Developer Guide, Understanding the OAuth Refresh Token Process"
            )
        case .atlassian:
            PresetFacts(
                tokenEndpoint: "https://auth.atlassian.com/oauth/token",
                clientAuthentication: "client_secret_post",
                basis: "Atlassian Developer, Implementing the Refresh Token Flow"
            )
        case .xero:
            PresetFacts(
                tokenEndpoint: "https://identity.xero.com/connect/token",
                revocationEndpoint: "https://identity.xero.com/connect/revocation",
                clientAuthentication: "client_secret_basic",
                rotation: .grace(.seconds(30 * 60)),
                defaultLifetime: .seconds(30 * 60),
                basis: "Xero Developer, The standard authorization code flow: expires_in 1800"
            )
        case .zoho:
            // Of the data centre in the US; the others' hosts (accounts.zoho.eu, …) are named by token_endpoint.
            PresetFacts(
                tokenEndpoint: "https://accounts.zoho.com/oauth/v2/token",
                revocationEndpoint: "https://accounts.zoho.com/oauth/v2/token/revoke",
                clientAuthentication: "client_secret_post",
                rotation: .none,
                defaultLifetime: .seconds(3600),
                basis: "Zoho, Refreshing Access Tokens: parameters in the form, expires_in 3600"
            )
        case .djangoOAuthToolkit:
            // It rotates, and the old refresh token ends at once (REFRESH_TOKEN_GRACE_PERIOD_SECONDS is 0), but for other
            // settings. There is metadata only with OIDC, and it names no revocation endpoint, which is there all the same.
            PresetFacts(
                issuerExample: "https://example.org/o, where its urls are included under o/",
                belowIssuer: EndpointPaths(token: "token/", revocation: "revoke_token/"),
                clientAuthentication: "client_secret_basic",
                defaultLifetime: .seconds(36_000),
                basis:
                    "Django OAuth Toolkit, Settings (ROTATE_REFRESH_TOKEN, ACCESS_TOKEN_EXPIRE_SECONDS 36000); its urls.py"
            )
        }
    }
}

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
