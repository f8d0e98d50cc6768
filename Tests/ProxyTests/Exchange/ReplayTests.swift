import NIOCore
import Proxy
import Testing
import TokenModel

@Suite struct ReplayTests {
    private static let dead =
        "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer error=\"invalid_token\"\r\nContent-Length: 4\r\n\r\ndead"
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    /// Sends a request that the upstream refuses with `answer`. The gateway then asks for another credential.
    private func refused(
        _ rig: Rig,
        _ request: String,
        _ answer: String = dead
    ) async throws -> (caller: Peer, upstream: Peer, question: ScriptedCredentials.Question) {
        let caller = try await rig.caller()
        try await caller.send(request)
        let upstream = try await rig.upstream.accept()
        _ = try await upstream.request()
        try await upstream.send(answer)
        let question = try await rig.credentials.questions.next("question")
        #expect(question.refused == TokenVersion(.sample(1)))
        return (caller, upstream, question)
    }

    private func answer(_ question: ScriptedCredentials.Question, _ rig: Rig, _ credential: UpstreamCredential) {
        rig.install(credential)
        question.answer(.success(credential))
    }

    @Test func `a HEAD that its upstream may take for a GET is replayed on another connection`() async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send("HEAD /acme/ HTTP/1.1\r\nHost: a\r\nX-HTTP-Method-Override: GET\r\n\r\n")
            let first = try await rig.upstream.accept()
            _ = try await first.head()
            try await first.send("HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\n")
            let question = try await rig.credentials.questions.next("question")
            rig.install(.sample(2))
            question.answer(.success(.sample(2)))

