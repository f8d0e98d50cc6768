package import OAuth
package import TokenModel

/// All that must be known of a provider to talk to it.
package struct ProviderSettings: Sendable {
    /// Where the endpoints come from.
    package enum Endpoints: Sendable {
        /// From the configuration.
        case named(ProviderMetadata)
        /// From the issuer's metadata (RFC 8414), asked for when one is first needed that is not named here: a named
        /// endpoint stands before what the issuer says.
        case discovered(ProviderIssuer, tokenEndpoint: ProviderURL? = nil, revocationEndpoint: ProviderURL? = nil)
    }

    /// The longest ``timeout`` that may be set.
    package static let longestTimeout: Duration = .seconds(15)
    /// The longest ``answerTimeout`` that may be set.
    package static let longestAnswerTimeout: Duration = .seconds(300)

    /// Its name in the configuration; stands in logs.
    package var name: ProviderID
    /// Where its endpoints come from.
    package var endpoints: Endpoints
    /// Martlet's registration there.
    package var client: RegisteredClient
    /// Added to each token request.
    package var tokenParameters: TokenParameters
    /// How long anybody waits for it, and the longest that it is asked for anything but tokens; held to between 1 ms and
    /// ``longestTimeout``.
    package var timeout: Duration
    /// For a whole token request; held to between ``timeout`` and ``longestAnswerTimeout``.
    package var answerTimeout: Duration
    /// What its answers are measured by.
    package var rules: ResponseRules
    /// A PEM file of the only roots to trust; `nil`: the system's.
    package var trustRoots: String?
    /// What the client shows a provider that asks who it is; `nil`: nothing.
    package var identity: TLSIdentity?
    /// Takes `http` endpoints that the issuer names, on any host.
    package var allowCleartext: Bool

    package init(
        name: ProviderID,
        endpoints: Endpoints,
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
    /// Who issues this provider's tokens.
    ///
    /// - Parameter found: the token endpoint that the issuer names, where that is known.
    package func issuer(naming found: ProviderURL? = nil) -> TokenIssuer {
        switch self.endpoints {
        case .named(let metadata): .tokenEndpoint(metadata.tokenEndpoint.endpointID)
        case .discovered(_, let tokenEndpoint?, _): .tokenEndpoint(tokenEndpoint.endpointID)
        case .discovered(let issuer, nil, _): .issuer(issuer.url.issuerID, tokenEndpoint: found?.endpointID)
        }
    }

    /// The issuer as its assertions may name it; `nil` where the configuration does not say it.
    var issuerName: String? {
        guard case .discovered(let issuer, _, _) = self.endpoints else { return nil }
        return issuer.url.text
    }
}
