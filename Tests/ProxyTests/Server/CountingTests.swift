import Proxy
import Synchronization
import Telemetry
import TestKit
import Testing
import TokenModel

@Suite struct CountingTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    private static let dead = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 4\r\n\r\ndead"

    /// The number of finished requests by route and status class; zero counts are left out.
    private func requests(_ rig: Rig) async -> [String: UInt64] {
        let traffic = await rig.server.traffic()
        var requests: [String: UInt64] = [:]
        for (route, counts) in traffic.routes.enumerated() {
            for statusClass in StatusClass.allCases where counts[statusClass] > 0 {
                requests["\(route) \(statusClass.label)"] = counts[statusClass]
            }
        }
        return requests
    }

    private func outcomes(_ rig: Rig) async -> [ReplayOutcome] {
        let route = await rig.server.traffic().routes[1]
        return ReplayOutcome.allCases.flatMap { Array(repeating: $0, count: Int(route[$0])) }
    }

    /// Waits until `count` requests have finished.
    private func over(_ count: UInt64, _ rig: Rig) async throws {
        try await eventually("\(count) requests to be over") {
            await self.requests(rig).values.reduce(0, +) == count
        }
    }

    @Test(arguments: [1, 2])
    func `each request is counted once by its route and status, over all event loops`(eventLoops: Int) async throws {
        var setup = Rig.Setup()
        setup.eventLoops = eventLoops
        setup.routes = { port in
            [
                .sample(port: port),
                .sample(port: port) {
                    $0.name = "b"; $0.path = "/b/"
                },
            ]
        }
        try await withRig(setup) { rig in
            for (path, status) in [("acme", 200), ("acme", 404), ("b", 503), ("b", 304), ("b", 204)] {
                let caller = try await rig.caller()
                try await caller.send("GET /\(path)/ HTTP/1.1\r\nHost: a\r\n\r\n")
                let upstream = try await rig.upstream.accept()
                _ = try await upstream.request()
                try await upstream.send("HTTP/1.1 \(status) X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                _ = try await caller.head()
                caller.close()
                upstream.close()
            }
            let caller = try await rig.caller()
            try await caller.send("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\nGARBAGE\r\n\r\n")
            _ = try await caller.rest()
            try await self.over(7, rig)

            #expect(
                await self.requests(rig) == [
                    "1 2xx": 1, "1 4xx": 1, "2 5xx": 1, "2 3xx": 1, "2 2xx": 1, "0 4xx": 2,
                ]
            )
            let traffic = await rig.server.traffic()
            // The rig adds a route of its own after these.
            #expect(traffic.routes.map(\.injections) == [0, 2, 3, 0])
            #expect(traffic.routes[2].durations.cumulative.last == 3)
        }
    }

    @Test func `a request whose caller disconnects before the response has no status`() async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.request()
            try await caller.reset()
            try await self.over(1, rig)
            #expect(await self.requests(rig) == ["1 none": 1])
        }
    }

    @Test func `connections are counted while they are open`() async throws {
        try await withRig { rig in
            let callers = [try await rig.caller(), try await rig.caller()]
            try await callers[0].send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.request()
            try await upstream.send(Self.ok)
            _ = try await callers[0].answer()
            try await eventually("the connections to be counted") {
                let traffic = await rig.server.traffic()
                return traffic.downstreamConnections == 2 && traffic.upstreamConnections == 1
            }
            for caller in callers { caller.close() }
            upstream.close()
            try await eventually("the connections to be gone") {
                let traffic = await rig.server.traffic()
                return traffic.downstreamConnections == 0 && traffic.upstreamConnections == 0
            }
        }
    }

    @Test func `requests that wait for a token are counted while they wait`() async throws {
        var setup = Rig.Setup()
        setup.credential = nil
        try await withRig(setup) { rig in
            let caller = try await rig.caller()
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            let question = try await rig.credentials.questions.next("question")
            #expect(rig.server.waiterCount == 1)
            question.answer(.failure(CredentialError(.accountEmpty, "none")))
            #expect(try await caller.answer().head.status == 503)
            #expect(rig.server.waiterCount == 0)
            #expect(await self.requests(rig) == ["1 5xx": 1])
        }
    }

    @Test(arguments: [
        (ReplayOutcome.answered, 200, 2), (.refused, 401, 2), (.failed, 502, 2), (.notRefreshed, 503, 1),
    ])
    func `the outcome after a dead token is counted`(outcome: ReplayOutcome, status: Int, injections: UInt64)
        async throws
    {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.request()
            try await upstream.send(Self.dead)
            let question = try await rig.credentials.questions.next("question")
            if outcome == .notRefreshed {
                question.answer(.failure(CredentialError(.refreshFailed, "no")))
            } else {
                rig.install(.sample(2))
                question.answer(.success(.sample(2)))
                _ = try await upstream.request()
                switch outcome {
                case .answered: try await upstream.send(Self.ok)
                case .refused: try await upstream.send(Self.dead)
                default: try await upstream.send("nonsense\r\n\r\n")
                }
            }
            #expect(try await caller.answer().head.status == status)
            try await self.over(1, rig)
            #expect(await self.outcomes(rig) == [outcome])
            #expect(await rig.server.traffic().routes[1].injections == injections)
        }
    }

    @Test func `a dead token of a request that can't be replayed is counted as such`() async throws {
        try await withRig(.route { $0.replayBodyLimit = 2 }) { rig in
            let caller = try await rig.caller()
            try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.request()
            try await upstream.send(Self.dead)
            #expect(try await caller.answer().head.status == 401)
            try await self.over(1, rig)
            #expect(await self.outcomes(rig) == [.impossible])
        }
    }

    @Test func `the access log has one entry per request, and nothing of the caller's input but the method`()
        async throws
    {
        let output = try CapturedOutput()
        let log = LogWriter(to: LogOutput(descriptor: output.descriptor), format: .text) {
            LogClock(now: WallTime(millisecondsSince1970: 0), bootNow: .now)
        }
        var setup = Rig.Setup()
        setup.accessLog = log
        let length = Mutex(0)
        try await withRig(setup) { rig in
            let caller = try await rig.caller()
            try await caller.send(
                "POST /acme/canary?canary=1 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer canary\r\n"
                    + "X-Canary: canary\r\nContent-Length: 6\r\n\r\ncanary"
            )
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.request()
            try await upstream.send(Self.ok)
            _ = try await caller.answer()
            try await caller.send("CANARY /canary HTTP/1.1\r\nHost: a\r\n\r\n")
            let own = try await caller.answer().body
            #expect(own.utf8.count > 0)
            length.withLock { $0 = own.utf8.count }
            try await caller.send("GET /acme/canary HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try await upstream.request()
            try await caller.reset()
            try await self.over(3, rig)
        }
        #expect(await log.close(within: patience))
        let lines = output.lines
        try #require(lines.count == 3)
        #expect(lines[0].contains(" http.method=POST route.name=acme account.name=alice http.status=200 duration_ms="))
        #expect(lines[0].hasSuffix(" bytes_in=6 bytes_out=2 replayed=false"))
        #expect(lines[1].contains(" http.method=other http.status=404 duration_ms="))
        #expect(
            lines[1].hasSuffix(
                " bytes_in=0 bytes_out=\(length.withLock { $0 }) replayed=false error.code=no_route error.reason=\"no route matches the host and path; see the routes of martlet.yaml\""
            )
        )
        #expect(lines[2].contains(" http.method=GET route.name=acme account.name=alice duration_ms="))
        #expect(lines[2].hasSuffix(" replayed=false aborted=true"))
        #expect(!output.text.lowercased().contains("canary"))
        #expect(!output.text.contains("token-1"))
    }
}
