internal import TokenModel

/// The endpoints at which a provider issues, redeems and revokes tokens, and what it says about sign-ins.
package struct ProviderMetadata: Hashable, Sendable {
    /// The token endpoint (RFC 6749 §3.2).
    package let tokenEndpoint: ProviderURL
    /// The revocation endpoint (RFC 7009 §2); `nil` if the provider names none and so can't revoke.
    package let revocationEndpoint: ProviderURL?
    /// Where a person signs in (RFC 6749 §3.1), opened in a browser; `nil` if the provider names none.
    package let authorizationEndpoint: ProviderURL?
    /// Where a device asks for a code (RFC 8628 §3.1); `nil` if the provider names none.
    package let deviceAuthorizationEndpoint: ProviderURL?
    /// Where the parameters of an authorization request are sent before the browser is (RFC 9126 §2); `nil` if the
    /// provider names none.
    package let pushedAuthorizationRequestEndpoint: ProviderURL?
    /// The public keys of ID tokens (`jwks_uri`, OpenID Connect Discovery 1.0 §3); `nil` if the provider names none.
    package let keySetURL: ProviderURL?
    /// Whether each authorization response carries `iss` (RFC 9207 §3).
    package let promisesIssuer: Bool
    /// Whether the provider lists its code challenge methods and S256 is not among them (RFC 7636 §4.3).
    package let refusesS256: Bool

    package init(
        tokenEndpoint: ProviderURL,
        revocationEndpoint: ProviderURL?,
        authorizationEndpoint: ProviderURL? = nil,
        deviceAuthorizationEndpoint: ProviderURL? = nil,
        pushedAuthorizationRequestEndpoint: ProviderURL? = nil,
        keySetURL: ProviderURL? = nil,
        promisesIssuer: Bool = false,
        refusesS256: Bool = false
    ) {
        self.tokenEndpoint = tokenEndpoint
        self.revocationEndpoint = revocationEndpoint
        self.authorizationEndpoint = authorizationEndpoint
        self.deviceAuthorizationEndpoint = deviceAuthorizationEndpoint
        self.pushedAuthorizationRequestEndpoint = pushedAuthorizationRequestEndpoint
        self.keySetURL = keySetURL
        self.promisesIssuer = promisesIssuer
        self.refusesS256 = refusesS256
    }

    /// Reads a metadata document (RFC 8414 §3.2).
    ///
    /// The document's `issuer` must be identical to the requested one (§3.3). Otherwise any server could speak for it.
    /// A document from an encrypted issuer can't name cleartext endpoints, not even on loopback. An endpoint that only a
    /// sign-in needs counts as missing if it can't be used: refreshes go on without it.
    ///
    /// - Parameter allowCleartext: Accepts `http` endpoints on any host. It does not apply to the authorization endpoint,
    ///   which a person's browser opens.
    package init(
        _ answer: ProviderResponse,
        of issuer: ProviderIssuer,
        allowCleartext: Bool = false
    ) throws(MetadataError) {
        guard answer.status == 200 else { throw .notFound }
        guard answer.bodyEnd != .tooLarge, answer.body.count <= ProviderResponse.bodyLimit,
            answer.contentEncoding.map({ $0.lowercased() == "identity" }) ?? true,
            let fields = answer.body.withUnredacted({ body in try? JSONReader.read(body, members: Self.members) })
        else { throw .unreadable }

        guard Self.text(fields["issuer"]) == issuer.url.text else { throw .issuerDiffers }
        guard let tokenEndpoint = Self.text(fields["token_endpoint"]) else { throw .tokenEndpointMissing }
        self.tokenEndpoint = try Self.endpoint(tokenEndpoint, of: issuer, allowCleartext)

        if let revocationEndpoint = Self.text(fields["revocation_endpoint"]) {
            self.revocationEndpoint = try Self.endpoint(revocationEndpoint, of: issuer, allowCleartext)
        } else {
            self.revocationEndpoint = nil
        }

        // Read on its own: a fault in these members must not make the token endpoint unreadable.
        let signIn = answer.body.withUnredacted { body in
            (try? JSONReader.read(body, members: Self.signInMembers)) ?? [:]
        }
        func optional(_ name: String, _ allowCleartext: Bool) -> ProviderURL? {
            Self.text(signIn[name]).flatMap { text in try? Self.endpoint(text, of: issuer, allowCleartext) }
        }
        self.authorizationEndpoint = optional("authorization_endpoint", false)
        self.deviceAuthorizationEndpoint = optional("device_authorization_endpoint", allowCleartext)
        self.pushedAuthorizationRequestEndpoint = optional("pushed_authorization_request_endpoint", allowCleartext)
        self.keySetURL = optional("jwks_uri", allowCleartext)
        self.promisesIssuer = signIn["authorization_response_iss_parameter_supported"] == .boolean(true)
        let methods = answer.body.withUnredacted { body in
            JSONReader.strings(in: "code_challenge_methods_supported", of: body)
        }
        self.refusesS256 = methods.map { !$0.contains("S256") } ?? false
    }

    /// The issuer that a document names; `nil` if it is not a URL that may be shown.
    package static func issuer(in answer: ProviderResponse) -> String? {
        let fields = answer.body.withUnredacted { body in try? JSONReader.read(body, members: Self.members) }
        guard let issuer = Self.text(fields?["issuer"]), issuer.utf8.count <= 256 else { return nil }
        return (try? ProviderURL(issuer, allowCleartext: true))?.withoutQuery
    }

    private static let members: Set<String> = ["issuer", "token_endpoint", "revocation_endpoint"]
    private static let signInMembers: Set<String> = [
        "authorization_endpoint", "device_authorization_endpoint", "pushed_authorization_request_endpoint", "jwks_uri",
        "authorization_response_iss_parameter_supported",
    ]

    private static func text(_ value: ResponseValue?) -> String? {
        guard let text = value?.asText, !text.isEmpty else { return nil }
        return text
    }

    private static func endpoint(
        _ text: String,
        of issuer: ProviderIssuer,
        _ allowCleartext: Bool
    ) throws(MetadataError) -> ProviderURL {
        guard let endpoint = try? ProviderURL(text, allowCleartext: allowCleartext),
            endpoint.isEncrypted || allowCleartext || !issuer.url.isEncrypted
        else { throw .endpointRefused }
        return endpoint
    }
}

/// Why a provider's metadata can't be used. The raw values may be logged.
package enum MetadataError: String, Error, Sendable, CaseIterable {
    /// The status of the response is not 200.
    case notFound = "not_found"
    /// The body is not one JSON object within the limits.
    case unreadable
    /// The document names another issuer.
    case issuerDiffers = "issuer_differs"
    case tokenEndpointMissing = "token_endpoint_missing"
    /// An endpoint is not a URL, or is a cleartext one.
    case endpointRefused = "endpoint_refused"
}
