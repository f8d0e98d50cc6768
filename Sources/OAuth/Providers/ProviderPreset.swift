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
