import Proxy
import Telemetry
import TestKit
import Testing

@Suite struct UpstreamPoolTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    /// `count` callers whose requests have reached the upstream, and the upstream's connections.
    private func busy(_ rig: Rig, _ count: Int) async throws -> (callers: [Peer], upstreams: [Peer]) {
        var callers: [Peer] = []
        var upstreams: [Peer] = []
        for number in 1...count {
            let caller = try await rig.caller()
            try await caller.send("GET /acme/busy\(number) HTTP/1.1\r\nHost: a\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            callers.append(caller)
            upstreams.append(upstream)
        }
        return (callers, upstreams)
    }

    @Test func `a request above the connection limit waits for a free connection`() async throws {
        try await withRig(.route { $0.maxConnections = 2 }) { rig in
            let (callers, upstreams) = try await self.busy(rig, 2)
            let waiting = try await rig.caller()
            try await waiting.send("GET /acme/waiting HTTP/1.1\r\nHost: a\r\n\r\n")
            try await upstreams[1].send(Self.ok)
            #expect(try await callers[1].answer().body == "ok")
            #expect(try await upstreams[1].head().request == "GET /v2/waiting")
            try await upstreams[1].send(Self.ok)
            #expect(try await waiting.answer().body == "ok")
            #expect(rig.upstream.connections == 2)
        }
    }

    @Test func `a lower limit closes as many idle connections as exceed it, and no more`() async throws {
        var setup = Rig.Setup()
        setup.limits = { $0.connections = 5 }
        try await withRig(setup) { [setup] rig in
            let (callers, upstreams) = try await self.busy(rig, 5)
            for (caller, upstream) in zip(callers, upstreams) {
                try await upstream.send(Self.ok)
                _ = try await caller.answer()
            }
            let routes = Rig.routes(setup, rig.upstream.port)
            let plan = ProxyConfiguration(listeners: [], routes: routes, connections: 3, eventLoops: 1)

            _ = await rig.server.reload(plan)

            // The connections that have been idle for the longest end.
            for upstream in upstreams.prefix(2) { _ = try await upstream.rest() }
            for caller in callers.prefix(3) { try await caller.send("GET /acme/more HTTP/1.1\r\nHost: a\r\n\r\n") }
            for upstream in upstreams.suffix(3) { #expect(try await upstream.head().request == "GET /v2/more") }
            #expect(rig.upstream.connections == 5)
        }
    }

    @Test func `connections that nobody waits for make room when the limit is reached`() async throws {
        // Given an upstream that does not answer a TLS handshake, and a caller that has disconnected meanwhile
        var setup = Rig.Setup()
        let files = try TLSFiles()
        try files.write(TestCertificates.authority, to: "roots.pem")
        let tls = try UpstreamTLS(UpstreamTLS.Files(certificateAuthorities: files.path("roots.pem")))
        setup.routes = { port in
            [
                .sample(port: port) {
                    $0.upstream.tls = tls
                    $0.timeouts.connect = .seconds(60)
                }
            ]
        }
        setup.limits = { $0.connections = 1 }
        try await withRig(setup) { rig in
            let leaving = try await rig.caller()
            try await leaving.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            let unwanted = try await rig.upstream.accept()
            try await leaving.reset()
            // When another caller comes
            try await eventually("another to be let in") {
                let caller = try await rig.caller()
                try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
                defer { caller.close() }
                return rig.upstream.connections >= 2
            }
            // Then the gateway gives up the first caller's connection
            _ = try await unwanted.rest()
        }
    }

    @Test func `waiting requests are served in the order they came`() async throws {
        try await withRig(.route { $0.maxConnections = 1 }) { rig in
            let (_, upstreams) = try await self.busy(rig, 1)
            var waiting: [Peer] = []
            for number in 1...5 {
                let caller = try await rig.caller()
                try await caller.send("GET /acme/\(number) HTTP/1.1\r\nHost: a\r\n\r\n")
                try await rig.settle()
                waiting.append(caller)
            }
            for number in 1...5 {
                try await upstreams[0].send(Self.ok)
                #expect(try await upstreams[0].head().request == "GET /v2/\(number)")
            }
        }
    }

    @Test func `a connection that ends makes room for a waiting request`() async throws {
        try await withRig(.route { $0.maxConnections = 1 }) { rig in
            let (callers, upstreams) = try await self.busy(rig, 1)
            let waiting = try await rig.caller()
            try await waiting.send("GET /acme/waiting HTTP/1.1\r\nHost: a\r\n\r\n")
            upstreams[0].close()
            #expect(try await callers[0].answer().head.status == 502)
            let fresh = try await rig.upstream.accept()
            #expect(try await fresh.head().request == "GET /v2/waiting")
        }
    }

    @Test func `a connection whose end follows its response is given to no waiting request`() async throws {
        try await withRig(.route { $0.maxConnections = 2 }) { rig in
            // Given two waiting requests, and an event loop that is stalled by the first one, which has got a
            // connection
            let (callers, upstreams) = try await self.busy(rig, 2)
            for request in [
                "GET /acme/first HTTP/1.1\r\nHost: a\r\n\r\n",
                "POST /acme/second HTTP/1.1\r\nHost: a\r\n" + "hello".framed(false),
            ] {
                let waiting = try await rig.caller()
                try await waiting.send(request)
                try await rig.settle()
            }
            let loop = try await rig.stall { try await upstreams[1].send(Self.ok) }
            defer { loop.goOn() }
            // When the other connection gets a response, with its end right after it
            try await upstreams[0].send(Self.ok)
            try await upstreams[0].finish()
            loop.goOn()
            // Then the second request gets a new connection
            #expect(try await callers[0].answer().body == "ok")
            let fresh = try await rig.upstream.accept()
            #expect(try await fresh.head().request == "POST /v2/second")
        }
    }

    @Test func `a retry after a stale connection dials anew, even if other connections are idle`() async throws {
        try await withRig { rig in
            let (callers, upstreams) = try await self.busy(rig, 2)
            for (caller, upstream) in zip(callers, upstreams) {
                try await upstream.send(Self.ok)
                _ = try await caller.answer()
            }
            // The pool is last in, first out: the second connection is taken, and turns out to be stale.
            try await callers[0].send("GET /acme/again HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try await upstreams[1].head()
            upstreams[1].close()
            let fresh = try await rig.upstream.accept()
            #expect(try await fresh.head().request == "GET /v2/again")
        }
    }

    @Test func `a retry above the connection limit waits its turn`() async throws {
        try await withRig(.route { $0.maxConnections = 1 }) { rig in
            let (callers, upstreams) = try await self.busy(rig, 1)
            try await upstreams[0].send(Self.ok)
            _ = try await callers[0].answer()
            try await callers[0].send("GET /acme/stale HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try await upstreams[0].head()
            let waiting = try await rig.caller()
            try await waiting.send("GET /acme/waiting HTTP/1.1\r\nHost: a\r\n\r\n")
            try await rig.settle()
            upstreams[0].close()
            let fresh = try await rig.upstream.accept()
            let first = try await fresh.head().request
            try await fresh.send(Self.ok)
            let second = try await fresh.head().request
            #expect(Set([first, second]) == ["GET /v2/stale", "GET /v2/waiting"])
            #expect(rig.upstream.connections == 2)
        }
    }

    @Test func `failed dials are reported to the waiting requests, and leave no trace in the count`() async throws {
        try await withRig(.route { $0.maxConnections = 2 }) { rig in
            let (callers, upstreams) = try await self.busy(rig, 2)
            try await rig.upstream.stop()
            var waiting: [Peer] = []
            for _ in 1...5 {
                let caller = try await rig.caller()
                try await caller.send("GET /acme/waiting HTTP/1.1\r\nHost: a\r\n\r\n")
                waiting.append(caller)
            }
            for upstream in upstreams { upstream.close() }
            for caller in callers + waiting {
                let answer = try await caller.answer()
                #expect(answer.head.status == 502, "\(answer.body)")
            }
        }
    }

    @Test func `after any number of failed dials, no more connections than allowed are open`() async throws {
        let reserved = try ReservedPort()
        let setup = Rig.Setup(routes: { _ in [.sample(port: reserved.number) { $0.maxConnections = 2 }] })
        try await withRig(setup) { rig in
            for _ in 1...6 {
                let caller = try await rig.caller()
                try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
                #expect(try await caller.answer().head.status == 502)
            }
            let upstream = try await Upstream.start(on: reserved)
            var callers: [Peer] = []
            for number in 1...5 {
                let caller = try await rig.caller()
                try await caller.send("GET /acme/\(number) HTTP/1.1\r\nHost: a\r\n\r\n")
                callers.append(caller)
            }
            let first = try await upstream.accept()
            let second = try await upstream.accept()
            _ = try await second.head()
            // The other four requests use the first connection, one by one.
            for _ in 1...4 {
                _ = try await first.head()
                try await first.send(Self.ok)
            }
            try await second.send(Self.ok)
            for caller in callers { #expect(try await caller.answer().body == "ok") }
            #expect(upstream.connections == 2)
            try await upstream.stop()
        }
    }

    @Test func `a request whose connect timeout is over leaves the queue`() async throws {
        try await withRig(.route { $0.maxConnections = 1 }.frozen) { rig in
            let (callers, upstreams) = try await self.busy(rig, 1)
            let waiting = try await rig.caller()
            try await waiting.send("GET /acme/late HTTP/1.1\r\nHost: a\r\n\r\n")
            try await rig.pass(.seconds(6))
            let answer = try await waiting.answer()
            #expect(answer.head.status == 503)
            #expect(answer.body.contains("overloaded"))
            try await upstreams[0].send(Self.ok)
            _ = try await callers[0].answer()
            try await waiting.send("GET /acme/next HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await upstreams[0].head().request == "GET /v2/next")
        }
    }

    @Test func `requests that one credential releases may wait longer for their turn than others`() async throws {
        var setup = Rig.Setup.route { $0.maxConnections = 1 }.frozen
        setup.credential = nil
        try await withRig(setup) { rig in
            var callers: [Peer] = []
            for _ in 1...3 {
                let caller = try await rig.caller()
                try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
                callers.append(caller)
            }
            let question = try await rig.credentials.questions.next("question")
            try await rig.settle()
            rig.install(.sample())
            question.answer(.success(.sample()))
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            // A request that comes now finds a queue that is too long.
            let late = try await rig.caller()
            try await late.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            try await rig.pass(.seconds(6))
            #expect(try await late.answer().body.contains("overloaded"))
            try await upstream.send(Self.ok)
            for _ in 1...2 {
                _ = try await upstream.head()
                try await upstream.send(Self.ok)
            }
            for caller in callers { #expect(try await caller.answer().body == "ok") }
        }
    }

    @Test func `idle connections give way when the limit is reached`() async throws {
        // Two upstreams, each with a pool of its own.
        let other = try await Upstream.start()
        var setup = Rig.Setup { port in
            [.sample(port: port), .sample(port: other.port) { $0.path = "/other/" }]
        }
        setup.limits = { $0.connections = 2 }
        try await withRig(setup) { rig in
            let (callers, upstreams) = try await self.busy(rig, 2)
            for (caller, upstream) in zip(callers, upstreams) {
                try await upstream.send(Self.ok)
                _ = try await caller.answer()
            }
            // Both connections are idle. A third takes the place of the one that has been idle for longer.
            try await callers[0].send("GET /other/ HTTP/1.1\r\nHost: a\r\n\r\n")
            let third = try await other.accept()
            _ = try await third.head()
            _ = try await upstreams[0].rest()
            try await third.send(Self.ok)
            #expect(try await callers[0].answer().body == "ok")
            #expect(await rig.server.traffic().upstreamConnections == 2)
        }
        try await other.stop()
    }

    @Test func `a connection whose request has gone during the dial serves the next request`() async throws {
        try await withRig(.route { $0.maxConnections = 1 }) { rig in
            let caller = try await rig.caller()
            try await caller.send("GET /acme/gone HTTP/1.1\r\nHost: a\r\n\r\n")
            try await caller.reset()
            let next = try await rig.caller()
            try await next.send("GET /acme/next HTTP/1.1\r\nHost: a\r\n\r\n")
            // The head of the first request may have left before its caller went. Then the gateway closes that
            // connection and opens another.
            let first = try await rig.upstream.accept()
            var served = first
            if try await first.head().request == "GET /v2/gone" {
                served = try await rig.upstream.accept()
                #expect(try await served.head().request == "GET /v2/next")
            }
            try await served.send(Self.ok)
            #expect(try await next.answer().body == "ok")
        }
    }
}
