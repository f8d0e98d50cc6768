import NIOCore
import Proxy
import Testing
import TokenModel

/// Uploads to an upstream that speaks HTTP/1.0, which knows no chunks (RFC 9112 §6.1).
@Suite struct OldUpstreamTests {
    /// Runs `test` with a caller and a gateway whose upstream has just responded in HTTP/1.0.
    private func withOldUpstream(
        limit: Int = 64 << 10,
        _ test: (Rig, Peer) async throws -> Void
    ) async throws {
        try await withRig(Rig.Setup.route { $0.replayBodyLimit = limit }) { rig in
            let (caller, upstream) = try await rig.begun()
            try await upstream.send("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n")
            #expect(try await caller.answer().head.status == 200)
            _ = try await upstream.rest()
            try await test(rig, caller)
        }
    }

    @Test(arguments: [0, 1, 7_001, 20_000])
    func `a chunked body within the replay limit is sent with its length`(count: Int) async throws {
        try await self.withOldUpstream(limit: 20_000) { rig, caller in
            let body = String(repeating: "b", count: count)
            try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\n\(body.framed(true))")
            let upstream = try await rig.upstream.accept()
            let (head, arrived) = try await upstream.request()
            #expect(head["Content-Length"] == "\(count)")
            #expect(head.all("Transfer-Encoding").isEmpty)
            #expect(arrived == body)
            try await upstream.send("HTTP/1.0 200 OK\r\n\r\nfine")
            try await upstream.finish()
            #expect(try await caller.answer().body == "fine")
        }
    }

    @Test(arguments: [0, 1_000])
    func `a longer chunked body gets 411, and nothing of it goes upstream`(limit: Int) async throws {
        try await self.withOldUpstream(limit: limit) { rig, caller in
            let body = String(repeating: "b", count: limit + 1)
            try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\n\(body.framed(true))")
            let answer = try await caller.answer()
            #expect(answer.head.status == 411)
            #expect(answer.body.contains("urn:martlet:error:length_required"))
            #expect(answer.head["Connection"] == "close")
            #expect(rig.upstream.connections == 1)
        }
    }

    @Test func `a caller that waits for 100 gets it before the body is collected`() async throws {
        try await self.withOldUpstream { rig, caller in
            try await caller.send(
                "POST /acme/ HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            #expect(try await caller.head().status == 100)
            #expect(rig.upstream.connections == 1)
            try await caller.send("5\r\nhello\r\n0\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            let (head, body) = try await upstream.request()
            #expect(head["Content-Length"] == "5" && body == "hello")
            try await upstream.send("HTTP/1.0 204 No Content\r\n\r\n")
            #expect(try await caller.head().status == 204)
        }
    }

    @Test func `a collected body waits for a credential, and is replayed after a dead token`() async throws {
        try await self.withOldUpstream { rig, caller in
            rig.server.apply(.dropped(Rig.account))
            rig.credentials.hold(nil, for: Rig.account)
            try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\n\("hello".framed(true))")
            let asked = try await rig.credentials.questions.next("question")
            // Not later: a request that is told of a credential and does not find it asks once more.
            rig.install(.sample(1))
            asked.answer(.success(.sample(1)))
            let first = try await rig.upstream.accept()
            #expect(try await first.request().body == "hello")
            try await first.send("HTTP/1.0 401 No\r\nContent-Length: 0\r\n\r\n")
            let question = try await rig.credentials.questions.next("question after 401")
            rig.install(.sample(2))
            question.answer(.success(.sample(2)))
            let second = try await rig.upstream.accept()
            let (head, body) = try await second.request()
            #expect(head["Authorization"] == "Bearer token-2")
            #expect(head["Content-Length"] == "5" && body == "hello")
            try await second.send("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n")
            #expect(try await caller.answer().head.status == 200)
        }
    }

    @Test func `a malformed chunk gets 400 while the body is collected`() async throws {
        try await self.withOldUpstream { rig, caller in
            try await caller.send(
                "POST /acme/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nx\r\n"
            )
            #expect(try await caller.answer().head.status == 400)
            #expect(rig.upstream.connections == 1)
        }
    }

    @Test func `after an HTTP_1_1 response chunked bodies pass again`() async throws {
        try await self.withOldUpstream { rig, caller in
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            try await upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            #expect(try await caller.answer().head.status == 200)
            try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\n\("hello".framed(true))")
            #expect(try await upstream.head()["Transfer-Encoding"] == "chunked")
        }
    }
}
