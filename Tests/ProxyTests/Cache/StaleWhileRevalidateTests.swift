import NIOCore
import Proxy
import TestKit
import Testing
import TokenModel

/// A stale response that is sent at once while the cache asks on its own behalf (RFC 5861 §3).
@Suite struct StaleWhileRevalidateTests {
    private static let stale = Cached.stale("stale-while-revalidate=1000")

    /// Has a stale response stored and sent.
    ///
    /// - Returns: also the upstream's connection, which has got the cache's own request.
    private static func asked(
        _ rig: Rig,
        _ request: String = Cached.get()
    ) async throws -> (caller: Peer, upstream: Peer) {
        let (caller, upstream) = try await rig.stored(Self.stale)
        let (head, body) = try await caller.ask(request)
        #expect(body == "first")
        #expect(head.cacheStatus.hasPrefix("martlet; hit; ttl=-"))
        let sent = try await upstream.request().head
        #expect(sent["If-None-Match"] == "\"1\"")
        #expect(sent["Authorization"] == "Bearer token-1")
        return (caller, upstream)
    }

    @Test func `the stale response is sent at once, and one request asks for all callers`() async throws {
        try await withRig(.caching()) { rig in
            let (_, upstream) = try await Self.asked(rig)
            for _ in 0..<3 {
                let (head, body) = try await rig.caller().ask()
                #expect(body == "first")
                #expect(head.cacheStatus.hasPrefix("martlet; hit; ttl=-"))
            }
            #expect(rig.upstream.connections == 1)
            #expect(try await !upstream.hasUnread)
        }
    }

