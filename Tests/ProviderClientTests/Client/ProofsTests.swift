import Crypto
import Foundation
import OAuth
import ProviderClient
import Synchronization
import TestKit
import Testing
import TokenModel

extension LoopbackTests {
    /// How the client authenticates, as a provider sees it.
    @Suite struct ProofsTests {
        private static let success = http("200 OK", #"{"access_token":"A2"}"#)
        private static let refusal = http("401 Unauthorized", #"{"error":"invalid_client"}"#)

        private static func twoSecrets() -> RegisteredClient {
            RegisteredClient(
                clientID: "my-app",
                proofs: [.constant(.clientSecretPost(Secret("old"))), .constant(.clientSecretPost(Secret("new")))]
            )
        }

        @Test func `the secret that worked last is first in the order, and the default for later requests`()
            async throws
        {
            let server = try await ScriptedServer { request in
                .bytes(request.body.contains("client_secret=new") ? Self.success : Self.refusal)
            }
            let log = RecordingLog()
            try await withEndpoint(at: server.origin, as: Self.twoSecrets(), log: log) { endpoint in
                #expect(endpoint.proofOrder == [0, 1])
                #expect(await endpoint.redeem() == .config(reason("invalid_client")))
                #expect(endpoint.proofOrder == [0, 1])
                let verdict = await endpoint.redeem(Secret("R"), scopes: [], proof: 1, mayStillSend: { true })
                #expect(verdict.name == "success")
                #expect(endpoint.proofOrder == [1, 0])
                #expect(await endpoint.redeem().name == "success")
                #expect(await endpoint.mint(scopes: [], mayStillSend: { true }).name == "success")
            }
            let secrets = server.requests.map { field("client_secret", of: $0.body) }
            #expect(secrets == ["old", "new", "new", "new"])
            #expect(log.lines.filter { $0.contains("takes another of the client's secrets") }.count == 1)
            await server.stop()
        }

        @Test func `each client secret is recognized as one, and a token is not`() async throws {
            let server = try await ScriptedServer { _ in .bytes(Self.success) }
            try await withEndpoint(at: server.origin, as: Self.twoSecrets()) { endpoint in
                #expect(endpoint.isClientSecret(Secret("old")))
                #expect(endpoint.isClientSecret(Secret("new")))
                #expect(!endpoint.isClientSecret(Secret("R")))
            }
            #expect(server.requests.isEmpty)
            await server.stop()
        }

        @Test func `a revocation tries every secret until one is accepted`() async throws {
            let server = try await ScriptedServer { request in
                .bytes(request.body.contains("client_secret=new") ? http("200 OK", "") : Self.refusal)
            }
            try await withEndpoint(at: server.origin, as: Self.twoSecrets()) { endpoint in
                #expect(await endpoint.revoke(Secret("R"), kind: .refreshToken) == .revoked)
            }
            #expect(server.requests.count == 2)
            await server.stop()
        }

        private static func signing(
            _ key: P256.Signing.PrivateKey,
            audience: String? = nil,
            revocationAudience: String? = nil
        ) throws -> RegisteredClient {
            let signer = try AssertionKey(pem: Secret(key.pemRepresentation), algorithm: .es256, keyID: "k1")
            let proof = ClientProof.signed(signer, audience: audience, revocationAudience: revocationAudience)
            return RegisteredClient(clientID: "my-app", proofs: [proof])
        }

        /// What the assertions of `requests` name as their audience, in order.
        private static func audiences(_ requests: [ScriptedServer.Request]) throws -> [String?] {
            try requests.map { request in
                try SignedJWT(try #require(field("client_assertion", of: request.body))).claims["aud"] as? String
            }
        }

        @Test func `a revocation endpoint that refuses the client gets an assertion for its own URL`()
            async throws
        {
            let own = Mutex("")
            let server = try await ScriptedServer { request in
                let assertion = field("client_assertion", of: request.body).flatMap { try? SignedJWT($0) }
                let isOwn = assertion?.claims["aud"] as? String == own.withLock { $0 }
                return .bytes(isOwn ? http("200 OK", "") : Self.refusal)
            }
            own.withLock { $0 = "\(server.origin)/revoke" }
            try await withEndpoint(at: server.origin, as: try Self.signing(P256.Signing.PrivateKey())) { endpoint in
                #expect(await endpoint.revoke(Secret("R"), kind: .refreshToken) == .revoked)
            }
            let audiences = try Self.audiences(server.requests)
            #expect(audiences == ["\(server.origin)/token", "\(server.origin)/revoke"])
            await server.stop()
        }

        @Test func `a client that is refused with both audiences is reported as refused, and each is tried once`()
            async throws
        {
            let server = try await ScriptedServer { _ in .bytes(Self.refusal) }
            let client = try Self.signing(
                P256.Signing.PrivateKey(),
                audience: "https://issuer.example/",
                revocationAudience: "https://revoker.example/"
            )
            try await withEndpoint(at: server.origin, as: client) { endpoint in
                let verdict = await endpoint.revoke(Secret("R"), kind: .refreshToken)
                #expect(verdict == .clientRefused(reason("invalid_client")))
                _ = await endpoint.redeem()
            }
            let audiences = try Self.audiences(server.requests)
            #expect(audiences == ["https://revoker.example/", "\(server.origin)/revoke", "https://issuer.example/"])
            await server.stop()
        }

        @Test func `each request carries its own assertion for the token endpoint`() async throws {
            let key = P256.Signing.PrivateKey()
            let server = try await ScriptedServer { _ in .bytes(Self.success) }
            try await withEndpoint(at: server.origin, as: try Self.signing(key)) { endpoint in
                _ = await endpoint.redeem()
                _ = await endpoint.mint(scopes: [], mayStillSend: { true })
                _ = await endpoint.revoke(Secret("R"), kind: .refreshToken)
            }
            var ids: Set<String> = []
            for request in server.requests {
                #expect(field("client_id", of: request.body) == "my-app")
                #expect(!request.head.lowercased().contains("authorization:"))
                let jwt = try SignedJWT(try #require(field("client_assertion", of: request.body)))
                let signature = try P256.Signing.ECDSASignature(rawRepresentation: jwt.signature)
                #expect(key.publicKey.isValidSignature(signature, for: jwt.signingInput))
                #expect(jwt.header["kid"] as? String == "k1")
                #expect(jwt.claims["iss"] as? String == "my-app")
                #expect(jwt.claims["sub"] as? String == "my-app")
                #expect(jwt.claims["aud"] as? String == "\(server.origin)/token")
                #expect(jwt.claims["iat"] as? Int == 1_795_089_600)
                #expect(jwt.claims["exp"] as? Int == 1_795_089_660)
                ids.insert(try #require(jwt.claims["jti"] as? String))
            }
            #expect(ids.count == 3)
            await server.stop()
        }

        @Test func `a revocation endpoint on another server gets no assertion that works at the token endpoint`()
            async throws
        {
            // Given a provider that names somebody else's token endpoint and its own revocation endpoint
            let honest = try await ScriptedServer { _ in .bytes(Self.success) }
            let liar = try await ScriptedServer { request in
                let metadata =
                    #"{"issuer":"http://\#(request.host)","token_endpoint":"\#(honest.origin)/token","#
                    + #""revocation_endpoint":"http://\#(request.host)/revoke"}"#
                return .bytes(request.path == "/revoke" ? http("200 OK", "") : http("200 OK", metadata))
            }
            let client = try Self.signing(P256.Signing.PrivateKey())

            // When a token is revoked there
            try await withEndpoint(.discovered(try ProviderIssuer(liar.origin)), as: client) { endpoint in
                #expect(await endpoint.revoke(Secret("R"), kind: .refreshToken) == .revoked)
            }
            // And at configured endpoints on two servers
            let named = ProviderMetadata(
                tokenEndpoint: try ProviderURL("\(honest.origin)/token"),
                revocationEndpoint: try ProviderURL("\(liar.origin)/revoke")
            )
            try await withEndpoint(.named(named), as: client) { endpoint in
                #expect(await endpoint.revoke(Secret("R"), kind: .refreshToken) == .revoked)
            }

            // Then the audience of each assertion is the issuer that was asked, or the revocation endpoint
            let shown = try Self.audiences(liar.requests.filter { $0.path == "/revoke" })
            #expect(shown == [liar.origin, "\(liar.origin)/revoke"])
            #expect(honest.requests.isEmpty)
            await honest.stop()
            await liar.stop()
        }

        @Test func `a configured audience takes precedence over the token endpoint`() async throws {
            let server = try await ScriptedServer { _ in .bytes(Self.success) }
            let client = try Self.signing(P256.Signing.PrivateKey(), audience: "https://issuer.example/")
            try await withEndpoint(at: server.origin, as: client) { endpoint in _ = await endpoint.redeem() }
            let form = try #require(server.requests.first?.body)
            let jwt = try SignedJWT(try #require(field("client_assertion", of: form)))
            #expect(jwt.claims["aud"] as? String == "https://issuer.example/")
            await server.stop()
        }

        @Test(arguments: [
            ("Thu, 19 Nov 2026 12:09:00 GMT", 540), ("Thu, 19 Nov 2026 12:10:00 GMT", 600),
            ("Thu, 19 Nov 2026 13:00:00 GMT", 600), ("Tue, 19 Nov 2030 12:00:00 GMT", 600),
            ("Thu, 19 Nov 2020 12:00:00 GMT", -600), ("Thu, 19 Nov 2026 11:58:00 GMT", -120),
            ("Thu, 19 Nov 2026 12:00:05 GMT", 0), ("nonsense", 0),
        ])
        func `once a provider's clock is known, assertions are dated by it, at most ten minutes off`(
            date: String,
            offset: Int
        ) async throws {
            let server = try await ScriptedServer { _ in
                .bytes(http("401 Unauthorized", #"{"error":"invalid_client"}"#, "Date: \(date)"))
            }
            try await withEndpoint(at: server.origin, as: try Self.signing(P256.Signing.PrivateKey())) { endpoint in
                _ = await endpoint.redeem()
                _ = await endpoint.redeem()
            }
            let dates = try server.requests.map { request in
                try SignedJWT(try #require(field("client_assertion", of: request.body))).claims["iat"] as? Int
            }
            #expect(dates == [1_795_089_600, 1_795_089_600 + offset])
            await server.stop()
        }

        @Test func `an account's assertion is the grant, and contains the scopes`() async throws {
            let key = P256.Signing.PrivateKey()
            let server = try await ScriptedServer { _ in .bytes(Self.success) }
            let grant = GrantAssertion(
                issuer: "robot@acme.example",
                subject: nil,
                audience: nil,
                key: try AssertionKey(pem: Secret(key.pemRepresentation), algorithm: .es256, keyID: nil)
            )
            let client = RegisteredClient(clientID: "my-app", proofs: [])
            try await withEndpoint(at: server.origin, as: client) { endpoint in
                let verdict = await endpoint.mint(
                    .jwtBearer(grant),
                    scopes: ["read", "write"],
                    proof: nil,
                    mayStillSend: { true }
                )
                #expect(verdict.name == "success")
            }
            let form = try #require(server.requests.first?.body)
            #expect(field("grant_type", of: form) == "urn:ietf:params:oauth:grant-type:jwt-bearer")
            #expect(field("client_id", of: form) == nil)
            let jwt = try SignedJWT(try #require(field("assertion", of: form)))
            #expect(jwt.claims["iss"] as? String == "robot@acme.example")
            #expect(jwt.claims["sub"] == nil)
            #expect(jwt.claims["aud"] as? String == "\(server.origin)/token")
            #expect(jwt.claims["scope"] as? String == "read write")
            await server.stop()
        }

        @Test func `passwords and assertions are not logged`() async throws {
            let server = try await ScriptedServer { _ in .bytes(Self.refusal) }
            let log = RecordingLog()
            try await withEndpoint(at: server.origin, as: try Self.signing(P256.Signing.PrivateKey()), log: log) {
                endpoint in
                let grant = MintGrant.password(username: Secret("canary-name"), password: Secret("canary-password"))
                _ = await endpoint.mint(grant, scopes: [], proof: nil, mayStillSend: { true })
                #expect(!"\(grant)".contains("canary"))
            }
            let form = try #require(server.requests.first?.body)
            #expect(field("username", of: form) == "canary-name")
            let assertion = try #require(field("client_assertion", of: form))
            #expect(!log.lines.contains { $0.contains("canary") || $0.contains(assertion.prefix(20)) })
            await server.stop()
        }
    }
}
