package import OAuth
package import TokenModel

/// Everything needed to send requests to a provider.
package struct ProviderSettings: Sendable {
    /// Where the endpoints come from.
    package enum Endpoints: Sendable {
        /// From the configuration.
        case named(ProviderMetadata)
        /// From the issuer's metadata (RFC 8414), fetched when an endpoint is first needed that is not named here. A
        /// named endpoint takes precedence over the metadata.
        case discovered(ProviderIssuer, tokenEndpoint: ProviderURL? = nil, revocationEndpoint: ProviderURL? = nil)
    }

    /// The endpoints of sign-ins that the configuration names. They take precedence over the metadata.
    package struct SignInEndpoints: Equatable, Sendable {
        /// Nothing is named.
        package static let none = SignInEndpoints()

        /// Where a person signs in (RFC 6749 §3.1).
        package var authorizationEndpoint: ProviderURL?
        /// Where a device asks for a code (RFC 8628 §3.1).
        package var deviceAuthorizationEndpoint: ProviderURL?

        package init(authorizationEndpoint: ProviderURL? = nil, deviceAuthorizationEndpoint: ProviderURL? = nil) {
            self.authorizationEndpoint = authorizationEndpoint
            self.deviceAuthorizationEndpoint = deviceAuthorizationEndpoint
        }
    }

    /// The maximum of ``timeout``.
    package static let longestTimeout: Duration = .seconds(15)
    /// The maximum of ``answerTimeout``.
    package static let longestAnswerTimeout: Duration = .seconds(300)

    /// The provider's name in the configuration. Logs contain it.
    package var name: ProviderID
    /// Where its endpoints come from.
    package var endpoints: Endpoints
    /// The endpoints of sign-ins that the configuration names.
    package var signIn: SignInEndpoints
    /// Martlet's registration at the provider.
    package var client: RegisteredClient
    /// The parameters that are added to each token request.
    package var tokenParameters: TokenParameters
    /// How long a caller waits for the provider, and the limit for each exchange except token requests. Clamped to
    /// between 1 ms and ``longestTimeout``; default 8 s.
    package var timeout: Duration
    /// The limit for a whole token request. Clamped to between ``timeout`` and ``longestAnswerTimeout``; default
    /// ``timeout``.
    package var answerTimeout: Duration
    /// The rules by which its responses are judged.
    package var rules: ResponseRules
    /// A PEM file with the only trusted root certificates; `nil` for the system's.
    package var trustRoots: String?
    /// The certificate that the client presents to a provider that requests one; `nil` for none.
    package var identity: TLSIdentity?
    /// Accepts `http` endpoints in the issuer's metadata, on any host.
    package var allowCleartext: Bool

    package init(
        name: ProviderID,
        endpoints: Endpoints,
        signIn: SignInEndpoints = .none,
        client: RegisteredClient,
        tokenParameters: TokenParameters = .none,
        timeout: Duration = .seconds(8),
        answerTimeout: Duration? = nil,
        rules: ResponseRules = ResponseRules(),
        trustRoots: String? = nil,
        identity: TLSIdentity? = nil,
        allowCleartext: Bool = false
    ) {
        self.name = name
        self.endpoints = endpoints
        self.signIn = signIn
        self.client = client
        self.tokenParameters = tokenParameters
        let timeout = min(max(timeout, .milliseconds(1)), Self.longestTimeout)
        self.timeout = timeout
        self.answerTimeout = min(max(answerTimeout ?? timeout, timeout), Self.longestAnswerTimeout)
        self.rules = rules
        self.trustRoots = trustRoots
        self.identity = identity
        self.allowCleartext = allowCleartext
    }
}

extension ProviderSettings {
    /// The issuer of this provider's tokens.
    ///
    /// - Parameter found: the token endpoint in the issuer's metadata, if it is known.
    package func issuer(naming found: ProviderURL? = nil) -> TokenIssuer {
        switch self.endpoints {
        case .named(let metadata): .tokenEndpoint(metadata.tokenEndpoint.endpointID)
        case .discovered(_, let tokenEndpoint?, _): .tokenEndpoint(tokenEndpoint.endpointID)
        case .discovered(let issuer, nil, _): .issuer(issuer.url.issuerID, tokenEndpoint: found?.endpointID)
        }
    }

    /// The issuer's URL as an audience of assertions; `nil` if the configuration names no issuer.
    var issuerName: String? {
        guard case .discovered(let issuer, _, _) = self.endpoints else { return nil }
        return issuer.url.text
    }
}

/// The reason that a provider's settings can't be used. Two errors are equal when their codes are equal.
package struct ProviderSettingsError: Error, Sendable {
    /// What is wrong with it.
    package enum Code: Sendable, CaseIterable {
        /// The file of trust roots can't be read, or holds no certificate.
        case trustRootsUnreadable
        /// The client's certificate or its key can't be used.
        case identityUnusable
    }

    /// Decides equality.
    package let code: Code
    /// For the operator: what failed, on what, and what would help.
    package let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension ProviderSettingsError: Equatable {
    package static func == (left: ProviderSettingsError, right: ProviderSettingsError) -> Bool {
        left.code == right.code
    }
}
