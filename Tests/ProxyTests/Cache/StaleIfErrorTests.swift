import HTTPCaching
import NIOCore
import Proxy
import Testing
import TokenModel

/// A stale response that stands in for an error, or for an upstream that does not answer (RFC 5861 §4).
@Suite struct StaleIfErrorTests {
    private static let stale = Cached.stale("stale-if-error=1000")

    private static func expectStale(_ answer: (head: Message, body: String), status: Int?) {
        #expect(answer.head.status == 200)
        #expect(answer.body == "first")
        let forwarded = status.map { "; fwd-status=\($0)" } ?? ""
        #expect(answer.head.cacheStatus.hasPrefix("martlet; fwd=stale\(forwarded); ttl=-"))
        #expect(answer.head.cacheStatus.hasSuffix("; detail=stale-if-error"))
    }

    @Test(arguments: [500, 502, 503, 504])
    func `it stands in for an error`(status: Int) async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await rig.stored(Self.stale)
            let error = Cached.response("no-store", status: "\(status) Error", body: "error")

            let (head, body, sent) = try await caller.ask(answeredBy: error, from: upstream)

            #expect(sent["If-None-Match"] == "\"1\"")
            Self.expectStale((head, body), status: status)
            // The body of the error was not read, so its connection is not used any more. The next request asks again,
            // and what comes is stored.
            try await caller.send(Cached.get())
            let other = try await rig.upstream.accept()
            _ = try await other.request()
            try await other.send(Cached.second)
            #expect(try await caller.answer().body == "second")
            #expect(try await caller.ask().body == "second")
        }
    }

    @Test(arguments: [true, false])
    func `what was purged or invalidated meanwhile stands in for nothing`(isPurged: Bool) async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await rig.stored(Self.stale)
            try await caller.send(Cached.get())
            _ = try await upstream.request()
            if isPurged {
                #expect(await rig.server.purgeCaches(route: nil, account: nil, path: nil).entries == 1)
            } else {
                let other = try await rig.asking(Cached.request("DELETE", "/acme/a"))
                let connection = try await rig.upstream.accept()
                _ = try await connection.request()
                try await connection.send(Cached.empty("200 OK"))
                _ = try await other.answer()
            }

            try await upstream.send(Cached.empty("503 Service Unavailable"))

            #expect(try await caller.answer().head.status == 503)
        }
    }

    @Test func `those who wait for a response ask for themselves if it is an error`() async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await rig.stored(Self.stale)
            try await caller.send(Cached.get())
            _ = try await upstream.request()
            let waiters = [try await rig.asking(), try await rig.asking()]
            try await rig.settle()

            try await upstream.send(Cached.empty("503 Service Unavailable"))

            Self.expectStale(try await caller.answer(), status: 503)
            // Both at once
            var others: [Peer] = []
            for _ in waiters { others.append(try await rig.upstream.accept()) }
            for other in others {
                _ = try await other.request()
                try await other.send(Cached.empty("503 Service Unavailable"))
            }
            for waiter in waiters { Self.expectStale(try await waiter.answer(), status: 503) }
        }
    }

    @Test(arguments: [404, 501, 429])
    func `other statuses are the caller's`(status: Int) async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await rig.stored(Self.stale)
            let response = Cached.response("no-store", status: "\(status) Other", body: "other")
            let (head, body, _) = try await caller.ask(answeredBy: response, from: upstream)
            #expect(head.status == status)
            #expect(body == "other")
        }
    }

    @Test func `it stands in for an upstream that refuses connections`() async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await rig.stored(Self.stale)
            try await rig.upstream.stop()
            upstream.close()
            try await rig.settle()
            Self.expectStale(try await caller.ask(), status: nil)
            // Nothing but the listed path has a stored response.
            #expect(try await caller.ask(Cached.get("/acme/b")).head.status == 502)
        }
    }

    @Test func `it stands in for an upstream that goes away before the head`() async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await rig.stored(Self.stale)
            try await caller.send(Cached.get())
            _ = try await upstream.request()
            upstream.close()
            // A used connection may have been stale: the request is sent once more.
            let other = try await rig.upstream.accept()
            _ = try await other.request()
            other.close()
            Self.expectStale(try await caller.answer(), status: nil)
        }
    }

    @Test func `it stands in for a head that breaks HTTP`() async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await rig.stored(Self.stale)
            try await caller.send(Cached.get())
            _ = try await upstream.request()
            try await upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n")
            Self.expectStale(try await caller.answer(), status: nil)
        }
    }

    @Test func `it stands in for a response that does not come in time`() async throws {
        try await withRig(.caching { $0.timeouts.response = .seconds(3) }) { rig in
            let (caller, upstream) = try await rig.stored(Self.stale)
            try await caller.send(Cached.get())
            _ = try await upstream.request()
            try await rig.pass(.seconds(4))
            Self.expectStale(try await caller.answer(), status: nil)
        }
    }

    @Test func `it stands in for a provider that gives no token`() async throws {
        try await withRig(.caching()) { rig in
            let (caller, _) = try await rig.stored(Self.stale)
            rig.credentials.hold(nil, for: Rig.account)
            rig.server.apply(.lapsed(Rig.account))
            try await rig.settle()
            try await caller.send(Cached.get())
            try await rig.credentials.questions.next("question")
                .answer(.failure(CredentialError(.refreshFailed, "the provider is away")))
            Self.expectStale(try await caller.answer(), status: nil)
        }
    }

    @Test func `I3_ it does not stand in for a token that was killed`() async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await rig.stored(Self.stale)
            try await caller.send(Cached.get())
            _ = try await upstream.request()
            _ = await rig.server.fence(.kill())
            let (head, body) = try await caller.answer()
            #expect(head.status == 503)
            #expect(body.contains("urn:martlet:error:killed"))
        }
    }

    @Test(arguments: [
        ("must-revalidate", 1_000, ""), ("no-cache", 1_000, ""), ("private", 0, ""), ("private", 30, ""),
        ("stale-if-error=10", 1_000, ""), ("private", 1_000, "Cache-Control: stale-if-error=10"),
        ("private", 1_000, "Cache-Control: no-cache"), ("private", 1_000, "Cache-Control: max-age=50"),
        ("private", 1_000, "Cache-Control: max-stale=10"),
    ])
    func `what may not be so stale does not stand in`(
        directive: String,
        routeLimit: Int,
        field: String
    ) async throws {
        let cache = CacheConfiguration(rules: CacheRules(staleIfError: routeLimit))
        try await withRig(.caching(cache)) { rig in
            let (caller, upstream) = try await rig.stored(Cached.stale(directive))
            let request = field.isEmpty ? Cached.get() : Cached.get("/acme/a", field)
            let error = Cached.empty("503 Service Unavailable")
            let (head, _, sent) = try await caller.ask(request, answeredBy: error, from: upstream)
            #expect(sent["If-None-Match"] == "\"1\"")
            #expect(head.status == 503)
        }
    }

    @Test func `the route says how stale a response may be that says nothing itself`() async throws {
        let cache = CacheConfiguration(rules: CacheRules(staleIfError: 1_000))
        try await withRig(.caching(cache)) { rig in
            let (caller, upstream) = try await rig.stored(Cached.stale())
            let error = Cached.empty("503 Service Unavailable")
            let (head, body, _) = try await caller.ask(answeredBy: error, from: upstream)
            Self.expectStale((head, body), status: 503)
        }
    }
}
