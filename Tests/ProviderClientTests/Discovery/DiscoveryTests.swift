import NIOCore
import OAuth
import ProviderClient
import Synchronization
import TestKit
import Testing
import TokenModel

extension LoopbackTests {
    @Suite struct DiscoveryTests {
        /// A provider that publishes metadata. A test can change parts of it while the provider runs.
        private final class Publisher: Sendable {
            let issuer = Mutex<String?>(nil)
            let document = Mutex("200 OK")
            let tokenPath = Mutex("/token")
            let onlyOpenID = Mutex(false)
            let revokes = Mutex(true)
            let revocationOrigin = Mutex<String?>(nil)

            func response(_ request: ScriptedServer.Request) -> ScriptedServer.Answer {
                if request.path.hasPrefix("/.well-known/") {
                    let isOpenID = request.path.hasSuffix("openid-configuration")
                    guard isOpenID || !self.onlyOpenID.withLock({ $0 }) else {
                        return .bytes(http("404 Not Found", ""))
                    }
                    let issuer = self.issuer.withLock { $0 } ?? "http://\(request.host)"
                    return .late(
                        http(
                            self.document.withLock { $0 },
                            """
                            {"issuer":"\(issuer)","token_endpoint":"http://\(request.host)\(self.tokenPath.withLock { $0 })"\
                            \(self.revokes.withLock { $0 } ? #","revocation_endpoint":"\#(self.revocationOrigin.withLock { $0 } ?? "http://\(request.host)")/revoke""# : "")}
                            """
                        ),
                        after: .milliseconds(20)
                    )
                }
                return request.path == self.tokenPath.withLock { $0 } || request.path == "/revoke"
                    ? .bytes(http("200 OK", #"{"access_token":"A2"}"#)) : .bytes(http("404 Not Found", ""))
            }
        }

        private static func run(
            _ publisher: Publisher,
            _ body: (HTTPTokenEndpoint, ScriptedServer, RecordingLog) async throws -> Void
        ) async throws {
            let server = try await ScriptedServer { publisher.response($0) }
            let log = RecordingLog()
            try await withEndpoint(.discovered(try ProviderIssuer(server.origin)), log: log) { endpoint in
                try await body(endpoint, server, log)
            }
            await server.stop()
        }

        @Test func `the issuer is asked once, when an endpoint is first needed`() async throws {
            try await Self.run(Publisher()) { endpoint, server, _ in
                #expect(endpoint.binding.issuer == .issuer(server.origin, tokenEndpoint: nil))
                #expect(server.acceptedConnections == 0)

                #expect(await endpoint.redeem().name == "success")
                #expect(await endpoint.redeem().name == "success")
                #expect(await endpoint.revoke(Secret("A1"), kind: .accessToken) == .revoked)

                #expect(
                    server.requests.map(\.path)
                        == ["/.well-known/oauth-authorization-server", "/token", "/token", "/revoke"]
                )
                #expect(server.requests[0].head.hasPrefix("GET "))
                #expect(!server.requests[0].head.contains("Authorization"))
            }
        }

        @Test func `a configured revocation endpoint takes precedence over the metadata`() async throws {
            let publisher = Publisher()
            let server = try await ScriptedServer { publisher.response($0) }
            let other = try await ScriptedServer { _ in .bytes(http("200 OK", "{}")) }
            try await withEndpoint(
                .discovered(
                    try ProviderIssuer(server.origin),
                    revocationEndpoint: try ProviderURL("\(other.origin)/named")
                )
            ) { endpoint in
                #expect(await endpoint.revoke(Secret("A1"), kind: .accessToken) == .revoked)
                #expect(server.requests.isEmpty)
                #expect(await endpoint.redeem().name == "success")
            }
            #expect(other.requests.map(\.path) == ["/named"])
            #expect(server.requests.map(\.path) == ["/.well-known/oauth-authorization-server", "/token"])
            await other.stop()
            await server.stop()
        }

