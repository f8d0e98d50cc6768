import Proxy
import Testing

/// What a caller can demand of the cache by `Cache-Control`.
@Suite struct CacheDemandTests {
    @Test(arguments: [nil, Cached.stale()])
    func `only-if-cached is refused with 504 if nothing stored may be used`(stored: String?) async throws {
        try await withRig(.caching()) { rig in
            let caller =
                if let stored { try await rig.stored(stored).caller } else { try await rig.caller() }

            let (head, body) = try await caller.ask(Cached.get("/acme/a", "Cache-Control: only-if-cached"))

            #expect(head.status == 504)
            #expect(head.cacheStatus == "martlet")
            #expect(body.contains("urn:martlet:error:upstream_timeout"))
            #expect(body.contains("only-if-cached"))
            #expect(rig.upstream.connections == (stored == nil ? 0 : 1))
        }
    }

    @Test(arguments: [
        Cached.get("/acme/a", "Cache-Control: only-if-cached, no-store"),
        Cached.get("/acme/a", "Cache-Control: only-if-cached", "If-Match: \"1\""),
        Cached.request("DELETE", "/acme/a", ["Cache-Control: only-if-cached"]),
    ])
    func `only-if-cached keeps a request from the upstream that nothing stored can answer`(
        request: String
    ) async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await rig.stored()
            #expect(try await caller.ask(request).head.status == 504)
            #expect(try await !upstream.hasUnread)
            #expect(try await caller.ask().head.isHit)
        }
    }

    @Test func `only-if-cached gets what is stored`() async throws {
        try await withRig(.caching()) { rig in
            let (caller, _) = try await rig.stored()
            let (head, body) = try await caller.ask(Cached.get("/acme/a", "Cache-Control: only-if-cached"))
            #expect(head.isHit)
            #expect(body == "first")
        }
    }

    @Test func `a response to a request with no-store is not stored, and none stored is used for it`() async throws {
        try await withRig(.caching()) { rig in
            let noStore = Cached.get("/acme/a", "Cache-Control: no-store")
            let (caller, upstream) = try await rig.stored(for: noStore)
            #expect(await rig.storedCount == 0)
            let (_, _, sent) = try await caller.ask(answeredBy: Cached.fresh, from: upstream)
            #expect(sent.request == "GET /v2/a")

            let (head, body, _) = try await caller.ask(noStore, answeredBy: Cached.second, from: upstream)

            #expect(body == "second")
            #expect(head.cacheStatus == "martlet; fwd=request; fwd-status=200")
            // What was stored before is still good.
            #expect(try await caller.ask().body == "first")
        }
    }

    @Test(arguments: ["Cache-Control: no-cache", "Cache-Control: max-age=0", "Pragma: no-cache"])
    func `a request that does not trust what is stored has it confirmed`(field: String) async throws {
        try await withRig(.caching()) { rig in
            // Given a fresh response with an age, or max-age=0 would be satisfied
            let (caller, upstream) = try await rig.stored(
                Cached.response("max-age=60", "ETag: \"1\"", "Age: 10")
            )

            let (head, body, sent) = try await caller.ask(
                Cached.get("/acme/a", field),
                answeredBy: Cached.notModified,
                from: upstream
            )

            #expect(sent["If-None-Match"] == "\"1\"")
            #expect(body == "first")
            #expect(head.cacheStatus == "martlet; fwd=request; fwd-status=304; ttl=60; stored")
            #expect(await rig.server.cacheStatus().map(\.revalidations) == [1])
        }
    }

    @Test func `what comes instead of a confirmation takes the place of what was stored`() async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await rig.stored()
            let noCache = Cached.get("/acme/a", "Cache-Control: no-cache")
            #expect(try await caller.ask(noCache, answeredBy: Cached.second, from: upstream).body == "second")
            #expect(try await caller.ask().body == "second")
            #expect(await rig.storedCount == 1)
        }
    }

    @Test(arguments: ["max-stale=1000", "max-stale"])
    func `a caller that accepts a stale response gets it`(demand: String) async throws {
        try await withRig(.caching()) { rig in
            let (caller, _) = try await rig.stored(Cached.stale())
            let (head, body) = try await caller.ask(Cached.get("/acme/a", "Cache-Control: \(demand)"))
            #expect(body == "first")
            #expect(head.cacheStatus.hasPrefix("martlet; hit; ttl=-"))
        }
    }

    @Test(arguments: [("max-stale=10", "private"), ("max-stale", "must-revalidate"), ("max-stale", "no-cache")])
    func `a caller that accepts a stale response waits for the upstream if this one is too stale or may never be`(
        demand: String,
        directive: String
    ) async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await rig.stored(Cached.stale(directive))
            let (head, body, sent) = try await caller.ask(
                Cached.get("/acme/a", "Cache-Control: \(demand)"),
                answeredBy: Cached.second,
                from: upstream
            )
            #expect(sent["If-None-Match"] == "\"1\"")
            #expect(body == "second")
            #expect(head.cacheStatus == "martlet; fwd=stale; fwd-status=200; ttl=60; stored")
        }
    }
}
