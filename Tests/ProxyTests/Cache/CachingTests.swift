import HTTPCaching
import NIOCore
import Proxy
import Testing
import TokenModel

/// What a caching route answers from memory, and what goes upstream.
struct CachingTests {
    private static let fresh =
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nETag: \"1\"\r\nContent-Length: 5\r\n\r\nfirst"

    private static func setup(_ change: @escaping (inout RouteConfiguration) -> Void = { _ in }) -> Rig.Setup {
        .route { route in
            route.cache = CacheConfiguration()
            change(&route)
        }
    }

    private static func get(_ target: String = "/acme/a", _ fields: String...) -> String {
        (["GET \(target) HTTP/1.1", "Host: a"] + fields + ["", ""]).joined(separator: "\r\n")
    }

    @Test func `a fresh response is sent again without the upstream`() async throws {
        try await withRig(Self.setup()) { rig in
            let caller = try await rig.caller()
            try await caller.send(Self.get())
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.request()
            try await upstream.send(Self.fresh)
            let first = try await caller.answer()
            #expect(first.head["Cache-Status"] == "martlet; fwd=uri-miss; fwd-status=200; ttl=60; stored")
            #expect(first.head["Age"] == nil)

            try await caller.send(Self.get())
            let second = try await caller.answer()

            #expect(second.head.status == 200)
            #expect(second.body == "first")
            #expect(second.head["Cache-Status"]?.hasPrefix("martlet; hit; ttl=") == true)
            #expect(second.head["Age"] == "0")
            #expect(second.head["ETag"] == "\"1\"")
            #expect(await rig.server.cacheStatus().map(\.hits) == [1])
        }
    }

    @Test func `a stale response is confirmed by a 304 and sent from memory`() async throws {
        try await withRig(Self.setup()) { rig in
            let caller = try await rig.caller()
            try await caller.send(Self.get())
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.request()
            try await upstream.send(
                "HTTP/1.1 200 OK\r\nCache-Control: no-cache\r\nETag: \"1\"\r\nContent-Length: 5\r\n\r\nfirst"
            )
            _ = try await caller.answer()

            try await caller.send(Self.get("/acme/a", "If-None-Match: \"0\""))
            let request = try await upstream.request()
            #expect(request.head["If-None-Match"] == "\"1\"")
            try await upstream.send("HTTP/1.1 304 Not Modified\r\nX-New: 1\r\n\r\n")
            let second = try await caller.answer()

            #expect(second.head.status == 200)
            #expect(second.body == "first")
            #expect(second.head["X-New"] == "1")
            #expect(second.head["Cache-Status"] == "martlet; fwd=stale; fwd-status=304; ttl=0; stored")

            // The connection serves the next request.
            try await caller.send(Self.get("/acme/b"))
            #expect(try await upstream.request().head.request == "GET /v2/b")
        }
    }

    @Test func `many callers with one key cost one request`() async throws {
        try await withRig(Self.setup()) { rig in
            var callers: [Peer] = []
            for _ in 0..<20 {
                let caller = try await rig.caller()
                try await caller.send(Self.get())
                callers.append(caller)
            }
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.request()
            try await rig.settle()
            try await upstream.send(Self.fresh)

            for caller in callers { #expect(try await caller.answer().body == "first") }
            #expect(rig.upstream.connections == 1)
        }
    }

    @Test func `after a kill nothing comes from memory`() async throws {
        try await withRig(Self.setup()) { rig in
            let caller = try await rig.caller()
            try await caller.send(Self.get())
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.request()
            try await upstream.send(Self.fresh)
            _ = try await caller.answer()

            _ = await rig.server.fence(.kill())
            try await caller.send(Self.get())

            #expect(try await caller.answer().head.status == 503)
        }
    }
}