            let second = try await rig.upstream.accept()
            #expect(try await second.head()["Authorization"] == "Bearer token-2")
            #expect(try await first.ending() == .clean)
        }
    }

    @Test func `an unfinished chunked upload is not sent again to an HTTP/1.0 upstream`() async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            try await caller.send("5\r\nhello\r\n")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()

            try await upstream.send("HTTP/1.0 401 No\r\nContent-Length: 2\r\n\r\nno")

            #expect(try await caller.answer().head.status == 401)
            #expect(rig.upstream.connections == 1)
        }
    }

    @Test(arguments: [0, 5, 65_536], [false, true])
    func `I10_ a dead token is replaced and the complete request sent once more, without the caller noticing`(
        count: Int,
        isChunked: Bool
    ) async throws {
        try await withRig { rig in
            let body = String(repeating: "b", count: count)
            let request = "POST /acme/x?y HTTP/1.1\r\nHost: a\r\nX-Own: 1\r\n\(body.framed(isChunked))"
            let (caller, upstream, question) = try await self.refused(rig, request)

            self.answer(question, rig, .sample(2))

            let replay = try await upstream.request()
            #expect(replay.head.request == "POST /v2/x?y")
            #expect(replay.head["Authorization"] == "Bearer token-2")
            #expect(replay.head["X-Own"] == "1")
            #expect(replay.body == body)
            try await upstream.send(Self.ok)
            let answer = try await caller.answer()
            #expect(answer.head.status == 200)
            #expect(answer.head.all("Martlet-Replayed").isEmpty)
            #expect(answer.body == "ok")
            #expect(rig.credentials.questions.total == 1)
            #expect(rig.upstream.connections == 1)
        }
    }

    @Test func `I11_ a second 401 is passed on with a mark, and no further token is asked for`() async throws {
        try await withRig { rig in
            let (caller, upstream, question) = try await self.refused(rig, "GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            self.answer(question, rig, .sample(2))
            _ = try await upstream.request()
            try await upstream.send(Self.dead)
            let answer = try await caller.answer()
            #expect(answer.head.status == 401)
            #expect(answer.head["Martlet-Replayed"] == "1")
            #expect(answer.head["WWW-Authenticate"] == "Bearer error=\"invalid_token\"")
            #expect(answer.body == "dead")
            #expect(rig.credentials.questions.total == 1)
            #expect(rig.credentials.refusedAgain.takeAll() == [TokenVersion(.sample(2))])
        }
    }

    @Test(arguments: [false, true])
    func `I10_ the 401 to a body above the limit is passed on, and the next request gets a fresh token`(
        isChunked: Bool
    ) async throws {
        try await withRig { rig in
            let body = String(repeating: "b", count: 65_537)
            let request = "POST /acme/ HTTP/1.1\r\nHost: a\r\n\(body.framed(isChunked))"
            let (caller, upstream, question) = try await self.refused(rig, request)
            let answer = try await caller.answer()
            #expect(answer.head.status == 401)
            #expect(answer.head.all("Martlet-Replayed").isEmpty)
            #expect(answer.body == "dead")

            // During the refresh, requests leave with the old token. A request that is refused too joins the refresh.
            try await caller.send("GET /acme/2 HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await upstream.head()["Authorization"] == "Bearer token-1")
            try await upstream.send(Self.dead)
            self.answer(question, rig, .sample(2))
            let replay = try await upstream.head()
            #expect(replay.request == "GET /v2/2")
            #expect(replay["Authorization"] == "Bearer token-2")
            #expect(rig.credentials.questions.total == 1)
        }
    }

    @Test(arguments: [
        dead,
        "HTTP/1.1 401 No\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ndead\r\n0\r\n\r\n",
        "HTTP/1.1 401 No\r\nConnection: close\r\nContent-Length: 4\r\n\r\ndead",
        "HTTP/1.1 401 No\r\n\r\ndead",
    ])
    func `the held 401 is passed on whole if there is no newer credential`(held: String) async throws {
        try await withRig { rig in
            let (caller, upstream, question) = try await self.refused(
                rig,
                "GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n",
                held
            )
            if !held.contains("Content-Length") || held.contains("close") { upstream.close() }
            question.answer(.success(.sample(1)))
            let answer = try await caller.answer()
            #expect(answer.head.status == 401)
            #expect(answer.head.all("Martlet-Replayed").isEmpty)
            #expect(answer.body == "dead")
            #expect(rig.upstream.connections == 1)
        }
    }

    @Test func `a held 401 outlives its connection`() async throws {
        try await withRig { rig in
            let (caller, upstream, question) = try await self.refused(
                rig,
                "GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n",
                "HTTP/1.1 401 No\r\nConnection: close\r\nContent-Length: 4\r\n\r\ndead"
            )
            try await upstream.finish()
            // The gateway closes its side once it has seen the end of the connection.
            #expect(try await upstream.ending() == .clean)
            question.answer(.success(.sample(1)))
            let answer = try await caller.answer()
            #expect(answer.head.status == 401)
            #expect(answer.body == "dead")
        }
    }

    @Test func `a held 401 that can't be completed any more becomes a 502`() async throws {
        try await withRig { rig in
            let (caller, upstream, question) = try await self.refused(
                rig,
                "GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n",
                "HTTP/1.1 401 No\r\nContent-Length: 4\r\n\r\nde"
            )
            try await upstream.finish()
            #expect(try await upstream.ending() == .clean)
            question.answer(.success(.sample(1)))
            let answer = try await caller.answer()
            #expect(answer.head.status == 502)
            #expect(answer.body.contains("upstream_reset"))
        }
    }

    @Test func `a held 401 whose rest comes late is passed on as it comes`() async throws {
        try await withRig { rig in
            let (caller, upstream, question) = try await self.refused(
                rig,
                "GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n",
                "HTTP/1.1 401 No\r\nContent-Length: 4\r\n\r\nde"
            )
            question.answer(.success(.sample(1)))
            #expect(try await caller.head().status == 401)
            try await upstream.send("ad")
            #expect(String(buffer: try await caller.bytes(4)) == "dead")
        }
    }

    @Test func `a failed refresh is reported by its own error, not by the 401`() async throws {
        try await withRig { rig in
            let (caller, _, question) = try await self.refused(rig, "GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            question.answer(.failure(CredentialError(.reauthorizationRequired, "told to operators")))
            let answer = try await caller.answer()
            #expect(answer.head.status == 503)
            #expect(answer.body.contains("reauthorization_required"))
            #expect(!answer.body.contains("told to operators"))
        }
    }

    @Test func `a 401 to an older token is replayed with the newer token at hand, without asking`() async throws {
        try await withRig { rig in
            let slow = try await rig.caller()
            try await slow.send("GET /acme/slow HTTP/1.1\r\nHost: a\r\n\r\n")
            let slowUpstream = try await rig.upstream.accept()
            _ = try await slowUpstream.head()
            let other = try await rig.caller()
            try await other.send("GET /acme/other HTTP/1.1\r\nHost: a\r\n\r\n")
            let otherUpstream = try await rig.upstream.accept()
            _ = try await otherUpstream.head()
            try await otherUpstream.send(Self.ok)
            _ = try await other.answer()
            try await rig.installAndSee(.sample(2), through: otherUpstream, other)

            try await slowUpstream.send(Self.dead)

            // The gateway takes the connection that was free last, which is the connection of the 401 itself.
            #expect(try await slowUpstream.head()["Authorization"] == "Bearer token-2")
            try await slowUpstream.send(Self.ok)
            #expect(try await slow.answer().head.status == 200)
            #expect(rig.credentials.asked == 0)
        }
    }

    @Test func `a 401 during an upload is replayed on a fresh connection`() async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send("PUT /acme/ HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello")
            let first = try await rig.upstream.accept()
            _ = try await first.head()
            #expect(String(buffer: try await first.bytes(5)) == "hello")
            try await first.send(Self.dead)
            let question = try await rig.credentials.questions.next("question")
            self.answer(question, rig, .sample(2))

            // The first connection still waits for five bytes, and would take anything sent on it for these bytes.
            #expect(try await first.ending() == .clean)
            let second = try await rig.upstream.accept()
            let head = try await second.head()
            #expect(head["Authorization"] == "Bearer token-2")
            #expect(String(buffer: try await second.bytes(5)) == "hello")
            try await caller.send("world")
            #expect(String(buffer: try await second.bytes(5)) == "world")
            try await second.send(Self.ok)
            #expect(try await caller.answer().head.status == 200)
        }
    }

    @Test func `a newer credential that has already expired is not used after a 401`() async throws {
        try await withRig { rig in
            let (caller, upstream, question) = try await self.refused(rig, "GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            let ended = UpstreamCredential.sample(2, usableFor: .zero)
            rig.credentials.hold(nil, for: Rig.account)
            rig.server.apply(.installed(ended))
            question.answer(.success(ended))
            let second = try await rig.credentials.questions.next("second question")
            #expect(second.refused == TokenVersion(.sample(1)))
            self.answer(second, rig, .sample(3))
            #expect(try await upstream.head()["Authorization"] == "Bearer token-3")
            try await upstream.send(Self.ok)
            #expect(try await caller.answer().head.status == 200)
        }
    }

    @Test func `an upload that waited while its 401 was held goes on when the 401 is passed on`() async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send("PUT /acme/ HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            _ = try await upstream.bytes(5)
            try await upstream.send("HTTP/1.1 401 No\r\nContent-Length: 10\r\n\r\nHELLO")
            let question = try await rig.credentials.questions.next("question")
            try await caller.send("world")
            question.answer(.success(.sample(1)))
            #expect(try await caller.head().status == 401)
            try await upstream.send("WORLD")
            #expect(String(buffer: try await caller.bytes(10)) == "HELLOWORLD")
            #expect(String(buffer: try await upstream.bytes(5)) == "world")
            // Both connections serve the next request.
            try await caller.send("GET /acme/next HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await upstream.head().request == "GET /v2/next")
        }
    }

    @Test func `I10_ once an interim response has been passed on, the request is not sent again`() async throws {
        try await withRig { rig in
            let (caller, upstream) = try await rig.begun()
            try await upstream.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
            #expect(try await caller.head().status == 103)
            try await upstream.send(Self.dead)
            #expect(try await caller.answer().head.status == 401)
            // The gateway refreshes the token all the same, for the next request.
            #expect(try await rig.credentials.questions.next("question").refused == TokenVersion(.sample(1)))
        }
    }

    @Test(arguments: [
        "HTTP/1.1 401 No\r\nWWW-Authenticate: Bearer error=\"insufficient_user_authentication\"\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n",
    ])
    func `a response that no fresh token can change is passed on without asking for a token`(answer: String)
        async throws
    {
        try await withRig { rig in
            let caller = try await rig.caller()
            for _ in 1...2 {
                try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
                let upstream = try await rig.upstream.accept()
                _ = try await upstream.head()
                try await upstream.send(answer.replacingClose())
                #expect(try await caller.answer().head.status / 100 == 4)
            }
            #expect(rig.credentials.questions.total == 0)
        }
    }
}

extension String {
    /// The response with `Connection: close`.
    fileprivate func replacingClose() -> String {
        self.replacing("Content-Length", with: "Connection: close\r\nContent-Length")
    }
}
