import NIOCore
import Proxy
import Telemetry
import TestKit
import Testing
import TokenModel

#if canImport(Glibc)
    import Glibc
#endif

@Suite struct TimeoutTests {
    private static let short = Duration.seconds(3)
    /// Beyond ``short``.
    private static let over = Duration.seconds(4)

    @Test func `a caller gets 504 if the upstream does not respond in time`() async throws {
        try await withRig(.route { $0.timeouts.response = Self.short }.frozen) { rig in
            let (caller, upstream) = try await rig.begun()
            try await rig.pass(Self.over)
            let answer = try await caller.answer()
            #expect(answer.head.status == 504)
            #expect(answer.body.contains("upstream_timeout"))
            _ = try await upstream.ending()
            // The caller's connection serves the next request.
            try await caller.send("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await caller.answer().head.status == 404)
        }
    }

    @Test func `a caller gets 502 if the upstream does not accept the connection in time`() async throws {
        let reserved = try ReservedPort()
        let fillers = try reserved.stall()
        defer { for filler in fillers { close(filler) } }
        let setup = Rig.Setup { _ in [.sample(port: reserved.number) { $0.timeouts.connect = .milliseconds(300) }] }
        try await withRig(setup) { rig in
            let caller = try await rig.caller()
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            let answer = try await caller.answer()
            #expect(answer.head.status == 502)
            #expect(answer.body.contains("upstream_unreachable"))
        }
    }

    @Test func `a response that stops is cut off, not ended`() async throws {
        try await withRig(.route { $0.timeouts.idle = Self.short }.frozen) { rig in
            let (caller, upstream) = try await rig.begun()
            try await upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
            #expect(try await caller.head().status == 200)
            try await rig.pass(Self.over)
            let (bytes, ending) = try await caller.rest()
            // Five of ten bytes arrive.
            #expect(String(buffer: bytes) == "hello")
            #expect(ending == .clean)
            _ = try await upstream.ending()
        }
    }

    @Test func `a caller whose body stops coming gets 408`() async throws {
        try await withRig(.route { $0.timeouts.idle = Self.short }.frozen) { rig in
            let caller = try await rig.caller()
            try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello")
            _ = try await rig.upstream.accept().head()
            try await rig.pass(Self.over)
            let answer = try await caller.answer()
            #expect(answer.head.status == 408)
            #expect(answer.head["Connection"] == "close")
            #expect(answer.body.contains("body_timeout"))
            #expect(answer.body.contains("\"detail\":\"the request's body stopped coming"))
            #expect(try await caller.ending() == .clean)
        }
    }

    @Test func `a caller whose body the upstream stops taking gets 504`() async throws {
        try await withRig(.route { $0.timeouts.idle = .milliseconds(1_500) }) { rig in
            let caller = try await rig.caller()
            try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            let sending = Task {
                let piece = ByteBuffer(repeating: 0x61, count: 128 << 10)
                while (try? await caller.send(piece)) != nil {}
            }
            let answer = try await caller.answer()
            #expect(answer.head.status == 504)
            #expect(answer.body.contains("upstream_timeout"))
            caller.close()
            await sending.value
        }
    }

    @Test func `I14_ a request whose credential does not come in time gets 503, and a late credential harms nothing`()
        async throws
    {
        try await withRig(Rig.Setup(credentialTimeout: Self.short, credential: nil).frozen) { rig in
            let caller = try await rig.caller()
            try await caller.send("GET /acme/late HTTP/1.1\r\nHost: a\r\n\r\n")
            let question = try await rig.credentials.questions.next("question")
            try await rig.pass(Self.over)
            let answer = try await caller.answer()
            #expect(answer.head.status == 503)
            #expect(answer.body.contains("refresh_failed"))
            rig.install(.sample())
            question.answer(.success(.sample()))
            try await caller.send("GET /acme/next HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await rig.upstream.accept().head().request == "GET /v2/next")
        }
    }

    @Test func `I14_ a 401 is held no longer than the credential timeout`() async throws {
        try await withRig(Rig.Setup(credentialTimeout: Self.short).frozen) { rig in
            let (caller, upstream) = try await rig.begun()
            try await upstream.send("HTTP/1.1 401 No\r\nContent-Length: 4\r\n\r\ndead")
            _ = try await rig.credentials.questions.next("question")
            try await rig.pass(Self.over)
            let answer = try await caller.answer()
            #expect(answer.head.status == 503)
            #expect(answer.body.contains("refresh_failed"))
            _ = try await upstream.ending()
        }
    }

    @Test func `time spent waiting for a credential does not count against the connect timeout`() async throws {
        // Two accounts at one upstream share its pool of one connection.
        let setup = Rig.Setup(credential: nil) { port in
            ["/acme/": Rig.account, "/other/": AccountID("other")].map { path, account in
                .sample(port: port) { plan in
                    plan.path = path
                    plan.account = .fixed(account)
                    plan.timeouts.connect = Self.short
                    plan.maxConnections = 1
                }
            }
        }
        try await withRig(setup.frozen) { rig in
            let parked = try await rig.caller()
            try await parked.send("GET /acme/parked HTTP/1.1\r\nHost: a\r\n\r\n")
            let question = try await rig.credentials.questions.next("question")
            try await rig.pass(Self.over)
            rig.install(.sample(1, account: AccountID("other")))
            let busy = try await rig.caller()
            try await busy.send("GET /other/ HTTP/1.1\r\nHost: a\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()

            rig.install(.sample(1))
            question.answer(.success(.sample(1)))
            try await eventually("the request to wait for a connection alone") { rig.server.waiterCount == 0 }
            // A sweep sees that it waits.
            try await rig.pass(CoarseTime.period * 2)
            try await upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            #expect(try await upstream.head().request == "GET /v2/parked")
        }
    }

    @Test func `a connection without a request, or with half a head, is closed in time`() async throws {
        let setup = Rig.Setup(callerTimeouts: CallerTimeouts(head: Self.short, idle: .seconds(6)))
        try await withRig(setup.frozen) { rig in
            let silent = try await rig.caller()
            let halting = try await rig.caller()
            try await halting.send("GET /acme/ HT")
            try await rig.pass(Self.over)
            let answer = try await halting.answer()
            #expect(answer.head.status == 408)
            #expect(answer.head["Connection"] == "close")
            #expect(answer.body.contains("body_timeout"))
            let detail = "the request's head did not come in time; see limits.header_timeout"
            #expect(answer.body.contains("\"detail\":\"\(detail)\""))
            #expect(!answer.body.contains("body stopped"))
            #expect(try await halting.ending() == .clean)
            try await rig.pass(Self.over)
            #expect(try await silent.ending() == .clean)

            let served = try await rig.caller()
            try await served.send("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await served.answer().head.status == 404)
            try await rig.pass(.seconds(7))
            #expect(try await served.ending() == .clean)
        }
    }

    @Test func `a head that drips is not waited for longer than any other`() async throws {
        try await withRig(Rig.Setup(callerTimeouts: CallerTimeouts(head: Self.short)).frozen) { rig in
            let caller = try await rig.caller()
            for byte in "GET /acme" {
                try await caller.send(String(byte))
                try await rig.pass(.milliseconds(500))
            }
            #expect(try await caller.answer().head.status == 408)
        }
    }

    @Test func `a connection with a request in progress is not idle`() async throws {
        try await withRig(Rig.Setup(callerTimeouts: CallerTimeouts(head: Self.short, idle: Self.short)).frozen) { rig in
            let (caller, upstream) = try await rig.begun()
            let other = try await rig.caller()
            try await rig.pass(Self.over)
            #expect(try await other.ending() == .clean)
            try await upstream.send("HTTP/1.1 204 No Content\r\n\r\n")
            #expect(try await caller.head().status == 204)
        }
    }

    @Test func `a caller that leaves its responses unread is disconnected in time`() async throws {
        try await withRig(Rig.Setup(callerTimeouts: CallerTimeouts(idle: Self.short)).frozen) { rig in
            let caller = try await rig.caller(receiveBuffer: 16 << 10)
            let requests = String(repeating: "GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n", count: 2_000)
            _ = try await caller.sendUntilStalled(ByteBuffer(string: requests), limit: 1 << 30)
            try await eventually("the end of the connection") {
                try await rig.pass(Self.over)
                return await rig.server.traffic().downstreamConnections == 0
            }
        }
    }
}
