import Crypto
import Foundation
import MockServers
import Testing

@Suite(.timeLimit(.minutes(1))) struct ProviderEndpointsTests {
    struct Discovery: Decodable {
        let issuer: String
        let token_endpoint: String
        let revocation_endpoint: String
        let jwks_uri: String
        let code_challenge_methods_supported: [String]
    }

    @Test(arguments: ["oauth-authorization-server", "openid-configuration"])
    func `the issuer is the address that the client called`(document: String) async throws {
        try await MockServer.withRunning { address in
            let plain: Discovery = try await address.request("GET", "/.well-known/\(document)").json()
            #expect(plain.issuer == "\(address)")
            #expect(plain.token_endpoint == "\(address)/oauth/token")
            #expect(plain.revocation_endpoint == "\(address)/oauth/revoke")
            #expect(plain.code_challenge_methods_supported == ["S256"])

            let named = try await Wire.open(address) { wire in
                try await wire.send("GET /.well-known/\(document) HTTP/1.1\r\nHost: login.example:8443\r\n\r\n")
                return try #require(await wire.response())
            }
            #expect(try named.json(Discovery.self).issuer == "http://login.example:8443")
        }
    }

    @Test func `an access token is signed with the published key`() async throws {
        struct Keys: Decodable { let keys: [JSONWebKey] }
        struct Claims: Decodable {
            let iss: String
            let sub: String
            let iat: Int
            let exp: Int
        }

        try await MockServer.withRunning(MockOptions(rules: TokenRules(accessLifetime: .seconds(90)))) { address in
            let key = try #require(try await address.request("GET", "/oauth/jwks").json(Keys.self).keys.first)
            let token = try await address.grant("alice").accessToken
            let parts = token.split(separator: ".").map(String.init)
            #expect(parts.count == 3)

            let publicKey = try P256.Signing.PublicKey(
                rawRepresentation: try Self.decode(key.x) + Self.decode(key.y)
            )
            let signature = try P256.Signing.ECDSASignature(rawRepresentation: try Self.decode(parts[2]))
            #expect(publicKey.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8)))

            let claims = try JSONBody.decode(Claims.self, from: try Self.decode(parts[1]))
            #expect(claims.iss == "\(address)")
            #expect(claims.sub == "alice")
            #expect(claims.exp - claims.iat == 90)
        }
    }

    @Test func `an opaque token is no JWT, but works`() async throws {
        try await MockServer.withRunning(MockOptions(opaqueTokens: true)) { address in
            let granted = try await address.grant()
            #expect(!granted.accessToken.contains("."))
            #expect(try await address.api("/api/echo", token: granted.accessToken).status == 200)
        }
    }

    @Test func `revoking a refresh token revokes its access tokens, and every revocation counts`() async throws {
        try await MockServer.withRunning { address in
            let granted = try await address.grant()
            let other = try await address.grant("a1")

            #expect(try await address.post("/oauth/revoke", "token=\(other.accessToken)").status == 200)
            #expect(try await address.refresh(other.refreshToken).status == 200)
            #expect(
                try await address.post(
                    "/oauth/revoke",
                    "token=\(granted.refreshToken ?? "")&token_type_hint=refresh_token"
                ).status == 200
            )
            #expect(try await address.post("/oauth/revoke", "token=made-up").status == 200)
            #expect(try await address.post("/oauth/revoke", "").status == 400)
            let stranger = try await address.request(
                "POST",
                "/oauth/revoke",
                ListeningAddress.formFields,
                body: "token=\(other.refreshToken ?? "")"
            )
            #expect(stranger.status == 401)

            #expect(try await address.api("/api/echo", token: granted.accessToken).status == 401)
            let stats = try await address.stats()
            #expect(stats.revocations == .init(ok: 2, unknown: 3, fault: 0))
            #expect(stats.live == ["a0": .init(refresh: 0, access: 0), "a1": .init(refresh: 1, access: 1)])
            #expect(stats.apiRequests.revoked == 1)
        }
    }

    @Test func `introspection distinguishes live tokens from dead ones`() async throws {
        struct Answer: Decodable {
            let active: Bool
            let sub: String?
        }

        try await MockServer.withRunning { address in
            let granted = try await address.grant("alice")
            for token in [granted.accessToken, granted.refreshToken ?? ""] {
                let answer: Answer = try await address.post("/oauth/introspect", "token=\(token)").json()
                #expect(answer.active)
                #expect(answer.sub == "alice")
            }
            _ = try await address.request("POST", "/_control/expire")
            let dead: Answer = try await address.post("/oauth/introspect", "token=\(granted.accessToken)").json()
            #expect(!dead.active)
            #expect(dead.sub == nil)
        }
    }

    private static func decode(_ text: String) throws -> Data {
        let standard = text.replacing("-", with: "+").replacing("_", with: "/")
        let padding = String(repeating: "=", count: (4 - text.count % 4) % 4)
        return try #require(Data(base64Encoded: standard + padding))
    }
}
