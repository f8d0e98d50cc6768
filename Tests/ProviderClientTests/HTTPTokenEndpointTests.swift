import NIOCore
import NIOPosix
import OAuth
import ProviderClient
import Synchronization
import TestKit
import Testing
import TokenModel

extension LoopbackTests {
    @Suite struct HTTPTokenEndpointTests {
        private static let success = http("200 OK", #"{"access_token":"A2","refresh_token":"R2","expires_in":60}"#)

        @Test func `a refresh is one POST with the form as its body`() async throws {
            let server = try await ScriptedServer { _ in .bytes(Self.success) }
            try await withEndpoint(at: server.origin) { endpoint in
                let verdict = await endpoint.redeem(Secret("R1/"), scopes: ["read", "write"], mayStillSend: { true })

                #expect(
                    verdict
                        == .success(
                            TokenGrant(accessToken: Secret("A2"), refreshToken: Secret("R2"), lifetime: .seconds(60))
                        )
                )
            }
            let request = try #require(server.requests.first)
            let lines = request.head.split(separator: "\r\n").map(String.init)
            #expect(lines.first == "POST /token HTTP/1.1")
            #expect(
                lines.dropFirst().map { $0.lowercased() }.sorted() == [
                    "accept-encoding: identity", "accept: application/json",
                    // my-app:canary-client-secret
                    "authorization: basic bxktyxbwomnhbmfyes1jbgllbnqtc2vjcmv0", "connection: close",
                    "content-length: 61", "content-type: application/x-www-form-urlencoded",
                    "host: 127.0.0.1:\(server.port)", "user-agent: martlet",
                ]
            )
            #expect(request.body == "grant_type=refresh_token&refresh_token=R1%2F&scope=read+write")
            await server.stop()
        }

        @Test func `a mint is one POST without a token`() async throws {
            let server = try await ScriptedServer { _ in .bytes(Self.success) }
            try await withEndpoint(at: server.origin) { endpoint in
                #expect(await endpoint.mint(scopes: ["read"], mayStillSend: { true }).name == "success")
                #expect(await endpoint.mint(scopes: [], mayStillSend: { false }) == .notSent(.sendingTooLate))
            }
            #expect(server.requests.first?.body == "grant_type=client_credentials&scope=read")
            await server.stop()
        }

