internal import OAuth
internal import ProviderClient
internal import Settings
internal import SignIn
internal import TokenModel

extension ProviderRegistry {
    /// How people sign in at the configured providers. It retains their connections.
    ///
    /// - Parameter gatewayRedirectURI: where the gateway's own listener takes answers; `nil` if there is none.
    func signIns(gatewayRedirectURI: String?) -> SignInConfiguration {
        SignInConfiguration(
            gatewayRedirectURI: gatewayRedirectURI,
            providers: self.forEachSignInProvider { settings, shared in
                SignInConfiguration.Provider(
                    server: shared,
                    scopes: settings.login.scopes,
                    prompt: settings.login.prompt,
                    redirectURI: settings.login.redirectURI.text,
                    extra: settings.login.extra,
                    revokesWidely: settings.preset?.preset.facts.revokesWidely ?? false
                )
            }
        )
    }
}

/// A sign-in that is in progress retains the connections over a reload, as a refresh does.
extension SharedTokenEndpoint: AuthorizationServer {
    var binding: EndpointBinding { self.endpoint.binding }
    var answerTimeout: Duration { self.endpoint.answerTimeout }

    func features() async throws(AuthorizationServerError) -> SignInFeatures { try await self.endpoint.features() }

    func authorizationURL(_ request: AuthorizationRequest) async throws(AuthorizationServerError) -> String {
        try await self.endpoint.authorizationURL(request)
    }

    func redeem(
        _ code: Secret,
        of issuer: TokenIssuer,
        verifier: Secret,
        redirectURI: String
    ) async -> TokenVerdict {
        await self.endpoint.redeem(code, of: issuer, verifier: verifier, redirectURI: redirectURI)
    }

    func startDevice(
        scopes: [String],
        extra: [String: String]
    ) async throws(AuthorizationServerError) -> DeviceAuthorization {
        try await self.endpoint.startDevice(scopes: scopes, extra: extra)
    }

    func redeem(device code: Secret, of issuer: TokenIssuer) async -> TokenVerdict {
        await self.endpoint.redeem(device: code, of: issuer)
    }

    func subject(of idToken: Secret, nonce: String?) async throws(IDTokenError) -> String {
        try await self.endpoint.subject(of: idToken, nonce: nonce)
    }
}
