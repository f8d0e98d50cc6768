import OAuth
import ProviderClient
import Testing
import TokenModel

extension LoopbackTests {
    @Suite struct RevocationTests {
        @Test func `a revocation is one POST that names the token and its kind`() async throws {
            let server = try await ScriptedServer { _ in .bytes(http("200 OK", "")) }
            try await withEndpoint(at: server.origin) { endpoint in
                #expect(await endpoint.revoke(Secret("A/1"), kind: .accessToken) == .revoked)
            }
            let request = try #require(server.requests.first)
            #expect(request.head.hasPrefix("POST /revoke HTTP/1.1\r\n"))
            #expect(request.head.contains("Authorization: Basic "))
            #expect(request.body == "token=A%2F1&token_type_hint=access_token")
            await server.stop()
        }

        @Test(arguments: [
            (http("400 Bad Request", #"{"error":"unsupported_token_type"}"#), RevocationVerdict.unsupported),
            (http("401 Unauthorized", #"{"error":"invalid_client"}"#), .clientRefused(reason("invalid_client"))),
            (http("401 Unauthorized", #"{"error":"invalid_token"}"#), .refused(reason("invalid_token"))),
            (http("302 Found", "", "Location: /elsewhere"), .unreachable(.redirected)),
            (http("503 Service Unavailable", "", "Retry-After: 5"), .unreachable(.serverError)),
            ("", .unreachable(.connectionLost)),
        ])
        func `the verdict follows the response`(bytes: String, expected: RevocationVerdict) async throws {
            let server = try await ScriptedServer { _ in .bytes(bytes) }
            try await withEndpoint(at: server.origin) { endpoint in
                #expect(await endpoint.revoke(Secret("R1"), kind: .refreshToken) == expected)
            }
            #expect(server.requests.count == 1)
            await server.stop()
        }

        @Test func `a provider without a revocation endpoint can't revoke, and is not asked`() async throws {
            let server = try await ScriptedServer { _ in .bytes(http("200 OK", "")) }
            try await withEndpoint(at: server.origin, revocationPath: nil) { endpoint in
                #expect(await endpoint.revoke(Secret("R1"), kind: .refreshToken) == .unsupported)
            }
            #expect(server.acceptedConnections == 0)
            await server.stop()
        }

        @Test func `an unreachable provider may still honour the token`() async throws {
            try await withEndpoint(at: "http://127.0.0.1:\(ScriptedServer.refusingPort)") { endpoint in
                #expect(await endpoint.revoke(Secret("R1"), kind: .refreshToken) == .unreachable(.connectFailed))
            }
        }
    }
}
