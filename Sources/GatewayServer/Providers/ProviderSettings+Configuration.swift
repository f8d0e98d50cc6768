internal import OAuth
internal import ProviderClient
internal import Settings
internal import TokenModel
internal import TokenRefresh

extension ProviderClient.ProviderSettings {
    /// The provider client's settings from the configuration.
    init(_ settings: Settings.ProviderSettings) throws(StartError) {
        let tokenParameters: TokenParameters
        do throws(TokenParameters.Reserved) {
            tokenParameters = try TokenParameters(settings.tokenParameters)
        } catch {
            throw StartError(
                .badConfiguration,
                "provider \(settings.id): token_params: \(error.name) is decided by the request itself"
            )
        }
        let proofs = try Self.proofs(settings)
        do throws(ProviderURLError) {
            self.init(
                name: settings.id,
                endpoints: try Self.endpoints(settings),
                // A browser opens them, so `allow_cleartext` does not extend to them.
                signIn: SignInEndpoints(
                    authorizationEndpoint: try settings.authorizationEndpoint.map { url throws(ProviderURLError) in
                        try ProviderURL(url.text)
                    },
                    deviceAuthorizationEndpoint: try settings.deviceAuthorizationEndpoint.map {
                        url throws(ProviderURLError) in
                        try ProviderURL(url.text)
                    }
                ),
                client: RegisteredClient(clientID: settings.clientID, proofs: proofs),
                tokenParameters: tokenParameters,
                timeout: settings.timeout,
                answerTimeout: settings.answerTimeout,
                rules: ResponseRules(defaultLifetime: settings.defaultLifetime),
                trustRoots: settings.certificateAuthorities,
                identity: settings.identity.map { TLSIdentity(certificate: $0.certificate, key: $0.key) },
                allowCleartext: settings.allowsCleartext
            )
        } catch {
            throw StartError(error, provider: settings.id)
        }
    }

    /// Configured endpoints take precedence over the issuer's metadata. Without an issuer there are only the configured
    /// ones.
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

    private static func proofs(_ settings: Settings.ProviderSettings) throws(StartError) -> [ClientProof] {
        switch settings.clientAuthentication {
        case .basic: return settings.clientSecrets.map { .constant(.clientSecretBasic($0.value)) }
        case .post: return settings.clientSecrets.map { .constant(.clientSecretPost($0.value)) }
        case .tlsClientAuth: return [.constant(.tlsClientAuth)]
        case .none: return [.constant(.none)]
        case .privateKeyJWT:
            guard let privateKey = settings.privateKey else { return [.constant(.none)] }
            let key = try AssertionKey(privateKey, for: "provider \(settings.id)")
            let audience = settings.assertionAudience
            return [.signed(key, audience: audience.token, revocationAudience: audience.revocation)]
        }
    }
}

extension AssertionKey {
    /// - Parameter owner: the owner of the key, for the error message.
    init(_ settings: SigningKeySettings, for owner: String) throws(StartError) {
        do throws(AssertionKeyError) {
            try self.init(pem: settings.pem, algorithm: settings.algorithm, keyID: settings.keyID)
        } catch {
            throw StartError(.badConfiguration, "\(owner): \(settings.file) \(error.message)")
        }
    }
}

extension MintGrant {
    /// The grant that mints an account's tokens; `nil` if they come from a refresh token.
    init?(_ account: AccountSettings) throws(StartError) {
        switch account.grant {
        case .refreshToken:
            return nil
        case .clientCredentials:
            self = .clientCredentials
        case .password:
            guard let owner = account.owner else { return nil }
            self = .password(username: owner.username.value, password: owner.password.value)
        case .jwtBearer:
            guard let assertion = account.assertion else { return nil }
            self = .jwtBearer(
                GrantAssertion(
                    issuer: assertion.issuer,
                    subject: assertion.subject,
                    audience: assertion.audience,
                    key: try AssertionKey(assertion.key, for: "account \(account.id)")
                )
            )
        }
    }
}

extension AccountGrant {
    init(_ grant: AccountSettings.Grant) {
        self =
            switch grant {
            case .refreshToken: .refreshToken
            case .clientCredentials: .clientCredentials
            case .password: .password
            case .jwtBearer: .jwtBearer
            }
    }
}
