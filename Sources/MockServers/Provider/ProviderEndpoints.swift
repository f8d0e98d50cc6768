/// The provider's endpoints that no fault rule touches.
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
