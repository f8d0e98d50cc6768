/// The provider's endpoints to which no fault rule applies.
struct ProviderEndpoints {
    let service: MockService

    func respond(to exchange: Exchange) async throws -> MockResponse {
        let head = exchange.head
        switch (head.path, head.method) {
        case ("/.well-known/oauth-authorization-server", "GET"), ("/.well-known/openid-configuration", "GET"):
            return try .json(DiscoveryDocument(issuer: self.service.issuer(head)))
        case ("/oauth/jwks", "GET"):
            return try .json(["keys": [self.service.key.publicKey]])
        case ("/oauth/authorize", "GET"):
            return try AuthorizationEndpoint(service: self.service).respond(to: head)
        case ("/oauth/device", "GET"):
            return try DeviceEndpoints(service: self.service).approve(head)
        case ("/oauth/device_authorization", "POST"):
            return try await DeviceEndpoints(service: self.service).start(exchange)
        case ("/oauth/introspect", "POST"):
            return try await IntrospectionEndpoint(service: self.service).respond(to: exchange)
        case ("/oauth/device_authorization", _), ("/oauth/introspect", _):
            return try .methodNotAllowed(allow: "POST")
        case ("/.well-known/oauth-authorization-server", _), ("/.well-known/openid-configuration", _),
            ("/oauth/jwks", _), ("/oauth/authorize", _), ("/oauth/device", _):
            return try .methodNotAllowed(allow: "GET")
        default:
            return try .notFound()
        }
    }
}

/// The provider's metadata (RFC 8414; OpenID Connect Discovery 1.0 requires two more members).
struct DiscoveryDocument: Encodable {
    let issuer: String
    let authorization_endpoint: String
    let token_endpoint: String
    let revocation_endpoint: String
    let introspection_endpoint: String
    let device_authorization_endpoint: String
    let jwks_uri: String
    let response_types_supported = ["code"]
    let grant_types_supported = [
        "authorization_code", "refresh_token", "client_credentials", "password",
        "urn:ietf:params:oauth:grant-type:device_code",
    ]
    let token_endpoint_auth_methods_supported = ["client_secret_basic", "client_secret_post"]
    let revocation_endpoint_auth_methods_supported = ["client_secret_basic", "client_secret_post"]
    let introspection_endpoint_auth_methods_supported = ["client_secret_basic", "client_secret_post"]
    let code_challenge_methods_supported = ["S256"]
    let authorization_response_iss_parameter_supported = true
    let subject_types_supported = ["public"]
    let id_token_signing_alg_values_supported = ["ES256"]

    init(issuer: String) {
        self.issuer = issuer
        self.authorization_endpoint = "\(issuer)/oauth/authorize"
        self.token_endpoint = "\(issuer)/oauth/token"
        self.revocation_endpoint = "\(issuer)/oauth/revoke"
        self.introspection_endpoint = "\(issuer)/oauth/introspect"
        self.device_authorization_endpoint = "\(issuer)/oauth/device_authorization"
        self.jwks_uri = "\(issuer)/oauth/jwks"
    }
}
