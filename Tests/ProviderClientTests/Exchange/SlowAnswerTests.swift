import NIOCore
import OAuth
import ProviderClient
import Testing

extension LoopbackTests {
    /// Answers without an end, in time or in size.
    @Suite struct SlowAnswerTests {
        private static let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        private static let body = #"{"access_token":"A2"}"# + String(repeating: " ", count: 10_000)

        @Test(arguments: [
            (ScriptedServer.Answer.open(""), VerdictReason.timedOut),
            (.slow("", rest: "HTTP/1.1 200 OK\r\nX: " + body, every: .milliseconds(10)), .timedOut),
            (.open(head), .timedOut),
            (.open(head + "Content-Length: 99\r\n\r\n"), .answerCutShort),
            (.slow(head + "Content-Length: 9999\r\n\r\n", rest: body, every: .milliseconds(50)), .answerCutShort),
            (.endless("", piece: "HTTP/1.1 103 Early Hints\r\n\r\n"), .timedOut),
        ])
        func `an answer slower than the deadline is cut, and the socket with it`(
            answer: ScriptedServer.Answer,
            reason: VerdictReason
        ) async throws {
            let server = try await ScriptedServer { _ in answer }
            let start = ContinuousClock.now
            try await withEndpoint(at: server.origin, timeout: .seconds(1)) { endpoint in
                let verdict = await endpoint.redeem()
                #expect(verdict == .ambiguous(reason))
                #expect(ContinuousClock.now - start >= .seconds(1))
                try await eventually("the socket is closed while the endpoint lives") { server.closedConnections == 1 }
            }
            await server.stop()
        }

        @Test(arguments: [
            ScriptedServer.Answer.bytes(http("200 OK", String(repeating: " ", count: 1 << 20))),
            .endless(head + "Content-Length: 1073741824\r\n\r\n", piece: String(repeating: " ", count: 4096)),
            .endless(
                head + "Transfer-Encoding: chunked\r\n\r\n",
                piece: "400\r\n\(String(repeating: " ", count: 1024))\r\n"
            ),
            .endless(head + "\r\n", piece: String(repeating: "{", count: 1024)),
        ])
        func `an answer over 64 KiB is cut at once`(answer: ScriptedServer.Answer) async throws {
            let server = try await ScriptedServer { _ in answer }
            try await withEndpoint(at: server.origin) { endpoint in
                let start = ContinuousClock.now
                #expect(await endpoint.redeem() == .ambiguous(.answerTooLarge))
                #expect(ContinuousClock.now - start < endpoint.timeout)
                try await eventually("the socket is closed while the endpoint lives") { server.closedConnections == 1 }
            }
            await server.stop()
        }

        @Test(arguments: ["HTTP/1.1 200 OK\r\nX: ", "HTTP/1.1 "])
        func `a head without an end is not collected`(start: String) async throws {
            let server = try await ScriptedServer { _ in .endless(start, piece: String(repeating: "y", count: 4096)) }
            try await withEndpoint(at: server.origin) { endpoint in
                #expect(await endpoint.redeem() == .ambiguous(.answerNotHTTP))
                try await eventually("the socket is closed while the endpoint lives") { server.closedConnections == 1 }
            }
            await server.stop()
        }

        @Test func `the deadline is held to ten seconds`() async throws {
            try await withEndpoint(at: "https://login.acme.example", timeout: .seconds(60)) { endpoint in
                #expect(endpoint.timeout == .seconds(10))
            }
        }
    }
}