        @Test(arguments: [
            (http("400 Bad Request", #"{"error":"invalid_grant"}"#), TokenVerdict.refused(reason("invalid_grant"))),
            (http("200 OK", #"{"refresh_token":"R2"}"#), .ambiguous(.accessTokenUnusable)),
        ])
        func `a mint is never dead, and a refresh token in its response is useless`(
            bytes: String,
            expected: TokenVerdict
        ) async throws {
            let server = try await ScriptedServer { _ in .bytes(bytes) }
            try await withEndpoint(at: server.origin) { endpoint in
                #expect(await endpoint.mint(scopes: [], mayStillSend: { true }) == expected)
                #expect(await endpoint.redeem().name != expected.name)
            }
            await server.stop()
        }

        @Test func `tokens are bound to the normalized token endpoint and the client`()
            async throws
        {
            try await withEndpoint(at: "https://LOGIN.acme.example") { endpoint in
                #expect(
                    endpoint.binding
                        == EndpointBinding(
                            issuer: .tokenEndpoint("https://login.acme.example:443/token"),
                            clientID: "my-app"
                        )
                )
            }
        }

        @Test(arguments: [
            (http("400 Bad Request", #"{"error":"invalid_grant"}"#), TokenVerdict.dead(reason("invalid_grant"))),
            (http("403 Forbidden", #"{"error":"invalid_grant"}"#), .dead(reason("invalid_grant"))),
            (http("200 OK", #"{"ok":false,"error":"token_revoked"}"#), .dead(reason("token_revoked"))),
            (http("401 Unauthorized", #"{"error":"invalid_client"}"#), .config(reason("invalid_client"))),
            (http("429 Too Many Requests", "", "Retry-After: 30"), .throttled(retryAfter: .seconds(30))),
            (http("500 Internal Server Error", ""), .ambiguous(.serverError)),
            (http("302 Found", "", "Location: /elsewhere"), .notProvider(.redirected)),
            (http("307 Temporary Redirect", "", "Location: /elsewhere"), .notProvider(.redirected)),
            (http("200 OK", ""), .ambiguous(.answerEmpty)),
            (http("204 No Content", ""), .ambiguous(.answerEmpty)),
            (http("200 OK", "<html>"), .ambiguous(.answerHTML)),
            (http("200 OK", "\u{1F}gzip", "Content-Encoding: gzip"), .ambiguous(.answerCompressed)),
            // The server announces more bytes than it sends.
            ("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"access_token\":\"A", .ambiguous(.answerCutShort)),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"acc\r\n", .ambiguous(.answerCutShort)),
            ("HTTP/1.1 200 OK\r\n\r\naccess_token=A", .ambiguous(.answerCutShort)),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{}", .ambiguous(.answerNotHTTP)),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", .ambiguous(.answerCutShort)),
            ("SSH-2.0-OpenSSH_9.2\r\n", .ambiguous(.answerNotHTTP)),
            ("HTTP/1.1 20", .ambiguous(.answerNotHTTP)),
            ("", .ambiguous(.connectionLost)),
        ])
        func `each response gets its verdict without a retry`(bytes: String, expected: TokenVerdict) async throws {
            let server = try await ScriptedServer { _ in .bytes(bytes) }
            try await withEndpoint(at: server.origin) { endpoint in
                #expect(await endpoint.redeem() == expected)
            }
            // No redirect was followed, and nothing was retried.
            #expect(server.requests.count == 1)
            #expect(server.acceptedConnections == 1)
            await server.stop()
        }

        @Test(arguments: [
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + success,
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n{\"access_token\":\r\n5\r\n\"A2\"}\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\n\r\n{\"access_token\":\"A2\"}",
            "HTTP/1.0 200 OK\r\n\r\n{\"access_token\":\"A2\"}",
            // The JSON object is complete, so the missing bytes do not matter.
            "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"access_token\":\"A2\"}",
        ])
        func `tokens are read from any framing that shows them complete`(bytes: String) async throws {
            let server = try await ScriptedServer { _ in .bytes(bytes) }
            try await withEndpoint(at: server.origin) { endpoint in
                guard case .success(let grant) = await endpoint.redeem() else {
                    Issue.record("no success")
                    return
                }
                #expect(grant.accessToken == Secret("A2"))
            }
            await server.stop()
        }

        @Test func `every call has its own connection, and many calls run at once`() async throws {
            let server = try await ScriptedServer { _ in .late(Self.success, after: .milliseconds(50)) }
            try await withEndpoint(at: server.origin) { endpoint in
                await withTaskGroup(of: String.self) { group in
                    for _ in 0..<64 { group.addTask { await endpoint.redeem().name } }
                    for await name in group { #expect(name == "success") }
                }
            }
            #expect(server.acceptedConnections == 64)
            await server.stop()
        }

        @Test func `a cancelled caller does not cancel the exchange`() async throws {
            let server = try await ScriptedServer { _ in .late(Self.success, after: .milliseconds(100)) }
            try await withEndpoint(at: server.origin) { endpoint in
                let call = Task { await endpoint.redeem() }
                try await eventually("the request arrives") { server.requests.count == 1 }
                call.cancel()
                #expect(await call.value.name == "success")

                let cancelledBefore = Task {
                    unsafe withUnsafeCurrentTask { task in unsafe task?.cancel() }
                    return await endpoint.redeem()
                }
                #expect(await cancelledBefore.value.name == "success")
            }
            await server.stop()
        }

        @Test func `nothing is sent after the shutdown`() async throws {
            let server = try await ScriptedServer { _ in .bytes(Self.success) }
            try await withEndpoint(at: server.origin) { endpoint in
                await endpoint.shutDown()
                #expect(await endpoint.redeem() == .notSent(.shutDown))
            }
            #expect(server.acceptedConnections == 0)
            await server.stop()
        }

        @Test func `a shutdown ends an exchange in progress, and its outcome is unknown`() async throws {
            let server = try await ScriptedServer { _ in .open("") }
            try await withEndpoint(at: server.origin) { endpoint in
                async let verdict = endpoint.redeem()
                try await eventually("the request arrives") { server.requests.count == 1 }
                await endpoint.shutDown()
                #expect(await verdict == .ambiguous(.shutDown))
            }
            await server.stop()
        }
    }
}
