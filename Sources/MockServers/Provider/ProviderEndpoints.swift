internal import Synchronization

/// The provider's endpoints to which no fault rule applies.
struct ProviderEndpoints {
    let service: MockService

    func respond(to exchange: Exchange) async throws -> MockResponse {
        let head = exchange.head
        switch (head.path, head.method) {
        case ("/.well-known/oauth-authorization-server", "GET"), ("/.well-known/openid-configuration", "GET"):
            let rules = self.service.state.withLock { $0.signInRules }
            return try .json(DiscoveryDocument(issuer: self.service.issuer(head), rules.metadata))
        case ("/oauth/jwks", "GET"):
            return try .json(["keys": [self.service.key.publicKey]])
        case ("/oauth/authorize", "GET"):
            return try AuthorizationEndpoint(service: self.service).respond(to: head)
        case ("/oauth/consent", "GET"):
            return try AuthorizationEndpoint(service: self.service).decide(head)
        case ("/oauth/par", "POST"):
            return try await PushedRequestEndpoint(service: self.service).respond(to: exchange)
        case ("/oauth/device", "GET"):
            return DeviceEndpoints(service: self.service).approve(head)
        case ("/oauth/device_authorization", "POST"):
            return try await DeviceEndpoints(service: self.service).start(exchange)
        case ("/oauth/introspect", "POST"):
            return try await IntrospectionEndpoint(service: self.service).respond(to: exchange)
        case ("/oauth/device_authorization", _), ("/oauth/introspect", _), ("/oauth/par", _):
            return try .methodNotAllowed(allow: "POST")
        case ("/.well-known/oauth-authorization-server", _), ("/.well-known/openid-configuration", _),
            ("/oauth/jwks", _), ("/oauth/authorize", _), ("/oauth/consent", _), ("/oauth/device", _):
            return try .methodNotAllowed(allow: "GET")
        default:
            return try .notFound()
        }
    }
}

/// The provider's metadata (RFC 8414, RFC 9126 section 5, RFC 9207 section 3; OpenID Connect Discovery 1.0 requires two more members).
struct DiscoveryDocument: Encodable {
    let issuer: String
    let authorization_endpoint: String
    let token_endpoint: String
    let revocation_endpoint: String
    let introspection_endpoint: String
    let device_authorization_endpoint: String?
    let pushed_authorization_request_endpoint: String?
    let require_pushed_authorization_requests: Bool
    let jwks_uri: String
    let response_types_supported = ["code"]
    let grant_types_supported: [String]
    let token_endpoint_auth_methods_supported = ["client_secret_basic", "client_secret_post"]
    let revocation_endpoint_auth_methods_supported = ["client_secret_basic", "client_secret_post"]
    let introspection_endpoint_auth_methods_supported = ["client_secret_basic", "client_secret_post"]
    let code_challenge_methods_supported = ["S256"]
    let authorization_response_iss_parameter_supported: Bool
    let subject_types_supported = ["public"]
    let id_token_signing_alg_values_supported = ["ES256"]

    init(issuer: String, _ rules: SignInRules.Metadata) {
        self.issuer = issuer
        self.authorization_endpoint = "\(issuer)/oauth/authorize"
        self.token_endpoint = "\(issuer)/oauth/token"
        self.revocation_endpoint = "\(issuer)/oauth/revoke"
        self.introspection_endpoint = "\(issuer)/oauth/introspect"
        self.device_authorization_endpoint = rules.namesDevice ? "\(issuer)/oauth/device_authorization" : nil
        self.pushed_authorization_request_endpoint = rules.namesPAR ? "\(issuer)/oauth/par" : nil
        self.require_pushed_authorization_requests = rules.requiresPAR
        self.authorization_response_iss_parameter_supported = rules.promisesIssuer
        self.grant_types_supported =
            ["authorization_code", "refresh_token", "client_credentials", "password"]
            + (rules.namesDevice ? [SignInGrants.deviceCode] : [])
        self.jwks_uri = "\(issuer)/oauth/jwks"
    }
}
