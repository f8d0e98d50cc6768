internal import TextCoding
package import TokenModel

/// What a person is asked to grant in the browser: the request for an authorization code (RFC 6749 §4.1.1), always with
/// a code challenge of method S256 (RFC 7636 §4.3).
package struct AuthorizationRequest: Sendable {
    /// One parameter. `state` is a secret until the browser has it.
    private enum Value {
        case text(String)
        case secret(Secret)
    }

    private let parameters: [(name: String, value: Value)]

    /// - Parameters:
    ///   - scopes: if empty, the parameter is omitted, and the provider chooses the scopes.
    ///   - nonce: comes back in the ID token; `nil` if none is asked for.
    ///   - challenge: the SHA-256 of the code verifier in base64url.
    ///   - prompt: `prompt` of OpenID Connect Core 1.0 §3.1.2.1, such as `consent`.
    ///   - extra: parameters of the configuration, which refuses reserved ones. Reserved ones are left out here: with two
    ///     values, the provider would choose which one counts.
    package init(
        redirectURI: String,
        scopes: [String],
        state: Secret,
        nonce: String?,
        challenge: String,
        prompt: String?,
        extra: [String: String]
    ) {
        var parameters: [(name: String, value: Value)] = [
            ("response_type", .text("code")),
            ("redirect_uri", .text(redirectURI)),
        ]
        if !scopes.isEmpty { parameters.append(("scope", .text(scopes.joined(separator: " ")))) }
        parameters.append(("state", .secret(state)))
        if let nonce { parameters.append(("nonce", .text(nonce))) }
        parameters.append(("code_challenge", .text(challenge)))
        parameters.append(("code_challenge_method", .text("S256")))
        if let prompt { parameters.append(("prompt", .text(prompt))) }
        parameters += Self.allowed(extra).map { ($0.name, .text($0.value)) }
        self.parameters = parameters
    }

    /// Whether the request itself sets the parameter `name`, or the parameter would replace the request or send its
    /// response elsewhere. The configuration can't add it.
    package static func isReserved(_ name: String) -> Bool { Self.reserved.contains(name) || name.isEmpty }

    /// The parameters of the configuration that may be added, always in the same order.
    static func allowed(_ extra: [String: String]) -> [(name: String, value: String)] {
        extra.filter { !Self.isReserved($0.key) }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    private static let reserved: Set<String> = [
        "response_type", "response_mode", "client_id", "client_secret", "client_assertion", "client_assertion_type",
        "redirect_uri", "scope", "state", "nonce", "code_challenge", "code_challenge_method", "prompt", "request",
        "request_uri",
    ]
}

extension AuthorizationRequest {
    /// The address to open: the endpoint with the parameters behind whatever query it has (RFC 6749 §3.1).
    package func url(at endpoint: ProviderURL, clientID: String) -> String {
        Self.url(at: endpoint, [("client_id", .text(clientID))] + self.parameters)
    }

    /// The address to open for a request that the provider has already (RFC 9126 §4).
    package static func url(
        at endpoint: ProviderURL,
        clientID: String,
        pushed request: PushedAuthorization
    ) -> String {
        Self.url(at: endpoint, [("client_id", .text(clientID)), ("request_uri", .secret(request.requestURI))])
    }

    private static func url(at endpoint: ProviderURL, _ parameters: [(name: String, value: Value)]) -> String {
        let separator =
            switch endpoint.query {
            case nil: "?"
            case let query? where query.isEmpty || query.hasSuffix("&"): ""
            default: "&"
            }
        let pairs = parameters.map { name, value in
            let text =
                switch value {
                case .text(let text): text
                case .secret(let secret):
                    secret.withUnredacted { bytes in String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self) }
                }
            // A space as %20, which every parser of a query understands.
            return PercentCoding.encode(name) + "=" + PercentCoding.encode(text)
        }
        return endpoint.text + separator + pairs.joined(separator: "&")
    }

    /// Adds the parameters to a form.
    func add(to form: inout FormEncoding) {
        for (name, value) in self.parameters {
            switch value {
            case .text(let text): form.add(name, text)
            case .secret(let secret): form.add(name, secret)
            }
        }
    }
}
