internal import OAuth
internal import ProviderClient
internal import Settings

extension ProviderClient.ProviderSettings {
    /// What the configuration says of a provider, as the one who talks to it takes it.
    init(_ settings: Settings.ProviderSettings) throws(CommandFailure) {
        do throws(ProviderURLError) {
            self.init(
                name: settings.id,
                endpoints: try Self.endpoints(settings),
                client: ClientRegistration(
                    clientID: settings.clientID,
                    authentication: Self.authentication(settings)
                ),
                timeout: settings.timeout,
                rules: AnswerRules(defaultLifetime: settings.defaultLifetime),
                additionalTrustRoots: settings.certificateAuthorities,
                allowCleartext: settings.allowsCleartext
            )
        } catch {
            throw CommandFailure(error, provider: settings.id)
        }
    }

    /// A named token endpoint needs no discovery.
    private static func endpoints(_ settings: Settings.ProviderSettings) throws(ProviderURLError) -> Endpoints {
        guard let tokenEndpoint = settings.tokenEndpoint else {
            let issuer = settings.issuer?.text ?? ""
            return .discovered(try ProviderIssuer(issuer, allowCleartext: settings.allowsCleartext))
        }
        var revocationEndpoint: ProviderURL?
        if let url = settings.revocationEndpoint {
            revocationEndpoint = try ProviderURL(url.text, allowCleartext: settings.allowsCleartext)
        }
        return .named(
            ProviderMetadata(
                tokenEndpoint: try ProviderURL(tokenEndpoint.text, allowCleartext: settings.allowsCleartext),
                revocationEndpoint: revocationEndpoint
            )
        )
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
