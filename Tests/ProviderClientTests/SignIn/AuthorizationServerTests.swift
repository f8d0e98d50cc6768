import Crypto
import NIOCore
import OAuth
import ProviderClient
import Synchronization
import TestKit
import Testing
import TokenModel

extension LoopbackTests {
    /// What a provider offers for sign-ins, and how one is started.
    @Suite struct AuthorizationServerTests {
        private static let request = AuthorizationRequest(
            redirectURI: "http://127.0.0.1:4711/callback",
            scopes: ["read"],
            state: Secret("canary-state"),
            nonce: nil,
            challenge: "c-1",
            prompt: nil,
            extra: [:]
        )
        private static let query =
            "?client_id=my-app&response_type=code&redirect_uri=http%3A%2F%2F127.0.0.1%3A4711%2Fcallback&scope=read"
            + "&state=canary-state&code_challenge=c-1&code_challenge_method=S256"
        private static let device = http(
            "200 OK",
            #"{"device_code":"canary-device","user_code":"AB-CD","verification_uri":"https://a.example/d"}"#
        )
        private static let refusal = http("401 Unauthorized", #"{"error":"invalid_client"}"#)

        private static let parMember = #","pushed_authorization_request_endpoint":"ORIGIN/par""#
        private static let members =
            #","authorization_endpoint":"ORIGIN/authorize","device_authorization_endpoint":"ORIGIN/device""#

        /// Runs `body` with an issuer whose metadata has these members, and that responds so to everything else.
        private static func run(
            _ members: String,
            as registered: RegisteredClient = RegisteredClient(client),
            signIn: ProviderSettings.SignInEndpoints = .none,
            log: RecordingLog = RecordingLog(),
            answering response: @escaping @Sendable (ScriptedServer.Request) -> ScriptedServer.Answer = { _ in
                .bytes(http("404 Not Found", ""))
            },
            _ body: (HTTPTokenEndpoint, ScriptedServer) async throws -> Void
        ) async throws {
            let issuer = SigningIssuer()
            issuer.members.withLock { $0 = members }
            let server = try await ScriptedServer { request in
                request.path.hasPrefix("/.well-known/") ? issuer.response(request) : response(request)
            }
            try await withEndpoint(
                .discovered(try ProviderIssuer(server.origin)),
                signIn: signIn,
                as: registered,
                log: log
            ) { endpoint in try await body(endpoint, server) }
            await server.stop()
        }

        @Test func `what a provider offers is known from its metadata`() async throws {
            let promises = #","authorization_response_iss_parameter_supported":true"#
            try await Self.run(Self.members + promises) { endpoint, server in
                let features = try await endpoint.features()
                #expect(
                    features
                        == SignInFeatures(
                            hasAuthorizationEndpoint: true,
                            authorizationOrigin: server.origin,
                            hasDeviceEndpoint: true,
                            promisesIssuer: true,
                            issuer: server.origin,
                            validatesIDTokens: true,
                            refusesS256: false
                        )
                )
            }
            try await Self.run(#","code_challenge_methods_supported":["plain"]"#) { endpoint, server in
                let features = try await endpoint.features()
                #expect(!features.hasAuthorizationEndpoint && !features.hasDeviceEndpoint && !features.promisesIssuer)
                #expect(features.refusesS256)
            }
        }

        @Test func `configured endpoints take precedence over the metadata, and need none`() async throws {
            let named = ProviderSettings.SignInEndpoints(
                authorizationEndpoint: try ProviderURL("https://named.example/a?t=1"),
                deviceAuthorizationEndpoint: try ProviderURL("https://named.example/d")
            )
            try await Self.run(Self.members, signIn: named) { endpoint, _ in
                let url = try await endpoint.authorizationURL(Self.request)
                #expect(url == "https://named.example/a?t=1&" + Self.query.dropFirst())
            }
            let metadata = ProviderMetadata(
                tokenEndpoint: try ProviderURL("https://named.example/t"),
                revocationEndpoint: nil
            )
            try await withEndpoint(.named(metadata), signIn: named) { endpoint in
                let features = try await endpoint.features()
                #expect(features.hasAuthorizationEndpoint && features.hasDeviceEndpoint)
                #expect(features.issuer == nil && !features.validatesIDTokens)
                #expect(try await endpoint.authorizationURL(Self.request).hasPrefix("https://named.example/a?t=1&"))
            }
        }

