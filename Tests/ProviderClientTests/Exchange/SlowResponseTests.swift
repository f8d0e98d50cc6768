import Dispatch
import NIOCore
import NIOPosix
import OAuth
import ProviderClient
import TestKit
import Testing

extension LoopbackTests {
    /// Responses that are too slow or too large.
    @Suite struct SlowResponseTests {
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
        func `a response slower than the deadline is cut, and its socket is closed`(
            answer: ScriptedServer.Answer,
            reason: VerdictReason
        ) async throws {
            // Both the request and the beginning of the response must come in time.
            _ = try await withEnoughTime("\(reason)") { timeout in
                let server = try await ScriptedServer { _ in answer }
                let start = ContinuousClock.now
                let verdict: TokenVerdict? = try await withEndpoint(at: server.origin, timeout: timeout) { endpoint in
                    let verdict = await endpoint.redeem()
                    guard verdict == .ambiguous(reason) else { return nil }
                    #expect(ContinuousClock.now - start >= timeout)
                    try await eventually("the socket is closed while the endpoint lives") {
                        server.closedConnections == 1
                    }
                    return verdict
                }
                await server.stop()
                return verdict
            }
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
        func `a response over 64 KiB is cut at once`(answer: ScriptedServer.Answer) async throws {
            let server = try await ScriptedServer { _ in answer }
            try await withEndpoint(at: server.origin) { endpoint in
                // A response that is only cut at the deadline would be cut short.
                #expect(await endpoint.redeem() == .ambiguous(.answerTooLarge))
                try await eventually("the socket is closed while the endpoint lives") { server.closedConnections == 1 }
            }
            await server.stop()
        }

        @Test(arguments: ["HTTP/1.1 200 OK\r\nX: ", "HTTP/1.1 "])
        func `an endless head is cut`(start: String) async throws {
            let server = try await ScriptedServer { _ in .endless(start, piece: String(repeating: "y", count: 4096)) }
            try await withEndpoint(at: server.origin) { endpoint in
                #expect(await endpoint.redeem() == .ambiguous(.answerNotHTTP))
                try await eventually("the socket is closed while the endpoint lives") { server.closedConnections == 1 }
            }
            await server.stop()
        }

        @Test func `a response that came in time counts, even if the process was stopped meanwhile`() async throws {
            let loops = MultiThreadedEventLoopGroup(numberOfThreads: 4)
            for _ in 0..<5 {
                // Given event loops that are blocked from before the response until the deadline has passed
                let verdict = try await withEnoughTime("a response to come in time") { timeout in
                    let mayGoOn = DispatchSemaphore(value: 0)
                    let server = try await ScriptedServer { _ in
                        for loop in loops.makeIterator() { loop.execute { mayGoOn.wait() } }
                        return .bytes(http("200 OK", #"{"access_token":"A2"}"#))
                    }
                    let deadline = ContinuousClock.now.advanced(by: timeout)
                    let verdict: TokenVerdict? = try await withEndpoint(
                        at: server.origin,
                        timeout: timeout,
                        on: loops
                    ) { endpoint in
                        let verdict = Task { await endpoint.redeem() }
                        try await eventually("the answer to be sent, or to be late") {
                            server.requests.count == 1 || ContinuousClock.now > deadline
                        }
                        let isInTime = ContinuousClock.now.duration(to: deadline) > timeout / 4
                        try await Task.sleep(until: deadline.advanced(by: timeout / 4), clock: .continuous)
                        // When the event loops continue
                        for _ in loops.makeIterator() { mayGoOn.signal() }
                        let value = await verdict.value
                        return isInTime ? value : nil
                    }
                    await server.stop()
                    return verdict
                }
                // Then the response counts
                #expect(verdict.name == "success", "\(verdict)")
            }
            try await loops.shutdownGracefully()
        }

        @Test func `a response counts if it comes after the timeout but before the answer timeout`() async throws {
            let server = try await ScriptedServer { _ in
                .slow("", rest: http("200 OK", #"{"access_token":"A2"}"#), every: .milliseconds(4))
            }
            let (timeout, answerTimeout) = (Duration.milliseconds(50), Duration.seconds(20))
            try await withEndpoint(at: server.origin, timeout: timeout, answerTimeout: answerTimeout) { endpoint in
                let start = ContinuousClock.now
                guard case .success = await endpoint.redeem() else {
                    Issue.record("a response within the answer timeout was discarded")
                    return
                }
                #expect(ContinuousClock.now - start > timeout)
            }
            await server.stop()
        }

        @Test func `the timeout is at most 15 s, and the answer timeout is between that and 5 min`()
            async throws
        {
            let origin = "https://login.acme.example"
            try await withEndpoint(at: origin, timeout: .seconds(60), answerTimeout: .seconds(900)) { endpoint in
                #expect(endpoint.timeout == .seconds(15))
                #expect(endpoint.answerTimeout == .seconds(300))
            }
            try await withEndpoint(at: origin, timeout: .seconds(10), answerTimeout: .seconds(1)) { endpoint in
                #expect(endpoint.answerTimeout == .seconds(10))
            }
        }
    }
}
