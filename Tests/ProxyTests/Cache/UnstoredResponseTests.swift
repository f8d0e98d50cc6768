import HTTPCaching
import NIOCore
import Proxy
import Testing
import TokenModel

/// Responses that end badly, or are not what was asked for. They reach the caller as on other routes, and stay out of
/// memory.
@Suite struct UnstoredResponseTests {
    private static let start = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nETag: \"1\"\r\n"

    /// Expects that nothing is stored: the next request goes upstream, on a connection of its own, without validators.
    private static func expectNothing(_ rig: Rig) async throws {
        #expect(await rig.storedCount == 0)
        let caller = try await rig.asking()
        let upstream = try await rig.upstream.accept()
        #expect(try await upstream.request().head["If-None-Match"] == nil)
        try await upstream.send(Cached.second)
        #expect(try await caller.answer().body == "second")
    }

    @Test(arguments: ["Content-Length: 5\r\n\r\nfir", "Transfer-Encoding: chunked\r\n\r\n3\r\nfir\r\n"])
    func `a response that is cut is not stored`(rest: String) async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await rig.begun(Cached.get())
            try await upstream.send(Self.start + rest)
            let head = try await caller.head()
            upstream.close()
            await #expect(throws: WrongBytes.self) { try await caller.body(of: head) }
            try await Self.expectNothing(rig)
        }
    }

    @Test func `those who wait for a response that is cut ask one after the other`() async throws {
        try await withRig(.caching()) { rig in
            let (leader, upstream) = try await rig.begun(Cached.get())
            let waiter = try await rig.asking()
            try await rig.settle()
            try await upstream.send(Self.start + "Content-Length: 5\r\n\r\nfir")
            let head = try await leader.head()
            upstream.close()
            await #expect(throws: WrongBytes.self) { try await leader.body(of: head) }
            let other = try await rig.upstream.accept()
            _ = try await other.request()
            try await other.send(Cached.fresh)
            #expect(try await waiter.answer().body == "first")
            #expect(await rig.storedCount == 1)
        }
    }

    @Test func `a response whose caller goes away is not stored`() async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await rig.begun(Cached.get())
            try await upstream.send(Self.start + "Content-Length: 5\r\n\r\nfir")
            _ = try await caller.head()
            try await caller.reset()
            _ = try await upstream.ending()
            try await Self.expectNothing(rig)
        }
    }

    @Test(arguments: [true, false])
    func `a body above max_object reaches the caller, and is not stored`(isChunked: Bool) async throws {
        let cache = CacheConfiguration(rules: CacheRules(maxObject: 1_000_000))
        try await withRig(.caching(cache)) { rig in
            let response = Self.start + "Connection: close\r\n" + LargeBody.text.framed(isChunked)
            let caller = try await rig.asking()
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.request()
            // The caller must read, or the upstream can't send it all.
            async let sent: Void = upstream.send(response)
            #expect(try await caller.answer().body == LargeBody.text)
            try await sent
            #expect(await rig.server.cacheStatus().map(\.bytes) == [0])
            try await Self.expectNothing(rig)
        }
    }

    @Test func `a body of exactly max_object is stored`() async throws {
        let cache = CacheConfiguration(rules: CacheRules(maxObject: 5))
        try await withRig(.caching(cache)) { rig in
            let (caller, _) = try await rig.stored()
            #expect(try await caller.ask().head.isHit)
        }
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        "no HTTP\r\n\r\n", "HTTP/1.1 200 OK\r\nCache-Control : max-age=60\r\nContent-Length: 5\r\n\r\nfirst",
    ])
    func `a head that breaks HTTP is a 502, and those who wait ask for themselves`(response: String) async throws {
        try await withRig(.caching()) { rig in
            let (leader, upstream) = try await rig.begun(Cached.get())
            let waiter = try await rig.asking()
            try await rig.settle()
            try await upstream.send(response)
            let (head, body) = try await leader.answer()
            #expect(head.status == 502)
            #expect(head.cacheStatus == "martlet; fwd=uri-miss")
            #expect(body.contains("urn:martlet:error:"))
            let other = try await rig.upstream.accept()
            _ = try await other.request()
            try await other.send(Cached.response("no-store", "Connection: close", body: "alone"))
            #expect(try await waiter.answer().body == "alone")
            try await Self.expectNothing(rig)
        }
    }

    @Test func `a 304 that means another response than the stored one confirms nothing`() async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await rig.stored(Cached.stale())

            let (head, body, _) = try await caller.ask(
                answeredBy: "HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=60\r\nETag: \"2\"\r\n"
                    + "Connection: close\r\n\r\n",
                from: upstream
            )

            // The caller asked for the whole, and gets what there is.
            #expect(head.status == 200)
            #expect(body == "first")
            #expect(!head.cacheStatus.contains("stored"))
            try await Self.expectNothing(rig)
        }
    }

    @Test func `a 304 that forbids to store removes what was stored`() async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await rig.stored(Cached.stale())
            let answer = "HTTP/1.1 304 Not Modified\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n"
            #expect(try await caller.ask(answeredBy: answer, from: upstream).body == "first")
            try await Self.expectNothing(rig)
        }
    }

    @Test func `a 304 is the caller's if the caller asked for it`() async throws {
        try await withRig(.caching()) { rig in
            let caller = try await rig.asking(Cached.get("/acme/a", "If-None-Match: \"7\""))
            let upstream = try await rig.upstream.accept()
            #expect(try await upstream.request().head["If-None-Match"] == "\"7\"")
            try await upstream.send("HTTP/1.1 304 Not Modified\r\nETag: \"7\"\r\nConnection: close\r\n\r\n")
            let head = try await caller.head()
            #expect(head.status == 304)
            #expect(head.cacheStatus == "martlet; fwd=uri-miss; fwd-status=304")
            try await Self.expectNothing(rig)
        }
    }

    @Test func `a 401 is answered with another token as on other routes, and what comes then is stored`() async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await rig.begun(Cached.get())
            rig.credentials.hold(.sample(2), for: Rig.account)
            rig.server.apply(.installed(.sample(2)))
            try await rig.settle()
            try await upstream.send(Cached.empty("401 Unauthorized", "WWW-Authenticate: Bearer"))
            #expect(try await upstream.request().head["Authorization"] == "Bearer token-2")
            try await upstream.send(Cached.fresh)
            #expect(try await caller.answer().body == "first")
            #expect(try await caller.ask().head.isHit)
        }
    }

    @Test(arguments: [("200 OK", false), ("503 Service Unavailable", true)])
    func `a newer response that is not stored ends the older one, an error does not`(
        status: String,
        isKept: Bool
    ) async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await rig.stored()
            let newer = Cached.response("no-store", status: status, body: "newer")
            let head = try await caller.ask(
                Cached.get("/acme/a", "Cache-Control: no-cache"),
                answeredBy: newer,
                from: upstream
            ).head
            #expect(await rig.storedCount == (isKept ? 1 : 0))
            #expect(head.cacheStatus.hasSuffix("; detail=no-store"))
        }
    }

    // MARK: - Another authorization than the one that fetched what is stored

    @Test(
        arguments: [
            .sample(2, grant: GrantID("grant-2")), .sample(2, scopes: ["more"]), .sample(2, isGrantRefused: true),
            .sample(2, observedEpoch: Epoch(1)),
        ] as [UpstreamCredential]
    )
    func `I3_ a request that waited for a token is not answered by what another authorization has fetched`(
        credential: UpstreamCredential
    ) async throws {
        try await withRig(.caching()) { rig in
            let (caller, upstream) = try await rig.stored(Cached.stale())
            // Given a request that would ask about the stored response, and waits for a token
            rig.credentials.hold(nil, for: Rig.account)
            rig.server.apply(.lapsed(Rig.account))
            try await rig.settle()
            try await caller.send(Cached.get("/acme/a", "If-None-Match: \"7\""))
            let question = try await rig.credentials.questions.next("question")
            if credential.observedEpoch > .start { _ = await rig.server.fence(.kill(holds: false)) }
            rig.server.apply(.installed(credential))
            question.answer(.success(credential))

            // Then it goes as it came
            #expect(try await upstream.request().head["If-None-Match"] == "\"7\"")
            try await upstream.send("HTTP/1.1 304 Not Modified\r\nETag: \"7\"\r\n\r\n")
            #expect(try await caller.head().status == 304)
            // What comes for the next request may be stored.
            #expect(try await caller.ask(answeredBy: Cached.second, from: upstream).body == "second")
            guard !credential.isGrantRefused else { return }
            #expect(try await caller.ask().body == "second")
        }
    }
}
