import NIOCore
import Proxy
import Telemetry
import TestKit
import Testing
import TokenModel

/// Upstreams that refuse to be asked before a body is sent (RFC 9110 §15.5.18).
@Suite struct RefusedExpectationTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    private static let limit = 1_000
    private static let body = String(repeating: "b", count: 5_000)

    private static func upload(_ isChunked: Bool) -> String {
        "PUT /acme/ HTTP/1.1\r\nHost: a\r\n\(Self.body.framed(isChunked))"
    }

    /// Time stands still: the gateway waits for the upstream's answer to `Expect` as long as it takes.
    private func withLimit(_ test: (Rig, Peer) async throws -> Void) async throws {
        try await withRig(.route { $0.replayBodyLimit = Self.limit }.frozen) { rig in
            try await test(rig, try await rig.caller())
        }
    }

    @Test func `after a 417 the request is sent again at once, without Expect`() async throws {
        try await self.withLimit { rig, caller in
            try await caller.send(Self.upload(false))
            let first = try await rig.upstream.accept()
            #expect(try await first.head()["Expect"] == "100-continue")
            try await first.send("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n")
            let second = try await rig.upstream.accept()
            let request = try await second.request()
            #expect(request.head.all("Expect").isEmpty)
            #expect(request.head["Authorization"] == "Bearer token-1")
            #expect(request.body == Self.body)
            try await second.send(Self.ok)
            #expect(try await caller.answer().head.status == 200)
            #expect(try await first.ending() == .clean)

            rig.install(.sample(2))
            try await rig.settle()
            try await caller.send(Self.upload(false))
            #expect(try await second.request().head.all("Expect").isEmpty)
        }
    }

    @Test func `after a 103 and a 417 the request is sent again too`() async throws {
        try await self.withLimit { rig, caller in
            try await caller.send(Self.upload(false))
            let first = try await rig.upstream.accept()
            #expect(try await first.head()["Expect"] == "100-continue")
            try await first.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
            #expect(try await caller.head().status == 103)
            try await first.send("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n")
            let second = try await rig.upstream.accept()
            let request = try await second.request()
            #expect(request.head.all("Expect").isEmpty)
            #expect(request.body == Self.body)
            try await second.send(Self.ok)
            #expect(try await caller.answer().head.status == 200)
        }
    }

    @Test func `after a 417 a complete request is sent again on an existing connection`() async throws {
        try await self.withLimit { rig, caller in
            // Given two idle connections
            let other = try await rig.caller()
            for one in [caller, other] { try await one.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n") }
            let spare = try await rig.upstream.accept()
            let latest = try await rig.upstream.accept()
            for one in [spare, latest] {
                _ = try await one.head()
                try await one.send(Self.ok)
                try await rig.settle()
            }
            for one in [caller, other] { _ = try await one.answer() }
            rig.install(.sample(2))
            try await rig.settle()

            // When a body arrives with its head, and the upstream refuses the expectation
            try await caller.send(Self.upload(false))
            #expect(try await latest.head()["Expect"] == "100-continue")
            try await latest.send("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n")

            // Then the request goes out on the other connection
            #expect(try await spare.request().body == Self.body)
            try await spare.send(Self.ok)
            #expect(try await caller.answer().head.status == 200)
        }
    }

    @Test func `a 417 that the gateway has not caused is passed on`() async throws {
        try await self.withLimit { rig, caller in
            try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\n\("hello".framed(false))")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.request()
            try await upstream.send("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n")
            #expect(try await caller.answer().head.status == 417)
        }
    }

    @Test(arguments: [true, false])
    func `an upstream that closes the connection on Expect is not asked again`(resets: Bool) async throws {
        try await self.withLimit { rig, caller in
            // Given an upstream that ends the connection when the gateway asks it
            try await caller.send(Self.upload(false))
            let first = try await rig.upstream.accept()
            #expect(try await first.head()["Expect"] == "100-continue")
            if resets { try await first.reset() } else { first.close() }
            let answer = try await caller.answer()
            #expect(answer.head.status == 502)
            #expect(answer.body.contains("upstream_reset"))
            // When the next large body comes, with another token
            rig.install(.sample(2))
            let next = try await rig.caller()
            try await next.send(Self.upload(false))
            // Then the gateway sends the body without asking
            let second = try await rig.upstream.accept()
            let request = try await second.request()
            #expect(request.head.all("Expect").isEmpty)
            #expect(request.head["Authorization"] == "Bearer token-2")
            #expect(request.body == Self.body)
        }
    }

    @Test func `the log entry says that the upstream closed on Expect, and names the option that prevents it`()
        async throws
    {
        let output = try CapturedOutput()
        let log = LogWriter(to: LogOutput(descriptor: output.descriptor), format: .text) {
            LogClock(now: WallTime(millisecondsSince1970: 0), bootNow: .now)
        }
        var setup = Rig.Setup.route { $0.replayBodyLimit = Self.limit }.frozen
        setup.accessLog = log
        try await withRig(setup) { rig in
            let caller = try await rig.caller()
            try await caller.send(Self.upload(false))
            let upstream = try await rig.upstream.accept()
            #expect(try await upstream.head()["Expect"] == "100-continue")
            upstream.close()
            #expect(try await caller.answer().head.status == 502)
        }
        #expect(await log.close(within: patience))
        let line = try #require(output.lines.first)
        #expect(line.contains("Expect: 100-continue; expect: never of the route has it asked no more"), "\(line)")
    }

    /// Two routes to one upstream. `change` adapts the second route.
    private static func twoRoutes(_ change: @escaping (inout RouteConfiguration) -> Void) -> Rig.Setup {
        Rig.Setup(routes: { port in
            [
                .sample(port: port) { $0.replayBodyLimit = Self.limit },
                .sample(port: port) { plan in
                    plan.replayBodyLimit = Self.limit
                    plan.name = "other"
                    plan.path = "/other/"
                    change(&plan)
                },
            ]
        })
    }

    @Test func `what one route has learnt about an upstream applies to the upstream's other routes`() async throws {
        try await withRig(Self.twoRoutes { $0.maxConnections = 3 }.frozen) { rig in
            let caller = try await rig.caller()
            try await caller.send(Self.upload(false))
            let first = try await rig.upstream.accept()
            #expect(try await first.head()["Expect"] == "100-continue")
            try await first.send("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n")
            _ = try await rig.upstream.accept().request()

            let other = try await rig.caller()
            try await other.send(Self.upload(false).replacing("/acme/", with: "/other/"))
            let request = try await rig.upstream.accept().request()
            #expect(request.head.all("Expect").isEmpty)
            #expect(request.body == Self.body)
        }
    }

    @Test func `a route may turn off asking, for itself alone`() async throws {
        try await withRig(Self.twoRoutes { $0.asksBeforeBodies = false }.frozen) { rig in
            let caller = try await rig.caller()
            try await caller.send(Self.upload(false).replacing("/acme/", with: "/other/"))
            let upstream = try await rig.upstream.accept()
            let request = try await upstream.request()
            #expect(request.head.all("Expect").isEmpty)
            #expect(request.body == Self.body)

            let other = try await rig.caller()
            try await other.send(Self.upload(false))
            #expect(try await rig.upstream.accept().head()["Expect"] == "100-continue")
        }
    }
}
