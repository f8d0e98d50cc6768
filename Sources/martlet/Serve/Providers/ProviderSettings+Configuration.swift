internal import OAuth
internal import ProviderClient
internal import Settings

extension ProviderClient.ProviderSettings {
    /// What the configuration says of a provider, as the one who talks to it takes it.
    init(_ settings: Settings.ProviderSettings) throws(CommandFailure) {
        let tokenParameters: TokenParameters
        do throws(TokenParameters.Reserved) {
            tokenParameters = try TokenParameters(settings.tokenParameters)
        } catch {
            throw CommandFailure(
                .badConfiguration,
                "provider \(settings.id): token_params: \(error.name) is decided by the request itself"
            )
        }
        do throws(ProviderURLError) {
            self.init(
                name: settings.id,
                endpoints: try Self.endpoints(settings),
                client: ClientRegistration(
                    clientID: settings.clientID,
                    authentication: Self.authentication(settings)
                ),
                tokenParameters: tokenParameters,
                timeout: settings.timeout,
                rules: AnswerRules(defaultLifetime: settings.defaultLifetime),
                trustRoots: settings.certificateAuthorities,
                allowCleartext: settings.allowsCleartext
            )
        } catch {
            throw CommandFailure(error, provider: settings.id)
        }
    }

    /// What is named stands before what the issuer says; without an issuer what is named is all there is.
    private static func endpoints(_ settings: Settings.ProviderSettings) throws(ProviderURLError) -> Endpoints {
        let tokenEndpoint = try Self.endpoint(settings.tokenEndpoint, settings)
        let revocationEndpoint = try Self.endpoint(settings.revocationEndpoint, settings)
        if settings.issuer == nil, let tokenEndpoint {
            return .named(ProviderMetadata(tokenEndpoint: tokenEndpoint, revocationEndpoint: revocationEndpoint))
        }
        return .discovered(
            try ProviderIssuer(settings.issuer?.text ?? "", allowCleartext: settings.allowsCleartext),
            tokenEndpoint: tokenEndpoint,
            revocationEndpoint: revocationEndpoint
        )
    }

    private static func endpoint(
        _ url: HTTPURL?,
        _ settings: Settings.ProviderSettings
    ) throws(ProviderURLError) -> ProviderURL? {
        guard let url else { return nil }
        return try ProviderURL(url.text, allowCleartext: settings.allowsCleartext)
    }

    private static func authentication(_ settings: Settings.ProviderSettings) -> ClientRegistration.Authentication {
        guard let secret = settings.clientSecret?.value else { return .none }
        return switch settings.clientAuthentication {
        case .basic: .clientSecretBasic(secret)
        case .post: .clientSecretPost(secret)
        case .none: .none
        }
    }
}