        @Test func `an issuer without a document is no fault if the configuration says it all`() async throws {
            let server = try await ScriptedServer { _ in .bytes(http("404 Not Found", "")) }
            let named = ProviderSettings.SignInEndpoints(authorizationEndpoint: try ProviderURL("https://a.example/a"))
            let issuer = try ProviderIssuer(server.origin)
            try await withEndpoint(
                .discovered(issuer, tokenEndpoint: try ProviderURL("https://a.example/t")),
                signIn: named
            ) { endpoint in
                let features = try await endpoint.features()
                #expect(features.hasAuthorizationEndpoint && !features.validatesIDTokens && !features.promisesIssuer)
            }
            // Without a token endpoint, the document is needed.
            try await withEndpoint(.discovered(issuer), signIn: named) { endpoint in
                await #expect(throws: AuthorizationServerError(.unreachable, "")) { try await endpoint.features() }
            }
            await server.stop()
        }

        @Test func `a document that can't be fetched may promise the issuer, so the sign-in waits for it`() async throws
        {
            let server = try await ScriptedServer { _ in .bytes(http("503 Service Unavailable", "")) }
            let named = ProviderSettings.SignInEndpoints(authorizationEndpoint: try ProviderURL("https://a.example/a"))
            try await withEndpoint(
                .discovered(
                    try ProviderIssuer(server.origin),
                    tokenEndpoint: try ProviderURL("https://a.example/t")
                ),
                signIn: named
            ) { endpoint in
                let error = await #expect(throws: AuthorizationServerError.self) {
                    try await endpoint.authorizationURL(Self.request)
                }
                #expect(error?.code == .unreachable)
                #expect(error?.reason == .discoveryFailed)
            }
            await server.stop()
        }

