import NIOCore
import Proxy
import Telemetry
import Testing
import TokenModel

/// Reloads while callers and upstreams are connected, over real sockets.
@Suite struct ReloadTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    private func plan(_ routes: [RouteConfiguration], callers: [CallerConfiguration]? = nil) -> ProxyConfiguration {
        let own = RouteConfiguration.sample(port: 1) { plan in
            plan.name = "own-host"
            plan.host = "a"
            plan.path = "/no-request-has-this-path/"
        }
        return ProxyConfiguration(listeners: [], routes: routes + [own], callers: callers, eventLoops: 1)
    }

    private func get(_ path: String, _ fields: String = "") -> String {
        "GET \(path) HTTP/1.1\r\nHost: a\r\n\(fields)\r\n"
    }

    /// Sends a request that must succeed, and returns the upstream's connection.
    private func exchange(_ rig: Rig, _ caller: Peer, _ path: String = "/acme/x") async throws -> Peer {
        try await caller.send(self.get(path))
        let upstream = try await rig.upstream.accept()
        _ = try await upstream.head()
        try await upstream.send(Self.ok)
        #expect(try await caller.answer().body == "ok")
        return upstream
    }

    @Test func `a request in progress on a removed route gets its response, and the next request gets 404`()
        async throws
    {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send(self.get("/acme/x"))
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()

            _ = await rig.server.reload(self.plan([]))
            try await upstream.send(Self.ok)

            #expect(try await caller.answer().body == "ok")
            try await caller.send(self.get("/acme/x"))
            #expect(try await caller.answer().head.status == 404)
        }
    }

    @Test func `a request that waits for a token on a removed route gets the token`() async throws {
        try await withRig(Rig.Setup(credential: nil)) { rig in
            let caller = try await rig.caller()
            try await caller.send(self.get("/acme/x"))
            let question = try await rig.credentials.questions.next("question for a pass")

            _ = await rig.server.reload(self.plan([]))
            rig.server.apply(.installed(.sample()))
            rig.server.apply(.retired(Rig.account))
            question.answer(.success(.sample()))

            let upstream = try await rig.upstream.accept()
            #expect(try await upstream.head()["Authorization"] == "Bearer token-1")
            try await upstream.send(Self.ok)
            #expect(try await caller.answer().body == "ok")
        }
    }

    @Test func `a new route works on an open connection, with a token announced before the reload`() async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            _ = try await self.exchange(rig, caller)
            let bob = AccountID("bob")
            rig.server.apply(.installed(.sample(7, account: bob)))

            _ = await rig.server.reload(
                self.plan([
                    .sample(port: rig.upstream.port),
                    .sample(port: rig.upstream.port) { plan in
                        plan.name = "new"
                        plan.path = "/new/"
                        plan.account = .fixed(bob)
                        plan.maxConnections = 3
                    },
                ])
            )

            try await caller.send(self.get("/new/x"))
            let upstream = try await rig.upstream.accept()
            #expect(try await upstream.head()["Authorization"] == "Bearer token-7")
            try await upstream.send(Self.ok)
            #expect(try await caller.answer().body == "ok")
            #expect(rig.credentials.asked == 0)
        }
    }

    @Test func `a removed key is refused on the connection that it had authenticated`() async throws {
        var setup = Rig.Setup()
        let staying = CallerConfiguration(name: "staying", keys: [try .of("stay")])
        setup.callers = [staying, CallerConfiguration(name: "leaving", keys: [try .of("leave")])]
        try await withRig(setup) { rig in
            let (one, other) = (try await rig.caller(), try await rig.caller())
            for (caller, key) in [(one, "leave"), (other, "stay")] {
                try await caller.send(self.get("/nowhere", "Martlet-Key: \(key)\r\n"))
                #expect(try await caller.answer().head.status == 404)
            }
            _ = await rig.server.reload(self.plan([.sample(port: 1)], callers: [staying]))

            try await one.send(self.get("/nowhere", "Martlet-Key: leave\r\n"))
            #expect(try await one.answer().head.status == 401)
            try await other.send(self.get("/nowhere", "Martlet-Key: stay\r\n"))
            #expect(try await other.answer().head.status == 404)
        }
    }

    @Test func `open connections need a key as soon as a reload configures callers`() async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send(self.get("/nowhere"))
            #expect(try await caller.answer().head.status == 404)
            let callers = [CallerConfiguration(name: "c", keys: [try .of("key")])]
            _ = await rig.server.reload(self.plan([], callers: callers))
            try await caller.send(self.get("/nowhere"))
            #expect(try await caller.answer().head.status == 401)
        }
    }

    @Test func `connections to an upstream without routes end when they are no longer in use`() async throws {
        try await withRig { rig in
            // Given an idle connection, and one with a request in progress
            let (first, second) = (try await rig.caller(), try await rig.caller())
            try await first.send(self.get("/acme/1"))
            let idle = try await rig.upstream.accept()
            _ = try await idle.head()
            try await second.send(self.get("/acme/2"))
            let busy = try await rig.upstream.accept()
            _ = try await busy.head()
            try await idle.send(Self.ok)
            #expect(try await first.answer().body == "ok")

            _ = await rig.server.reload(self.plan([]))

            _ = try await idle.ending()
            try await busy.send(Self.ok)
            #expect(try await second.answer().body == "ok")
            _ = try await busy.ending()
        }
    }

    @Test func `connections to an upstream that stays are reused`() async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            let upstream = try await self.exchange(rig, caller)
            _ = await rig.server.reload(
                self.plan([.sample(port: rig.upstream.port) { $0.path = "/renamed/" }])
            )
            try await caller.send(self.get("/renamed/x"))
            #expect(try await upstream.head().request == "GET /v2/x")
            try await upstream.send(Self.ok)
            #expect(try await caller.answer().body == "ok")
            #expect(rig.upstream.connections == 1)
        }
    }

    @Test func `each route is counted under its name, whatever its position`() async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            let upstream = try await self.exchange(rig, caller)
            let other = RouteConfiguration.sample(port: rig.upstream.port) { plan in
                plan.name = "first"
                plan.path = "/first/"
            }
            _ = await rig.server.reload(self.plan([other, .sample(port: rig.upstream.port)]))
            for path in ["/acme/x", "/first/x"] {
                try await caller.send(self.get(path))
                _ = try await upstream.head()
                try await upstream.send(Self.ok)
                #expect(try await caller.answer().body == "ok")
            }
            #expect(rig.server.routeNames == ["acme", "own-host", "first"])
            let routes = await rig.server.traffic().routes
            #expect(routes.map { $0[.successful] } == [0, 2, 0, 1])
        }
    }

    @Test func `a lower connection limit applies to new connections only`() async throws {
        try await withRig { rig in
            let callers = [try await rig.caller(), try await rig.caller()]
            for caller in callers {
                try await caller.send(self.get("/nowhere"))
                #expect(try await caller.answer().head.status == 404)
            }
            var plan = self.plan([])
            plan.connections = 1
            _ = await rig.server.reload(plan)
            let late = try await rig.caller()
            try await late.send(self.get("/nowhere"))
            #expect(try await late.answer().head.status == 503)
            for caller in callers {
                try await caller.send(self.get("/nowhere"))
                #expect(try await caller.answer().head.status == 404)
            }
            plan.connections = 3
            _ = await rig.server.reload(plan)
            let last = try await rig.caller()
            try await last.send(self.get("/nowhere"))
            #expect(try await last.answer().head.status == 404)
        }
    }
}
