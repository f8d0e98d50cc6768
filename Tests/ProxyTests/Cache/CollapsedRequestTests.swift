import NIOCore
import Proxy
import TestKit
import Testing
import TokenModel

/// Requests that wait for the response to another one: what they get, and when they stop waiting.
@Suite struct CollapsedRequestTests {
    @Test func `those who waited are told that they did`() async throws {
        try await withRig(.caching()) { rig in
            let (leader, upstream) = try await rig.begun(Cached.get())
            let waiter = try await rig.asking(Cached.get("/acme/a", "Range: bytes=1-3"))
            let late = try await rig.asking()
            try await rig.settle()
            // A part is not waited for: the response may be no whole one.
            let other = try await rig.upstream.accept()
            _ = try await other.request()
            try await other.send(
                "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 1-3/5\r\nContent-Length: 3\r\n\r\nirs"
            )
            #expect(try await waiter.answer().head.status == 206)

            try await upstream.send(Cached.fresh)

            let leading = try await leader.answer().head.cacheStatus
            #expect(leading == "martlet; fwd=uri-miss; fwd-status=200; ttl=60; stored")
            #expect(try await late.answer().head.cacheStatus == "martlet; fwd=uri-miss; collapsed")
            #expect(rig.upstream.connections == 2)
        }
    }

    @Test func `if the caller of the first request goes away, one of those who wait asks`() async throws {
        try await withRig(.caching()) { rig in
            let (leader, upstream) = try await rig.begun(Cached.get())
            let waiters = [try await rig.asking(), try await rig.asking(), try await rig.asking()]
            try await rig.settle()

            try await leader.reset()

            _ = try await upstream.ending()
            let other = try await rig.upstream.accept()
            _ = try await other.request()
            try await other.send(Cached.fresh)
            for waiter in waiters { #expect(try await waiter.answer().body == "first") }
            #expect(rig.upstream.connections == 2)
            #expect(await rig.storedCount == 1)
        }
    }

    @Test func `if the upstream gives no response, those who wait ask for themselves`() async throws {
        try await withRig(.caching()) { rig in
            let (leader, upstream) = try await rig.begun(Cached.get())
            let waiters = [try await rig.asking(), try await rig.asking()]
            try await rig.settle()

            upstream.close()

            #expect(try await leader.answer().head.status == 502)
            for _ in waiters {
                let other = try await rig.upstream.accept()
                _ = try await other.request()
                try await other.send(Cached.fresh)
            }
            for waiter in waiters {
                let (head, body) = try await waiter.answer()
                #expect(body == "first")
                #expect(head.cacheStatus == "martlet; fwd=uri-miss; fwd-status=200")
            }
        }
    }

    private static let unshared = [
        "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 5\r\n\r\n",
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nVary: *\r\nContent-Length: 5\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
        "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 5\r\n\r\n",
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Type: text/event-stream\r\n"
            + "Transfer-Encoding: chunked\r\n\r\n",
        // Its end can't be told from a cut.
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n\r\n",
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 1048577\r\n\r\n",
    ]

    @Test(arguments: unshared)
    func `those who wait go alone as soon as the head shows that the response is not for them`(
        response: String
    ) async throws {
        try await withRig(.caching()) { rig in
            let (leader, upstream) = try await rig.begun(Cached.get())
            let waiters = [try await rig.asking(), try await rig.asking()]
            try await rig.settle()

            // Given a head without its body
            try await upstream.send(response)
            let head = try await leader.head()
            #expect(!head.cacheStatus.contains("stored"))

            var others: [Peer] = []
            for _ in waiters { others.append(try await rig.upstream.accept()) }
            // The next one does not wait either.
            let next = try await rig.asking()
            others.append(try await rig.upstream.accept())
            for other in others { _ = try await other.request() }
            for other in others { try await other.send(Cached.response("max-age=60", body: "alone")) }
            for caller in waiters + [next] { #expect(try await caller.answer().body == "alone") }
        }
    }

    @Test func `a response that may be stored but is for one request only holds nobody up`() async throws {
        try await withRig(.caching()) { rig in
            let (leader, upstream) = try await rig.begun(Cached.get())
            let waiter = try await rig.asking()
            try await rig.settle()
            // Given a response that each request must have confirmed, without its body
            try await upstream.send(
                "HTTP/1.1 200 OK\r\nCache-Control: no-cache\r\nETag: \"1\"\r\nContent-Length: 5\r\n\r\n"
            )
            let head = try await leader.head()
            let other = try await rig.upstream.accept()
            _ = try await other.request()
            try await other.send(Cached.second)
            #expect(try await waiter.answer().body == "second")

            try await upstream.send("first")
            _ = try await leader.body(of: head)
            #expect(await rig.storedCount == 1)
        }
    }

    @Test func `nobody waits longer than 5 seconds`() async throws {
        try await withRig(.caching()) { rig in
            let (leader, upstream) = try await rig.begun(Cached.get())
            let waiter = try await rig.asking()
            try await rig.pass(.seconds(4))
            #expect(rig.upstream.connections == 1)
            try await rig.pass(.milliseconds(500))
            let other = try await rig.upstream.accept()
            _ = try await other.request()
            try await other.send(Cached.second)
            #expect(try await waiter.answer().head.cacheStatus == "martlet; fwd=uri-miss; fwd-status=200")
            // The next ones don't wait for the slow one either.
            let late = try await rig.asking()
            _ = try await other.request()
            try await other.send(Cached.second)
            _ = try await late.answer()
            // Only the first request's response is stored.
            #expect(await rig.storedCount == 0)
            try await upstream.send(Cached.fresh)
            _ = try await leader.answer()
            #expect(try await waiter.ask().body == "first")
        }
    }

    @Test(arguments: ["Cache-Control: no-store", "If-None-Match: \"1\"", "Range: bytes=0-1"])
    func `a request whose response others can't use does not wait`(field: String) async throws {
        try await withRig(.caching()) { rig in
            let (_, upstream) = try await rig.begun(Cached.get())
            let other = try await rig.asking(Cached.get("/acme/a", field))
            let connection = try await rig.upstream.accept()
            _ = try await connection.request()
            try await connection.send(Cached.second)
            #expect(try await other.answer().body == "second")
            #expect(await rig.storedCount == 0)
            try await upstream.send(Cached.fresh)
        }
    }

    @Test func `a request that wants the upstream's word does not wait for one that came before it`() async throws {
        try await withRig(.caching()) { rig in
            let (first, upstream) = try await rig.stored(Cached.stale())
            // Given a request that asks whether the stale response is still good
            try await first.send(Cached.get())
            _ = try await upstream.request()

            let other = try await rig.asking(Cached.get("/acme/a", "Cache-Control: no-cache"))

            let connection = try await rig.upstream.accept()
            #expect(try await connection.request().head["If-None-Match"] == "\"1\"")
            try await connection.send(Cached.notModified)
            #expect(try await other.answer().body == "first")
            try await upstream.send(Cached.notModified)
            #expect(try await first.answer().body == "first")
        }
    }

    @Test func `those who wait for a confirmation get the response when it comes`() async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await rig.stored(Cached.stale())
            try await caller.send(Cached.get())
            _ = try await upstream.request()
            let waiters = [try await rig.asking(), try await rig.asking()]
            try await rig.settle()

            try await upstream.send(Cached.notModified)

            for waiter in [caller] + waiters { #expect(try await waiter.answer().body == "first") }
            #expect(rig.upstream.connections == 1)
        }
    }

    @Test func `nobody waits for a confirmation that is for one request only`() async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await rig.stored(Cached.stale("no-cache"))
            try await caller.send(Cached.get())
            _ = try await upstream.request()

            let other = try await rig.asking()

            let connection = try await rig.upstream.accept()
            #expect(try await connection.request().head["If-None-Match"] == "\"1\"")
            for upstream in [upstream, connection] { try await upstream.send(Cached.notModified) }
            for caller in [caller, other] { #expect(try await caller.answer().body == "first") }
        }
    }

