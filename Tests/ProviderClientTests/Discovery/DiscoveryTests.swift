import NIOCore
import OAuth
import ProviderClient
import Synchronization
import TestKit
import Testing
import TokenModel

extension LoopbackTests {
    @Suite struct DiscoveryTests {
        /// A provider that publishes metadata, of which single parts can be changed while it runs.
        private final class Publisher: Sendable {
            let issuer = Mutex<String?>(nil)
            let document = Mutex("200 OK")
            let tokenPath = Mutex("/token")
            let onlyOpenID = Mutex(false)

            func answer(_ request: ScriptedServer.Request) -> ScriptedServer.Answer {
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
                            {"issuer":"\(issuer)","token_endpoint":"http://\(request.host)\(self.tokenPath.withLock { $0 })",
                             "revocation_endpoint":"http://\(request.host)/revoke"}
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
            _ body: (HTTPTokenEndpoint, ScriptedServer, HeardLog) async throws -> Void
        ) async throws {
            let server = try await ScriptedServer { publisher.answer($0) }
            let log = HeardLog()
            try await withEndpoint(.discovered(try ProviderIssuer(server.origin)), log: log) { endpoint in
                try await body(endpoint, server, log)
            }
            await server.stop()
        }

        @Test func `the issuer is asked when an endpoint is first needed, and once`() async throws {
            try await Self.run(Publisher()) { endpoint, server, _ in
                #expect(endpoint.binding.tokenEndpointOrigin == server.origin)
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

        @Test func `a named revocation endpoint stands before what the issuer says`() async throws {
            let publisher = Publisher()
            let server = try await ScriptedServer { publisher.answer($0) }
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

        @Test func `a named token endpoint needs no issuer, and revocation is discovered all the same`() async throws {
            let publisher = Publisher()
            let server = try await ScriptedServer { publisher.answer($0) }
            let other = try await ScriptedServer { _ in .bytes(http("200 OK", #"{"access_token":"A2"}"#)) }
            try await withEndpoint(
                .discovered(try ProviderIssuer(server.origin), tokenEndpoint: try ProviderURL("\(other.origin)/named"))
            ) { endpoint in
                #expect(endpoint.binding.tokenEndpointOrigin == other.origin)
                #expect(await endpoint.redeem().name == "success")
                #expect(server.requests.isEmpty)
                #expect(await endpoint.revoke(Secret("A1"), kind: .accessToken) == .revoked)
            }
            #expect(other.requests.map(\.path) == ["/named"])
            #expect(server.requests.map(\.path) == ["/.well-known/oauth-authorization-server", "/revoke"])
            await other.stop()
            await server.stop()
        }

        @Test func `the address of OpenID Connect is asked where the other has nothing`() async throws {
            let publisher = Publisher()
            publisher.onlyOpenID.withLock { $0 = true }
            try await Self.run(publisher) { endpoint, server, _ in
                #expect(await endpoint.redeem().name == "success")
                #expect(
                    server.requests.map(\.path)
                        == ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration", "/token"]
                )
            }
        }

        @Test func `many at once share one question`() async throws {
            try await Self.run(Publisher()) { endpoint, server, _ in
                await withTaskGroup(of: String.self) { group in
                    for _ in 0..<32 { group.addTask { await endpoint.redeem().name } }
                    for await name in group { #expect(name == "success") }
                }
                #expect(server.requests.filter { $0.path.hasPrefix("/.well-known/") }.count == 1)
            }
        }

        @Test func `a failed question sends nothing and is put again by the next refresh`() async throws {
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

        @Test func `a document that speaks for another issuer sends nothing`() async throws {
            let publisher = Publisher()
            publisher.issuer.withLock { $0 = "http://127.0.0.1:1" }
            try await Self.run(publisher) { endpoint, server, log in
                #expect(await endpoint.redeem() == .notSent(.discoveryFailed))
                #expect(!server.requests.contains { $0.path == "/token" })
                #expect(log.lines.contains { $0.contains("reason=issuer_differs") })
            }
        }

        @Test func `an issuer out of reach sends nothing`() async throws {
            let issuer = try ProviderIssuer("http://127.0.0.1:\(ScriptedServer.refusingPort)")
            try await withEndpoint(.discovered(issuer)) { endpoint in
                #expect(await endpoint.redeem() == .notSent(.discoveryFailed))
            }
        }

        @Test func `an endpoint that has moved is found by asking again`() async throws {
            let publisher = Publisher()
            try await Self.run(publisher) { endpoint, _, _ in
                #expect(await endpoint.redeem().name == "success")
                publisher.tokenPath.withLock { $0 = "/v2/token" }

                #expect(await endpoint.redeem() == .refused(.noKnownReason))
                #expect(await endpoint.redeem().name == "success")
            }
        }

        @Test func `a caller that goes away takes no answer from the others`() async throws {
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
    fileprivate var host: String {
        self.head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("host: ") }.map { String($0.dropFirst(6)) }
            ?? ""
    }
}