        @Test func `what a provider names no endpoint for is not offered`() async throws {
            try await Self.run("") { endpoint, server in
                await #expect(throws: AuthorizationServerError(.notOffered, "")) {
                    try await endpoint.authorizationURL(Self.request)
                }
                await #expect(throws: AuthorizationServerError(.notOffered, "")) {
                    try await endpoint.startDevice(scopes: [], extra: [:])
                }
                #expect(server.requests.count == 1)
            }
        }

        @Test func `an address has the whole request, and nothing is sent`() async throws {
            let log = RecordingLog()
            try await Self.run(Self.members, log: log) { endpoint, server in
                let url = try await endpoint.authorizationURL(Self.request)
                #expect(url == "\(server.origin)/authorize\(Self.query)")
                #expect(server.requests.allSatisfy { $0.head.hasPrefix("GET ") })
            }
            #expect(!log.lines.contains { $0.contains("canary") })
        }

        @Test func `where the provider takes the request in advance, the address only refers to it`() async throws {
            let log = RecordingLog()
            try await Self.run(Self.members + Self.parMember, log: log) { _ in
                .bytes(http("201 Created", #"{"request_uri":"urn:canary:1","expires_in":60}"#))
            } _: { endpoint, server in
                let url = try await endpoint.authorizationURL(Self.request)
                #expect(url == "\(server.origin)/authorize?client_id=my-app&request_uri=urn%3Acanary%3A1")
                let push = try #require(server.requests.last)
                #expect(push.head.hasPrefix("POST /par HTTP/1.1\r\n"))
                #expect(push.head.contains("Authorization: Basic "))
                #expect(push.body.hasPrefix("client_id=my-app&response_type=code&"))
                #expect(field("state", of: push.body) == "canary-state")
                #expect(field("code_challenge", of: push.body) == "c-1")
            }
            #expect(log.lines.contains { $0.hasPrefix("debug authorization request was sent") })
            #expect(!log.lines.contains { $0.contains("canary") })
        }

        @Test(arguments: [
            (
                http("400 Bad Request", #"{"error":"invalid_redirect_uri"}"#), AuthorizationServerError.Code.refused,
                "invalid_redirect_uri"
            ),
            (refusal, .refused, "invalid_client"),
            (http("503 Service Unavailable", ""), .unreachable, "server_error"),
            (http("201 Created", "{}"), .malformed, "answer_unreadable"),
            ("", .unreachable, "connection_lost"),
        ])
        func `a request that is not taken has its error, for both kinds of sign-in`(
            response: String,
            code: AuthorizationServerError.Code,
            word: String
        ) async throws {
            let log = RecordingLog()
            try await Self.run(Self.members + Self.parMember, log: log) { _ in
                .bytes(response)
            } _: { endpoint, _ in
                let pushed = await #expect(throws: AuthorizationServerError.self) {
                    try await endpoint.authorizationURL(Self.request)
                }
                let device = await #expect(throws: AuthorizationServerError.self) {
                    try await endpoint.startDevice(scopes: [], extra: [:])
                }
                for error in [pushed, device] {
                    #expect(error?.code == code)
                    #expect(error?.reason == reason(word))
                    #expect(error?.message.contains(word) == true)
                }
            }
            let told = log.lines.filter { $0.hasPrefix("warning provider did not start a sign-in") }
            #expect(told.count == 2)
            #expect(told.allSatisfy { $0.contains("reason=\(word)") && !$0.contains("canary") })
        }

        @Test func `a device is started with the scopes and the configured parameters`() async throws {
            let log = RecordingLog()
            try await Self.run(Self.members, log: log) { _ in
                .bytes(Self.device)
            } _: { endpoint, server in
                let device = try await endpoint.startDevice(scopes: ["read", "write"], extra: ["audience": "a"])
                #expect(device.deviceCode == Secret("canary-device"))
                #expect(device.userCode == "AB-CD")
                let request = try #require(server.requests.last)
                #expect(request.head.hasPrefix("POST /device HTTP/1.1\r\n"))
                #expect(request.body == "scope=read+write&client_id=my-app&audience=a")
            }
            #expect(!log.lines.contains { $0.contains("canary") || $0.contains("AB-CD") })
        }

        @Test func `a client that is refused tries its next secret`() async throws {
            let twoSecrets = RegisteredClient(
                clientID: "my-app",
                proofs: [.constant(.clientSecretPost(Secret("old"))), .constant(.clientSecretPost(Secret("new")))]
            )
            try await Self.run(Self.members + Self.parMember, as: twoSecrets) { request in
                guard field("client_secret", of: request.body) == "new" else { return .bytes(Self.refusal) }
                return .bytes(
                    request.path == "/par" ? http("201 Created", #"{"request_uri":"urn:1"}"#) : Self.device
                )
            } _: { endpoint, server in
                #expect(try await endpoint.authorizationURL(Self.request).hasSuffix("&request_uri=urn%3A1"))
                _ = try await endpoint.startDevice(scopes: [], extra: [:])
                let secrets = server.requests.filter { !$0.body.isEmpty }.map { field("client_secret", of: $0.body) }
                #expect(secrets == ["old", "new", "old", "new"])
            }
        }

        @Test func `an assertion is for the token endpoint, and then for the endpoint that refuses it`() async throws {
            let key = P256.Signing.PrivateKey()
            let signer = try AssertionKey(pem: Secret(key.pemRepresentation), algorithm: .es256, keyID: nil)
            let client = RegisteredClient(clientID: "my-app", proofs: [.signed(signer, audience: nil)])
            try await Self.run(Self.members, as: client) { request in
                let assertion = field("client_assertion", of: request.body).flatMap { try? SignedJWT($0) }
                let isOwn = assertion?.claims["aud"] as? String == "http://\(request.host)/device"
                return .bytes(isOwn ? Self.device : Self.refusal)
            } _: { endpoint, server in
                _ = try await endpoint.startDevice(scopes: [], extra: [:])
                let audiences = try server.requests.dropFirst().map { request in
                    try SignedJWT(try #require(field("client_assertion", of: request.body))).claims["aud"] as? String
                }
                #expect(audiences == ["\(server.origin)/token", "\(server.origin)/device"])
            }
        }
    }
}