    @Test func `a caller that goes away while it waits leaves no trace`() async throws {
        try await withRig(.caching()) { rig in
            let (leader, upstream) = try await rig.begun(Cached.get())
            let waiter = try await rig.asking()
            try await rig.settle()
            #expect(await rig.server.requestCount() == 2)

            try await waiter.reset()

            try await eventually("one request less") { await rig.server.requestCount() == 1 }
            try await leader.reset()
            _ = try await upstream.ending()
            // Nobody asks for it, and the next request does not wait for anybody.
            try await rig.settle()
            #expect(rig.upstream.connections == 1)
            let next = try await rig.asking()
            let other = try await rig.upstream.accept()
            _ = try await other.request()
            try await other.send(Cached.fresh)
            #expect(try await next.answer().body == "first")
            #expect(await rig.storedCount == 1)
        }
    }

    @Test func `a pipelined request behind one that waits is served after it`() async throws {
        try await withRig(.caching()) { rig in
            let (leader, upstream) = try await rig.begun(Cached.get())
            let waiter = try await rig.asking(Cached.get() + Cached.get("/acme/b"))
            try await rig.settle()
            try await upstream.send(Cached.fresh)
            _ = try await leader.answer()
            #expect(try await waiter.answer().body == "first")
            #expect(try await upstream.request().head.request == "GET /v2/b")
            try await upstream.send(Cached.second)
            #expect(try await waiter.answer().body == "second")
        }
    }

    @Test func `requests on several event loops cost one request`() async throws {
        var setup = Rig.Setup.caching()
        setup.eventLoops = 2
        try await withRig(setup) { rig in
            let (leader, upstream) = try await rig.begun(Cached.get())
            var waiters: [Peer] = []
            for _ in 0..<8 { waiters.append(try await rig.asking()) }
            try await eventually("all to be under way") { await rig.server.requestCount() == 9 }
            try await upstream.send(Cached.fresh)
            for caller in [leader] + waiters { #expect(try await caller.answer().body == "first") }
            #expect(rig.upstream.connections == 1)
        }
    }

    @Test func `requests that waited for the same token cost one request`() async throws {
        try await withRig(.caching()) { rig in
            rig.credentials.hold(nil, for: Rig.account)
            rig.server.apply(.dropped(Rig.account))
            try await rig.settle()
            var callers: [Peer] = []
            for _ in 0..<3 { callers.append(try await rig.asking()) }
            // One for all of them.
            let question = try await rig.credentials.questions.next("question")
            try await rig.settle()

            let credential = UpstreamCredential.sample(2, grant: GrantID("grant-2"))
            rig.server.apply(.installed(credential))
            question.answer(.success(credential))

            let upstream = try await rig.upstream.accept()
            _ = try await upstream.request()
            try await rig.settle()
            try await upstream.send(Cached.fresh)
            for caller in callers { #expect(try await caller.answer().body == "first") }
            #expect(rig.upstream.connections == 1)
        }
    }

    @Test func `after an error that can't be stored, the next response is stored`() async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await rig.stored(Cached.empty("500 Internal Server Error"))
            #expect(try await caller.ask(answeredBy: Cached.fresh, from: upstream).head.cacheStatus.contains("stored"))
            #expect(try await caller.ask().head.isHit)
        }
    }
}