        @Test func `a token goes only to the token endpoint that it was issued at`() async throws {
            let publisher = Publisher()
            try await Self.run(publisher) { endpoint, server, _ in
                // Given a token of an issuer that now names another token endpoint
                let known = TokenIssuer.issuer(server.origin, tokenEndpoint: "\(server.origin)/token")
                publisher.tokenPath.withLock { $0 = "/realms/b/token" }

                // When the token is redeemed and revoked
                func redeem(_ issuer: TokenIssuer) async -> TokenVerdict {
                    await endpoint.redeem(Secret("R"), of: issuer, scopes: [], proof: nil, mayStillSend: { true })
                }
                #expect(await redeem(known) == .notSent(.endpointMoved))
                #expect(
                    await endpoint.revoke(Secret("R"), of: known, kind: .refreshToken) == .unreachable(.endpointMoved)
                )
                // Or a token with an unknown token endpoint, or a token of an earlier version for another origin
                #expect(await redeem(.issuer(server.origin, tokenEndpoint: nil)) == .notSent(.discoveryFailed))
                #expect(await redeem(.origin("https://login.example:443")) == .notSent(.discoveryFailed))

                // Then nothing is sent, and only a token for the current token endpoint is sent there
                #expect(server.requests.map(\.path) == ["/.well-known/oauth-authorization-server"])
                let now = TokenIssuer.issuer(server.origin, tokenEndpoint: "\(server.origin)/realms/b/token")
                #expect(endpoint.binding.issuer == now)
                #expect(await redeem(now).name == "success")
                #expect(await endpoint.revoke(Secret("R"), of: now, kind: .refreshToken) == .revoked)
            }
        }

        @Test func `a live token is not sent to a revocation endpoint that only the metadata names`()
            async throws
        {
            // Given metadata in which an attacker has named a server of their own
            let publisher = Publisher()
            let theirs = try await ScriptedServer { _ in .bytes(http("200 OK", "{}")) }
            publisher.revocationOrigin.withLock { $0 = theirs.origin }
            try await Self.run(publisher) { endpoint, server, _ in
                let known = TokenIssuer.issuer(server.origin, tokenEndpoint: "\(server.origin)/token")
                let verdict = await endpoint.revoke(Secret("R"), of: known, kind: .refreshToken)
                #expect(verdict == .unreachable(.endpointMoved))
            }
            #expect(theirs.requests.isEmpty)
            await theirs.stop()
        }

