import NIOCore
import OAuth
import ProviderClient
import Synchronization
import TestKit
import Testing
import TokenModel

extension LoopbackTests {
    /// How codes are traded for tokens.
    @Suite struct RedemptionTests {
        private static let success = http(
            "200 OK",
            #"{"access_token":"A1","refresh_token":"R1","expires_in":60,"id_token":"canary-id"}"#
        )

        private static func redeem(_ endpoint: HTTPTokenEndpoint, of issuer: TokenIssuer? = nil) async -> TokenVerdict {
            await endpoint.redeem(
                Secret("canary-code"),
                of: issuer ?? endpoint.binding.issuer,
                verifier: Secret("canary-verifier"),
                redirectURI: "http://127.0.0.1:4711/callback"
            )
        }

        @Test func `a code is one POST with its verifier, and the answer has the ID token`() async throws {
            let server = try await ScriptedServer { _ in .bytes(Self.success) }
            let log = RecordingLog()
            try await withEndpoint(at: server.origin, log: log) { endpoint in
                #expect(
                    await Self.redeem(endpoint)
                        == .success(
                            TokenGrant(
                                accessToken: Secret("A1"),
                                refreshToken: Secret("R1"),
                                lifetime: .seconds(60),
                                idToken: Secret("canary-id")
                            )
                        )
                )
            }
            #expect(
                server.requests.map(\.body) == [
                    "grant_type=authorization_code&code=canary-code"
                        + "&redirect_uri=http%3A%2F%2F127.0.0.1%3A4711%2Fcallback&code_verifier=canary-verifier"
                ]
            )
            #expect(log.lines.count == 1)
            #expect(log.lines[0].hasPrefix("debug token endpoint was asked to redeem a code"))
            #expect(!log.lines[0].contains("canary"))
            await server.stop()
        }

        @Test(arguments: [
            (http("400 Bad Request", #"{"error":"invalid_grant"}"#), TokenVerdict.dead(reason("invalid_grant"))),
            (http("500 Internal Server Error", ""), .ambiguous(.serverError)),
            (http("429 Too Many Requests", "", "Retry-After: 5"), .throttled(retryAfter: .seconds(5))),
            (
                http("400 Bad Request", #"{"error":"unauthorized_client"}"#),
                .accountConfig(reason("unauthorized_client"))
            ),
            ("", .ambiguous(.connectionLost)),
        ])
        func `a code that the provider has seen is never sent again`(bytes: String, expected: TokenVerdict) async throws
        {
            let server = try await ScriptedServer { _ in .bytes(bytes) }
            try await withEndpoint(at: server.origin) { endpoint in
                #expect(await Self.redeem(endpoint) == expected)
            }
            #expect(server.acceptedConnections == 1)
            await server.stop()
        }

        @Test func `a refused client tries its next secret with the same code`() async throws {
            let server = try await ScriptedServer { request in
                .bytes(
                    request.body.contains("client_secret=new")
                        ? Self.success : http("401 Unauthorized", #"{"error":"invalid_client"}"#)
                )
            }
            let client = RegisteredClient(
                clientID: "my-app",
                proofs: ["old", "new"].map { .constant(.clientSecretPost(Secret($0))) }
            )
            try await withEndpoint(at: server.origin, as: client) { endpoint in
                #expect(await Self.redeem(endpoint).name == "success")
                #expect(endpoint.proofOrder == [1, 0])
            }
            #expect(server.requests.map { field("client_secret", of: $0.body) } == ["old", "new"])
            #expect(server.requests.allSatisfy { field("code", of: $0.body) == "canary-code" })

            let refusing = try await ScriptedServer { _ in
                .bytes(http("401 Unauthorized", #"{"error":"invalid_client"}"#))
            }
            try await withEndpoint(at: refusing.origin, as: client) { endpoint in
                #expect(await Self.redeem(endpoint) == .config(reason("invalid_client")))
            }
            #expect(refusing.requests.count == 2)
            await refusing.stop()
            await server.stop()
        }

        @Test func `a form that was not sent is tried three times`() async throws {
            let log = RecordingLog()
            let start = ContinuousClock.now
            try await withEndpoint(at: "http://127.0.0.1:\(ScriptedServer.refusingPort)", log: log) { endpoint in
                #expect(await Self.redeem(endpoint) == .notSent(.connectFailed))
            }
            #expect(log.lines.count { $0.contains("reason=connect_failed") } == 3)
            #expect(start.duration(to: .now) >= .milliseconds(1300))
        }

        @Test func `a provider that comes back in between gets the code once`() async throws {
            let attempts = Mutex(0)
            let issuer = SigningIssuer()
            issuer.response.withLock { $0 = .bytes(Self.success) }
            let server = try await ScriptedServer { request in
                guard request.path.hasPrefix("/.well-known/") else { return issuer.response(request) }
                // The metadata is missing at first, at both of its addresses.
                let isMissing = attempts.withLock { attempts in
                    attempts += 1
                    return attempts <= 2
                }
                return isMissing ? .bytes(http("503 Service Unavailable", "")) : issuer.response(request)
            }
            let known = TokenIssuer.issuer(server.origin, tokenEndpoint: "\(server.origin)/token")
            try await withEndpoint(.discovered(try ProviderIssuer(server.origin))) { endpoint in
                #expect(await Self.redeem(endpoint, of: known).name == "success")
            }
            #expect(server.requests.count { $0.path == "/token" } == 1)
            await server.stop()
        }

        @Test func `a code does not go to another token endpoint than that of its sign-in`() async throws {
            let issuer = SigningIssuer()
            let server = try await ScriptedServer { request in issuer.response(request) }
            // Given a sign-in that began when the issuer named another token endpoint, and a process that does not know it
            let began = TokenIssuer.issuer(server.origin, tokenEndpoint: "\(server.origin)/former")
            try await withEndpoint(.discovered(try ProviderIssuer(server.origin))) { endpoint in
                #expect(await Self.redeem(endpoint, of: began) == .notSent(.endpointMoved))
                #expect(await endpoint.redeem(device: Secret("d"), of: began) == .notSent(.endpointMoved))
            }
            #expect(!server.requests.contains { $0.path == "/token" })
            await server.stop()
        }

        @Test func `cancelling the caller does not affect an exchange in progress`() async throws {
            let server = try await ScriptedServer { _ in .late(Self.success, after: .milliseconds(100)) }
            try await withEndpoint(at: server.origin) { endpoint in
                let code = Task { await Self.redeem(endpoint).name }
                let device = Task { await endpoint.redeem(device: Secret("d"), of: endpoint.binding.issuer).name }
                try await eventually("both requests arrive") { server.requests.count == 2 }
                code.cancel()
                device.cancel()
                #expect(await code.value == "success")
                #expect(await device.value == "success")
            }
            await server.stop()
        }

        @Test func `no pause keeps a code that nobody waits for, or a client that is shut down`() async throws {
            let log = RecordingLog()
            try await withEndpoint(at: "http://127.0.0.1:\(ScriptedServer.refusingPort)", log: log) { endpoint in
                let cancelled = Task {
                    unsafe withUnsafeCurrentTask { task in unsafe task?.cancel() }
                    return await Self.redeem(endpoint)
                }
                #expect(await cancelled.value == .notSent(.connectFailed))
                await endpoint.shutDown()
                #expect(await Self.redeem(endpoint) == .notSent(.shutDown))
            }
            // After a pause there would be another try.
            #expect(log.lines.count { $0.contains("reason=connect_failed") } == 1)
            #expect(log.lines.count { $0.contains("reason=shut_down") } == 1)
        }

        @Test(arguments: ["authorization_pending", "slow_down", "access_denied", "expired_token"])
        func `a device code is asked about with one POST, and waiting is no warning`(code: String) async throws {
            let server = try await ScriptedServer { _ in .bytes(http("400 Bad Request", #"{"error":"\#(code)"}"#)) }
            let log = RecordingLog()
            try await withEndpoint(at: server.origin, log: log) { endpoint in
                #expect(
                    await endpoint.redeem(device: Secret("canary-device"), of: endpoint.binding.issuer)
                        == .refused(reason(code))
                )
            }
            #expect(
                server.requests.map(\.body)
                    == ["grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code&device_code=canary-device"]
            )
            let isWaiting = ["authorization_pending", "slow_down"].contains(code)
            #expect(log.lines.count == 1)
            #expect(log.lines[0].hasPrefix(isWaiting ? "debug " : "warning "))
            #expect(log.lines[0].contains("reason=\(code)"))
            #expect(!log.lines[0].contains("canary"))
            await server.stop()
        }
    }
}