    @Test func `a 304 makes it fresh`() async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await Self.asked(rig)
            try await upstream.send(Cached.notModified)
            try await rig.settle()
            let (head, body) = try await caller.ask()
            #expect(body == "first")
            #expect(head.isHit && !head.cacheStatus.contains("ttl=-"))
            // The upstream's connection serves the next request.
            #expect(
                try await caller.ask(Cached.get("/acme/b"), answeredBy: Cached.second, from: upstream).body == "second"
            )
        }
    }

    @Test(arguments: ["404 Not Found", "410 Gone", "403 Forbidden", "302 Found"])
    func `a response that is not stored ends it`(status: String) async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await Self.asked(rig)
            try await upstream.send(Cached.response("no-store", status: status, body: ""))
            try await rig.settle()
            #expect(await rig.storedCount == 0)
            #expect(try await caller.ask(answeredBy: Cached.second, from: upstream).body == "second")
        }
    }

    @Test func `a long response that is not stored is not read to its end`() async throws {
        try await withRig(.caching()) { rig in
            let (_, upstream) = try await Self.asked(rig)
            try await upstream.send("HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 100000\r\n\r\n")
            _ = try await upstream.ending()
        }
    }

    @Test func `the cache asks for 64 responses at a time`() async throws {
        try await withRig(.caching()) { rig in
            let caller = try await rig.caller()
            let serving = try await rig.stored(Self.stale, for: Cached.get("/acme/0")).upstream
            for number in 1...65 {
                _ = try await caller.ask(Cached.get("/acme/\(number)"), answeredBy: Self.stale, from: serving)
            }
            for number in 0...65 { #expect(try await caller.ask(Cached.get("/acme/\(number)")).body == "first") }
            // Each of them has a connection of its own, since none is answered.
            var connections = [serving]
            while connections.count < 64 { connections.append(try await rig.upstream.accept()) }
            try await rig.settle()
            #expect(rig.upstream.connections == 64)
        }
    }

    @Test func `another response takes its place`() async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await Self.asked(rig)
            try await upstream.send(Cached.second)
            try await rig.settle()
            let (head, body) = try await caller.ask()
            #expect(body == "second")
            #expect(head.isHit && !head.cacheStatus.contains("ttl=-"))
            #expect(await rig.storedCount == 1)
        }
    }

    @Test func `the caller's own range and conditions are not the cache's`() async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await rig.stored(Self.stale)
            let (head, body) = try await caller.ask(Cached.get("/acme/a", "Range: bytes=1-3"))
            #expect(head.status == 206)
            #expect(body == "irs")
            let sent = try await upstream.request().head
            #expect(sent["Range"] == nil)
            #expect(sent["If-None-Match"] == "\"1\"")
            try await upstream.send(Cached.second)
            try await rig.settle()
            #expect(try await caller.ask().body == "second")
        }
    }

    @Test func `an error leaves the stale response, and the next request has the cache ask again`() async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await Self.asked(rig)
            try await upstream.send(Cached.empty("500 Internal Server Error"))
            try await rig.settle()
            #expect(try await caller.ask().body == "first")
            _ = try await upstream.request()
            try await upstream.send(Cached.second)
            try await rig.settle()
            #expect(try await caller.ask().body == "second")
        }
    }

    @Test func `a connection that is lost leaves the stale response, and the next request has the cache ask again`()
        async throws
    {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await Self.asked(rig)
            upstream.close()
            // A used connection may have been stale: the request is sent once more.
            let second = try await rig.upstream.accept()
            _ = try await second.request()
            second.close()
            try await eventually("another request of the cache") {
                let body = try await caller.ask().body
                #expect(body == "first")
                return rig.upstream.connections == 3
            }
            let third = try await rig.upstream.accept()
            _ = try await third.request()
            try await third.send(Cached.notModified)
            try await rig.settle()
            #expect(try await !caller.ask().head.cacheStatus.contains("ttl=-"))
        }
    }

    @Test func `I3_ a kill ends the cache's own request`() async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await Self.asked(rig)

            #expect(await rig.server.fence(.kill()) == FencedExchanges(closed: 1))

            #expect(try await upstream.ending() == .reset)
            // The caller has its response, and may send further requests.
            #expect(try await caller.ask("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n").head.status == 404)
        }
    }

    @Test func `I6_ a response that comes after the end of the lease is not stored`() async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await Self.asked(rig)
            rig.server.setLeaseDeadline(.now)
            try await rig.settle()
            try await upstream.send(Cached.second)
            try await rig.settle()
            rig.server.setLeaseDeadline(.now.advanced(by: patience))
            try await rig.settle()
            #expect(try await caller.ask().body == "first")
        }
    }

    @Test func `the cache's own request does not hold up a shutdown`() async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await Self.asked(rig)
            // Given a request in progress
            try await caller.send(Cached.get("/acme/b"))
            let other = try await rig.upstream.accept()
            _ = try await other.request()
            async let drained = rig.server.shutDown(grace: patience)
            _ = try await upstream.ending()
            try await other.send(Cached.second)
            #expect(try await caller.answer().body == "second")
            #expect(try await caller.ending() == .clean)
            #expect(await drained)
        }
    }

    @Test func `the cache's own request has the route's time limits`() async throws {
        try await withRig(.caching { $0.timeouts.response = .seconds(3) }) { rig in
            let (caller, upstream) = try await Self.asked(rig)
            try await rig.pass(.seconds(4))
            _ = try await upstream.ending()
            // The next request has the cache ask again.
            #expect(try await caller.ask().body == "first")
            let other = try await rig.upstream.accept()
            #expect(try await other.request().head["If-None-Match"] == "\"1\"")
        }
    }

    @Test func `the caller may go while the cache asks`() async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await Self.asked(rig)
            caller.close()
            try await rig.settle()
            try await upstream.send(Cached.second)
            try await rig.settle()
            #expect(try await rig.caller().ask().body == "second")
        }
    }

    @Test(arguments: [
        "stale-while-revalidate=1000, must-revalidate", "stale-while-revalidate=1000, no-cache",
        "stale-while-revalidate=30",
    ])
    func `a response that may not be stale, or not so long, is confirmed first`(directives: String) async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await rig.stored(Cached.stale(directives))
            let (head, body, sent) = try await caller.ask(answeredBy: Cached.second, from: upstream)
            #expect(sent["If-None-Match"] == "\"1\"")
            #expect(body == "second")
            #expect(head.cacheStatus == "martlet; fwd=stale; fwd-status=200; ttl=60; stored")
        }
    }
}
