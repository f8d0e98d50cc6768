internal import Synchronization
internal import TokenModel

/// `POST /oauth/introspect` (RFC 7662).
struct IntrospectionEndpoint {
    let service: MockService

    func respond(to exchange: Exchange) async throws -> MockResponse {
        let form = try await ClientForm.read(exchange)
        do throws(GrantRefusal) {
            let form = try form.get()
            try form.authenticate()
            let token = try form.fields.require("token")
            let description = self.service.state.withLock { $0.ledger.describe(token, at: .now) }
            return try Self.respond(description, issuer: self.service.issuer(exchange.head))
        } catch {
            return try .refusal(error)
        }
    }

    /// For a dead token the response says only that it is not active (RFC 7662 section 2.2).
    private static func respond(_ description: TokenDescription?, issuer: String) throws(GrantRefusal) -> MockResponse {
        do {
            guard let description else { return try .json(["active": false]) }
            return try .json(
                ActiveToken(
                    scope: description.scope,
                    username: description.account,
                    sub: description.account,
                    iss: issuer,
                    iat: description.issuedAt.wall.millisecondsSince1970 / 1_000,
                    exp: description.expiresAt.map { $0.wall.millisecondsSince1970 / 1_000 }
                )
            )
        } catch {
            throw GrantRefusal(.serverError, "the answer could not be encoded")
        }
    }

    private struct ActiveToken: Encodable {
        let active = true
        let client_id = ClientRegistration.id
        let token_type = "Bearer"
        let scope: String?
        let username: String
        let sub: String
        let iss: String
        let iat: Int64
        let exp: Int64?
    }
}