        @Test func `a configured token endpoint needs no discovery, and revocation is still discovered`() async throws {
            let publisher = Publisher()
            let server = try await ScriptedServer { publisher.response($0) }
            let other = try await ScriptedServer { _ in .bytes(http("200 OK", #"{"access_token":"A2"}"#)) }
            try await withEndpoint(
                .discovered(try ProviderIssuer(server.origin), tokenEndpoint: try ProviderURL("\(other.origin)/named"))
            ) { endpoint in
                #expect(endpoint.binding.issuer == .tokenEndpoint("\(other.origin)/named"))
                #expect(await endpoint.redeem().name == "success")
                #expect(server.requests.isEmpty)
                #expect(await endpoint.revoke(Secret("A1"), kind: .accessToken) == .revoked)
            }
            #expect(other.requests.map(\.path) == ["/named"])
            #expect(server.requests.map(\.path) == ["/.well-known/oauth-authorization-server", "/revoke"])
            await other.stop()
            await server.stop()
        }

        @Test func `the OpenID Connect address is asked if the OAuth address has no document`() async throws {
            let publisher = Publisher()
            publisher.onlyOpenID.withLock { $0 = true }
            try await Self.run(publisher) { endpoint, server, log in
                #expect(await endpoint.redeem().name == "success")
                #expect(
                    server.requests.map(\.path)
                        == ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration", "/token"]
                )
                // The first address has no document, which is no fault if the second one has.
                #expect(!log.lines.contains { $0.hasPrefix("warning") })
                #expect(log.lines.contains { $0.hasPrefix("debug provider metadata can't be used") })
            }
        }

        @Test func `concurrent calls share one discovery`() async throws {
            try await Self.run(Publisher()) { endpoint, server, _ in
                await withTaskGroup(of: String.self) { group in
                    for _ in 0..<32 { group.addTask { await endpoint.redeem().name } }
                    for await name in group { #expect(name == "success") }
                }
                #expect(server.requests.filter { $0.path.hasPrefix("/.well-known/") }.count == 1)
            }
        }

        @Test func `after a failed discovery nothing is sent, and the next refresh tries again`() async throws {
            let publisher = Publisher()
            publisher.document.withLock { $0 = "500 Internal Server Error" }
            try await Self.run(publisher) { endpoint, server, log in
                #expect(await endpoint.redeem() == .notSent(.discoveryFailed))
                #expect(await endpoint.revoke(Secret("A1"), kind: .accessToken) == .unreachable(.discoveryFailed))
                #expect(server.requests.allSatisfy { $0.path.hasPrefix("/.well-known/") })
                #expect(log.lines.contains { $0.hasPrefix("warning provider metadata can't be used") })

                publisher.document.withLock { $0 = "200 OK" }
                #expect(await endpoint.redeem().name == "success")
            }
        }

        @Test func `nothing is sent if the document names another issuer`() async throws {
            let publisher = Publisher()
            publisher.issuer.withLock { $0 = "http://127.0.0.1:1" }
            try await Self.run(publisher) { endpoint, server, log in
                #expect(await endpoint.redeem() == .notSent(.discoveryFailed))
                #expect(!server.requests.contains { $0.path == "/token" })
                let told = log.lines.filter { $0.contains("reason=issuer_differs") }
                #expect(told.count == 2)
                #expect(told.allSatisfy { $0.contains("issuer.found=http://127.0.0.1:1") })
                #expect(told.allSatisfy { $0.contains("issuer.configured=\(server.origin)") })
            }
        }

        @Test func `a missing revocation endpoint is logged once, with the configuration key for one`()
            async throws
        {
            let publisher = Publisher()
            publisher.revokes.withLock { $0 = false }
            try await Self.run(publisher) { endpoint, server, log in
                #expect(endpoint.revokes == nil)

                await endpoint.discover()
                _ = await endpoint.redeem()

                #expect(endpoint.revokes == false)
                #expect(await endpoint.revoke(Secret("A1"), kind: .accessToken) == .unsupported)
                let told = log.lines.filter { $0.hasPrefix("warning a kill or a removal revokes nothing") }
                #expect(told.count == 1)
                #expect(told.first?.contains("revocation_endpoint") == true)
                #expect(server.requests.map(\.path) == ["/.well-known/oauth-authorization-server", "/token"])
            }
            let log = RecordingLog()
            let named = ProviderMetadata(
                tokenEndpoint: try ProviderURL("http://127.0.0.1:1/t"),
                revocationEndpoint: nil
            )
            try await withEndpoint(.named(named), log: log) { endpoint in
                #expect(endpoint.revokes == false)
                #expect(log.lines.count { $0.hasPrefix("warning a kill or a removal revokes nothing") } == 1)
            }
        }

        @Test func `a survey asks the issuer and sends nothing else`() async throws {
            let publisher = Publisher()
            try await Self.run(publisher) { endpoint, server, log in
                guard case .found(let metadata, let address, let after) = await endpoint.survey() else {
                    Issue.record("nothing was found")
                    return
                }
                #expect(metadata.tokenEndpoint.text == "\(server.origin)/token")
                #expect(metadata.revocationEndpoint?.text == "\(server.origin)/revoke")
                #expect(address == "\(server.origin)/.well-known/oauth-authorization-server")
                #expect(after.isEmpty)
                #expect(server.requests.allSatisfy { $0.head.hasPrefix("GET ") && !$0.head.contains("Authorization") })
                #expect(log.lines.isEmpty)
            }
        }

        @Test func `nothing is sent if the issuer is unreachable`() async throws {
            let issuer = try ProviderIssuer("http://127.0.0.1:\(ScriptedServer.refusingPort)")
            try await withEndpoint(.discovered(issuer)) { endpoint in
                #expect(await endpoint.redeem() == .notSent(.discoveryFailed))
            }
        }

        @Test func `an endpoint that has moved is found by a new discovery`() async throws {
            let publisher = Publisher()
            try await Self.run(publisher) { endpoint, _, _ in
                #expect(await endpoint.redeem().name == "success")
                publisher.tokenPath.withLock { $0 = "/v2/token" }

                #expect(await endpoint.redeem() == .notProvider(.answerEmpty))
                #expect(await endpoint.redeem().name == "success")
            }
        }

        @Test func `a cancelled caller does not cancel the discovery for the others`() async throws {
            try await Self.run(Publisher()) { endpoint, server, _ in
                let first = Task { await endpoint.redeem().name }
                try await eventually("the issuer is asked") { server.acceptedConnections == 1 }
                first.cancel()
                #expect(await endpoint.redeem().name == "success")
                #expect(await first.value == "success")
            }
        }
    }
}

extension ScriptedServer.Request {
    var host: String {
        self.head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("host: ") }.map { String($0.dropFirst(6)) }
            ?? ""
    }
}
