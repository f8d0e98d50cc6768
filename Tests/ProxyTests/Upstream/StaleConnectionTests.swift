import NIOCore
import Proxy
import Synchronization
import TestKit
import Testing
import TokenModel

@Suite struct StaleConnectionTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    /// A caller whose next request goes out on an upstream connection that has served one already.
    private func reused(_ rig: Rig) async throws -> (caller: Peer, upstream: Peer) {
        let caller = try await rig.caller()
        try await caller.send("GET /acme/first HTTP/1.1\r\nHost: a\r\n\r\n")
        let upstream = try await rig.upstream.accept()
        _ = try await upstream.head()
        try await upstream.send(Self.ok)
        _ = try await caller.answer()
        return (caller, upstream)
    }

    @Test(arguments: ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"], [true, false])
    func `I10_ an idempotent request lost on a stale connection is sent once more, whole, on a new one`(
        method: String,
        resets: Bool
    ) async throws {
        try await withRig { rig in
            let (caller, stale) = try await self.reused(rig)
            try await caller.send("\(method) /acme/ HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello")
            #expect(try await stale.request().body == "hello")
            if resets { try await stale.reset() } else { stale.close() }
            let fresh = try await rig.upstream.accept()
            let again = try await fresh.request()
            #expect(again.head.request == "\(method) /v2/")
            #expect(again.head["Authorization"] == "Bearer token-1")
            #expect(again.body == "hello")
            try await fresh.send("HTTP/1.1 204 No Content\r\n\r\n")
            #expect(try await caller.head().status == 204)
        }
    }

    @Test func `I10_ a request is sent again only once, and a second loss becomes a 502`() async throws {
        try await withRig { rig in
            let (caller, stale) = try await self.reused(rig)
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try await stale.head()
            stale.close()
            let fresh = try await rig.upstream.accept()
            _ = try await fresh.head()
            fresh.close()
            let answer = try await caller.answer()
            #expect(answer.head.status == 502)
            #expect(answer.body.contains("upstream_reset"))
            #expect(rig.upstream.connections == 2)
        }
    }

    @Test(arguments: ["POST", "PATCH", "PROPFIND"])
    func `I10_ a request that is not idempotent is not sent twice`(method: String) async throws {
        try await withRig { rig in
            let (caller, stale) = try await self.reused(rig)
            try await caller.send("\(method) /acme/ HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello")
            _ = try await stale.request()
            stale.close()
            let answer = try await caller.answer()
            #expect(answer.head.status == 502)
            #expect(answer.body.contains("upstream_reset"))
            #expect(rig.upstream.connections == 1)
        }
    }

    @Test func `I10_ a request whose method a field may change for the upstream is not sent twice either`() async throws
    {
        try await withRig { rig in
            let (caller, stale) = try await self.reused(rig)
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\nX-HTTP-Method-Override: POST\r\n\r\n")
            _ = try await stale.request()
            stale.close()
            #expect(try await caller.answer().head.status == 502)
            #expect(rig.upstream.connections == 1)
        }
    }

    @Test func `a connection is not reused after a HEAD if a field may have asked the upstream for a body`()
        async throws
    {
        try await withRig { rig in
            // Given an upstream that takes the field for the method, and a body that arrives later than its head
            let caller = try await rig.caller()
            try await caller.send("HEAD /acme/a HTTP/1.1\r\nHost: a\r\nX-HTTP-Method-Override: GET\r\n\r\n")
            let misled = try await rig.upstream.accept()
            _ = try await misled.head()
            try await misled.send("HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n")
            #expect(try await caller.head().status == 200)

            // When another request follows, then it leaves on a new connection
            try await caller.send("GET /acme/b HTTP/1.1\r\nHost: a\r\n\r\n")
            let fresh = try await rig.upstream.accept()
            #expect(try await fresh.head().request == "GET /v2/b")
            try await fresh.send(Self.ok)
            #expect(try await caller.answer().body == "ok")
        }
    }

    @Test func `I10_ a request whose body was not kept whole is not sent again`() async throws {
        try await withRig(.route { $0.replayBodyLimit = 4 }) { rig in
            let (caller, stale) = try await self.reused(rig)
            try await caller.send("PUT /acme/ HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello")
            _ = try await stale.request()
            stale.close()
            #expect(try await caller.answer().head.status == 502)
            #expect(rig.upstream.connections == 1)
        }
    }

    @Test func `I10_ nothing is sent again once a byte of a response has come`() async throws {
        try await withRig { rig in
            let (caller, stale) = try await self.reused(rig)
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try await stale.head()
            try await stale.send("H")
            stale.close()
            #expect(try await caller.answer().head.status == 502)
            #expect(rig.upstream.connections == 1)
        }
    }

    @Test func `a retry during an upload sends what was kept, and then the rest`() async throws {
        try await withRig { rig in
            let (caller, stale) = try await self.reused(rig)
            try await caller.send("PUT /acme/ HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello")
            _ = try await stale.head()
            _ = try await stale.bytes(5)
            stale.close()
            let fresh = try await rig.upstream.accept()
            _ = try await fresh.head()
            try await caller.send("world")
            #expect(String(buffer: try await fresh.bytes(10)) == "helloworld")
        }
    }

    @Test func `a replay on a stale connection is retried once`() async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            let first = try await rig.upstream.accept()
            _ = try await first.head()
            try await first.send("HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n")
            let question = try await rig.credentials.questions.next("question")
            rig.install(.sample(2))
            question.answer(.success(.sample(2)))
            #expect(try await first.head()["Authorization"] == "Bearer token-2")
            first.close()
            let second = try await rig.upstream.accept()
            #expect(try await second.head()["Authorization"] == "Bearer token-2")
            try await second.send(Self.ok)
            #expect(try await caller.answer().head.status == 200)
        }
    }

    @Test func `I10_I11_ a replay that was retried after a stale connection stays the only replay`() async throws {
        let dead = "HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n"
        try await withRig { rig in
            // Given a request that was sent again after a 401, and once more because its connection was stale
            let (caller, first) = try await rig.begun()
            try await first.send(dead)
            let question = try await rig.credentials.questions.next("question")
            rig.install(.sample(2))
            question.answer(.success(.sample(2)))
            _ = try await first.head()
            first.close()
            let second = try await rig.upstream.accept()
            _ = try await second.head()
            // When the next response is a 401 too
            try await second.send(dead)
            // Then the caller gets it
            let answer = try await caller.answer()
            #expect(answer.head.status == 401)
            #expect(answer.head["Martlet-Replayed"] == "1")
            #expect(rig.credentials.questions.total == 1)
            #expect(rig.upstream.connections == 2)
        }
    }

    /// What an upstream does to its end of a connection while the gateway's event loop is stalled.
    enum Mischief: String, CaseIterable, Sendable { case ends, resets, speaks }

    @Test(arguments: [("GET", true), ("GET", false), ("POST", false)], Mischief.allCases)
    func `unread bytes or an end on an idle connection are not taken for the response to the next request`(
        request: (method: String, rests: Bool),
        mischief: Mischief
    ) async throws {
        try await withRig(Rig.Setup().frozen) { rig in
            // Given two idle connections
            let (caller, idle) = try await self.reused(rig)
            let (other, taken) = try await self.both(rig, caller, idle)
            let method = request.method
            // A connection that has been idle for a while is checked whatever the method.
            if request.rests { try await rig.pass(CoarseTime.period * 3) }
            // When the event loop is stalled by a request that takes one of them
            let loop = try await rig.stall { try await other.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n") }
            defer { loop.goOn() }
            // and another request arrives, followed by the mischief on the other connection
            let gatewaysEnd = try #require(OtherEnd(of: idle))
            let callersEnd = try #require(OtherEnd(of: caller))
            let body = method == "POST" ? "hello".framed(false) : "\r\n"
            try await caller.send("\(method) /acme/late HTTP/1.1\r\nHost: a\r\n\(body)")
            // A busy kernel delivers what was sent with a delay, and then in any order.
            try await eventually("the gateway to have the request") { callersEnd.isReadable }
            switch mischief {
            case .ends: try await idle.finish()
            case .resets: try await idle.reset()
            case .speaks: try await idle.send("HTTP/1.1 408 Too Late\r\nContent-Length: 0\r\n\r\n")
            }
            try await eventually("the gateway's end to have it") { gatewaysEnd.isReadable }
            loop.goOn()
            // Then the request leaves on a new connection
            _ = try await taken.head()
            let fresh = try await rig.upstream.accept()
            #expect(try await fresh.request().head.request == "\(method) /v2/late")
            try await fresh.send(Self.ok)
            #expect(try await caller.answer().body == "ok")
            #expect(rig.upstream.connections == 3)
        }
    }

    @Test(arguments: Mischief.allCases)
    func `I10_ a POST does not leave on a connection that ended after the event loop last looked`(
        mischief: Mischief
    ) async throws {
        try await withRig(Rig.Setup().frozen) { rig in
            // Given three idle connections, of which the last one is taken first
            var pairs: [(caller: Peer, upstream: Peer)] = []
            for _ in 0..<3 {
                let caller = try await rig.caller()
                try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
                let upstream = try await rig.upstream.accept()
                _ = try await upstream.head()
                pairs.append((caller, upstream))
            }
            for pair in pairs {
                try await pair.upstream.send(Self.ok)
                _ = try await pair.caller.answer()
            }
            let idle = try #require(OtherEnd(of: pairs[0].upstream))
            // and an event loop that learns at once of two more requests
            let first = try await rig.stall { try await pairs[2].caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n") }
            defer { first.goOn() }
            for (index, request) in [(1, "GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n"), (0, Self.post)] {
                let end = try #require(OtherEnd(of: pairs[index].caller))
                try await pairs[index].caller.send(request)
                try await eventually("the gateway to have the request") { end.isReadable }
            }
            // When the connection for the second one ends while the first one is served
            let second = rig.stallNext(with: .sample(3))
            defer { second.goOn() }
            first.goOn()
            try await rig.expectStalled(second)
            switch mischief {
            case .ends: try await pairs[0].upstream.finish()
            case .resets: try await pairs[0].upstream.reset()
            case .speaks: try await pairs[0].upstream.send("HTTP/1.1 408 Too Late\r\nContent-Length: 0\r\n\r\n")
            }
            try await eventually("the gateway's end to have it") { idle.isReadable }
            second.goOn()
            // Then it leaves on a new connection
            let fresh = try await rig.upstream.accept()
            #expect(try await fresh.request().head.request == "POST /v2/late")
            try await fresh.send(Self.ok)
            #expect(try await pairs[0].caller.answer().body == "ok")
        }
    }

    private static let post = "POST /acme/late HTTP/1.1\r\nHost: a\r\n\("hello".framed(false))"

    /// Another caller, with an idle connection beside `upstream` that will be taken before it.
    private func both(_ rig: Rig, _ caller: Peer, _ upstream: Peer) async throws -> (caller: Peer, upstream: Peer) {
        try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
        _ = try await upstream.head()
        let other = try await rig.caller()
        try await other.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
        let second = try await rig.upstream.accept()
        _ = try await second.head()
        try await upstream.send(Self.ok)
        _ = try await caller.answer()
        try await second.send(Self.ok)
        _ = try await other.answer()
        return (other, second)
    }

    @Test func `an idle connection is closed before the upstream's own idle timeout`() async throws {
        try await withRig(Rig.Setup().frozen) { rig in
            let (caller, upstream) = try await rig.begun()
            try await upstream.send("HTTP/1.1 200 OK\r\nKeep-Alive: max=5, timeout=3\r\nContent-Length: 2\r\n\r\nok")
            _ = try await caller.answer()
            // The gateway uses the connection until then.
            try await rig.pass(.seconds(2))
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try await upstream.head()
            try await upstream.send("HTTP/1.1 200 OK\r\nKeep-Alive: timeout=2\r\nContent-Length: 2\r\n\r\nok")
            _ = try await caller.answer()
            try await rig.pass(.milliseconds(1_250))
            #expect(try await upstream.ending() == .clean)
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try await rig.upstream.accept().head()
        }
    }

    @Test(arguments: ["HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "x"])
    func `a connection on which the upstream speaks unasked is closed`(bytes: String) async throws {
        try await withRig { rig in
            let (caller, upstream) = try await self.reused(rig)
            try await upstream.send(bytes)
            _ = try await upstream.rest()
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try await rig.upstream.accept().head()
        }
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok!", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=0\r\nContent-Length: 2\r\n\r\nok",
    ])
    func `a connection that is not clean after its response is not reused`(answer: String) async throws {
        try await withRig { rig in
            let (caller, upstream) = try await rig.begun()
            try await upstream.send(answer)
            #expect(try await caller.answer().body == "ok")
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try await rig.upstream.accept().head()
        }
    }
}
