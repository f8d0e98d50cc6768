import NIOCore
import Proxy
import Testing
import TextCoding
import TokenModel

/// Routes whose upstreams report a dead token in ways of their own.
@Suite struct RetryOnTests {
    private static let dead = #"{"ok":false,"error":"token_expired"}"#
    private static let fine = #"{"ok":true,"user":"U1","error":"none"}"#

    private static let signs = [
        TokenRejectionSign(status: 200, body: .object(["ok": .flag(false), "error": .text("token_expired")])),
        TokenRejectionSign(status: 403),
    ]

    private static var setup: Rig.Setup { .route { $0.retryOn = Self.signs } }

    private static func json(_ body: String, _ fields: String = "") -> String {
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\(fields)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    /// A caller whose request has reached the upstream.
    private func asked(_ rig: Rig, _ request: String = "GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n") async throws -> (
        caller: Peer, upstream: Peer, head: Message
    ) {
        let caller = try await rig.caller()
        try await caller.send(request)
        let upstream = try await rig.upstream.accept()
        return (caller, upstream, try await upstream.request().head)
    }

    @Test func `a 417 whose body was inspected leaves nothing of itself in the response that follows`() async throws {
        let setup = Rig.Setup.route {
            $0.replayBodyLimit = 1_000
            $0.retryOn = [TokenRejectionSign(status: 417, body: .object(["ok": .flag(false)]))]
        }
        try await withRig(setup.frozen) { rig in
            let caller = try await rig.caller()
            let upload = String(repeating: "b", count: 5_000)
            try await caller.send("PUT /acme/ HTTP/1.1\r\nHost: a\r\n\(upload.framed(false))")
            let first = try await rig.upstream.accept()
            #expect(try await first.head()["Expect"] == "100-continue")

            try await first.send(Self.json(Self.fine).replacing("200 OK", with: "417 Expectation Failed"))
            let second = try await rig.upstream.accept()
            #expect(try await second.request().body == upload)
            try await second.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

            let answer = try await caller.answer()
            #expect(answer.head.status == 200)
            #expect(answer.body == "ok")
        }
    }

    @Test(arguments: [json(dead), "HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno"])
    func `I10_ a response that shows a rejected token causes a refresh and one replay`(answer: String) async throws {
        try await withRig(Self.setup) { rig in
            let body = "hello".framed(true)
            let (caller, upstream, _) = try await self.asked(rig, "POST /acme/ HTTP/1.1\r\nHost: a\r\n\(body)")
            try await upstream.send(answer)
            let question = try await rig.credentials.questions.next("question")
            #expect(question.refused == TokenVersion(.sample(1)))
            rig.install(.sample(2))
            question.answer(.success(.sample(2)))
            let replay = try await upstream.request()
            #expect(replay.head["Authorization"] == "Bearer token-2")
            #expect(replay.body == "hello")
            try await upstream.send(Self.json(Self.fine))
            #expect(try await caller.answer().body == Self.fine)
            #expect(rig.upstream.connections == 1)
            // The upstream rejected the first token and accepted the second.
            #expect(try await rig.credentials.accepted.next("accepted token") == TokenVersion(.sample(2)))
        }
    }

    @Test(arguments: [json(dead), "HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno"])
    func `I11_ a second rejection is passed on with a mark`(answer: String) async throws {
        try await withRig(Self.setup) { rig in
            let (caller, upstream, _) = try await self.asked(rig)
            try await upstream.send(answer)
            let question = try await rig.credentials.questions.next("question")
            rig.install(.sample(2))
            question.answer(.success(.sample(2)))
            _ = try await upstream.head()
            try await upstream.send(answer)
            let passed = try await caller.answer()
            #expect(passed.head["Martlet-Replayed"] == "1")
            #expect(answer.hasSuffix(passed.body))
            #expect(rig.credentials.questions.total == 1)
            // Both connections stay open.
            try await caller.send("GET /acme/next HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await upstream.head().request == "GET /v2/next")
        }
    }

    @Test func `a rejection is passed on whole if there is no newer token`() async throws {
        try await withRig(Self.setup) { rig in
            let (caller, upstream, _) = try await self.asked(rig)
            try await upstream.send(Self.json(Self.dead, "X-Own: 1\r\n"))
            try await rig.credentials.questions.next("question").answer(.success(.sample(1)))
            let answer = try await caller.answer()
            #expect(answer.head.status == 200)
            #expect(answer.head["X-Own"] == "1")
            #expect(answer.body == Self.dead)
            try await caller.send("GET /acme/next HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await upstream.head().request == "GET /v2/next")
        }
    }

    @Test func `a failed refresh is reported by its own error`() async throws {
        try await withRig(Self.setup) { rig in
            let (caller, upstream, _) = try await self.asked(rig)
            try await upstream.send(Self.json(Self.dead))
            let error = CredentialError(.reauthorizationRequired, "sign in again")
            try await rig.credentials.questions.next("question").answer(.failure(error))
            #expect(try await caller.answer().body.contains("reauthorization_required"))
        }
    }

    @Test func `if the body can't be replayed, the rejection is passed on, and the next request gets a fresh token`()
        async throws
    {
        try await withRig(
            .route { plan in
                plan.retryOn = Self.signs
                plan.replayBodyLimit = 4
            }
        ) { rig in
            let caller = try await rig.caller()
            try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\n\("hello".framed(false))")
            let upstream = try await rig.upstream.accept()
            #expect(try await upstream.request().body == "hello")
            try await upstream.send(Self.json(Self.dead))
            #expect(try await caller.answer().body == Self.dead)
            #expect(try await rig.credentials.questions.next("question").refused == TokenVersion(.sample(1)))
        }
    }

    @Test(arguments: [
        json(fine), json("not JSON"), json(#"{"ok":false,"error":"rate_limited"}"#),
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n24\r\n\(dead)\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 36\r\n\r\n\(dead)",
        json(dead, "Content-Encoding: gzip\r\n"),
        "HTTP/1.1 400 No\r\nContent-Type: application/json\r\nContent-Length: 36\r\n\r\n\(dead)",
        json(dead + String(repeating: " ", count: 65501)),
        json(fine + String(repeating: " ", count: 65498)),
    ])
    func `every other response is passed on byte for byte, and both connections stay open`(answer: String) async throws
    {
        try await withRig(Self.setup) { rig in
            let (caller, upstream, _) = try await self.asked(rig)
            try await upstream.send(answer)
            let passed = try await caller.answer()
            #expect(answer.contains(passed.body) && passed.body.hasPrefix(answer.contains("not JSON") ? "not" : "{"))
            try await caller.send("GET /acme/next HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await upstream.head().request == "GET /v2/next")
            #expect(rig.credentials.questions.total == 0)
        }
    }

    @Test func `a response whose body is too large to inspect is not held`() async throws {
        try await withRig(Self.setup) { rig in
            let (caller, upstream, _) = try await self.asked(rig)
            try await upstream.send(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 65537\r\n\r\n{"
            )
            #expect(try await caller.head().status == 200)
            #expect(String(buffer: try await caller.bytes(1)) == "{")
        }
    }

    @Test func `a route that inspects bodies asks for them uncompressed, whatever the caller accepts`() async throws {
        try await withRig(Self.setup) { rig in
            let (_, _, head) = try await self.asked(
                rig,
                "GET /acme/ HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\nACCEPT-ENCODING: br\r\n\r\n"
            )
            #expect(head.all("Accept-Encoding") == ["identity"])
        }
    }

    @Test func `other routes forward the caller's Accept-Encoding`() async throws {
        try await withRig { rig in
            let (_, _, head) = try await self.asked(
                rig,
                "GET /acme/ HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n"
            )
            #expect(head.all("Accept-Encoding") == ["gzip"])
        }
    }

    @Test(arguments: [true, false])
    func `a response that is cut off during the inspection becomes a 502`(resets: Bool) async throws {
        try await withRig(Self.setup) { rig in
            let (caller, upstream, _) = try await self.asked(rig)
            try await upstream.send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 36\r\n\r\n{")
            try await rig.settle()
            if resets { try await upstream.reset() } else { upstream.close() }
            let answer = try await caller.answer()
            #expect(answer.head.status == 502)
            #expect(answer.body.contains("upstream_reset"))
            #expect(rig.upstream.connections == 1)
        }
    }

    @Test func `a response that never ends during the inspection becomes a 504`() async throws {
        let setup = Rig.Setup.route { plan in
            plan.retryOn = Self.signs
            plan.timeouts.idle = .seconds(3)
        }
        try await withRig(setup.frozen) { rig in
            let (caller, upstream, _) = try await self.asked(rig)
            try await upstream.send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 36\r\n\r\n{")
            try await rig.pass(.seconds(4))
            #expect(try await caller.answer().head.status == 504)
            _ = try await upstream.ending()
        }
    }

    @Test func `an upload goes on while the response is inspected, and is replayed whole`() async throws {
        try await withRig(Self.setup) { rig in
            let caller = try await rig.caller()
            try await caller.send("PUT /acme/ HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello")
            let first = try await rig.upstream.accept()
            _ = try await first.head()
            _ = try await first.bytes(5)
            try await first.send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 36\r\n\r\n{")
            try await rig.settle()
            try await caller.send("wor")
            #expect(String(buffer: try await first.bytes(3)) == "wor")
            try await first.send(String(Self.dead.dropFirst()))
            let question = try await rig.credentials.questions.next("question")
            rig.install(.sample(2))
            question.answer(.success(.sample(2)))
            let second = try await rig.upstream.accept()
            _ = try await second.head()
            try await caller.send("ld")
            #expect(String(buffer: try await second.bytes(10)) == "helloworld")
            #expect(try await first.rest().bytes.readableBytes == 0)
        }
    }
}
