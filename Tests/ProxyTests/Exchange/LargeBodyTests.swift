import NIOCore
import Proxy
import Testing
import TokenModel

/// Bodies above the replay limit. The gateway asks the upstream before it sends one (RFC 9110 §10.1.1).
@Suite struct LargeBodyTests {
    private static let dead =
        "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer error=\"invalid_token\"\r\nContent-Length: 4\r\n\r\ndead"
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    private static let go = "HTTP/1.1 100 Continue\r\n\r\n"
    private static let limit = 1_000
    private static let body = String(repeating: "b", count: 5_000)

    private static func upload(_ isChunked: Bool, _ fields: String = "") -> String {
        "PUT /acme/ HTTP/1.1\r\nHost: a\r\n\(fields)\(Self.body.framed(isChunked))"
    }

    private func withLimit(_ test: (Rig, Peer) async throws -> Void) async throws {
        try await withRig(.route { $0.replayBodyLimit = Self.limit }.frozen) { rig in
            try await test(rig, try await rig.caller())
        }
    }

    /// Answers the gateway's question for a token with the next generation.
    private func refresh(_ rig: Rig) async throws {
        let question = try await rig.credentials.questions.next("question")
        rig.install(.sample(2))
        question.answer(.success(.sample(2)))
    }

    @Test func `nothing is uploaded with a dead token, and the request is replayed whatever its size`() async throws {
        try await self.withLimit { rig, caller in
            try await caller.send(Self.upload(false))
            let first = try await rig.upstream.accept()
            #expect(try await first.head()["Expect"] == "100-continue")
            try await first.send(Self.dead)
            try await self.refresh(rig)
            let second = try await rig.upstream.accept()
            let head = try await second.head()
            #expect(head["Authorization"] == "Bearer token-2")
            #expect(head["Expect"] == "100-continue")
            try await second.send(Self.go)
            #expect(String(buffer: try await second.body(of: head)) == Self.body)
            try await second.send(Self.ok)
            // The 100 was for the gateway, and the caller does not get it.
            #expect(try await caller.answer().body == "ok")
            #expect(try await first.ending() == .clean)
        }
    }

    @Test func `F22 an upload of a gibibyte is offered, refused, offered again, and started`() async throws {
        try await withRig(Rig.Setup().frozen) { rig in
            let caller = try await rig.caller()
            try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\nContent-Length: \(1 << 30)\r\n\r\n")
            let piece = ByteBuffer(repeating: 0x61, count: 1 << 20)
            let sending = Task { for _ in 1...(1 << 10) { try await caller.send(piece) } }
            let first = try await rig.upstream.accept()
            _ = try await first.head()
            try await first.send(Self.dead)
            try await self.refresh(rig)
            let second = try await rig.upstream.accept()
            #expect(try await second.head()["Content-Length"] == "\(1 << 30)")
            try await second.send(Self.go)
            for _ in 1...32 { #expect(try await second.bytes(1 << 20) == piece) }
            #expect(try await first.ending() == .clean)
            caller.close()
            _ = await sending.result
        }
    }

    @Test func `I11_ a second 401 is passed on with a mark, and costs no upload either`() async throws {
        try await self.withLimit { rig, caller in
            try await caller.send(Self.upload(false))
            let first = try await rig.upstream.accept()
            _ = try await first.head()
            try await first.send(Self.dead)
            try await self.refresh(rig)
            let second = try await rig.upstream.accept()
            _ = try await second.head()
            try await second.send(Self.dead)
            let answer = try await caller.answer()
            #expect(answer.head.status == 401)
            #expect(answer.head["Martlet-Replayed"] == "1")
            #expect(answer.head["Connection"] == "close")
            _ = try await second.ending()
        }
    }

    @Test func `an upstream that sends 100 and its response at once still gets the body`() async throws {
        try await self.withLimit { rig, caller in
            // Given an idle connection, and a token that the upstream has not accepted yet.
            try await caller.send("GET /acme/x HTTP/1.1\r\nHost: a\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            try await upstream.send(Self.ok)
            #expect(try await caller.answer().head.status == 200)
            rig.install(.sample(2))
            try await rig.settle()

            try await caller.send(
                "POST /acme/x HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5000\r\n\r\n"
            )
            let head = try await upstream.head()
            #expect(head["Expect"] == "100-continue")
            try await caller.send(Self.body)
            for _ in 0..<20 { try await rig.settle() }
            try await upstream.send(Self.go + Self.ok)

            var answer = try await caller.head()
            if answer.status == 100 { answer = try await caller.head() }
            #expect(answer.status == 200)
            #expect(String(buffer: try await upstream.body(of: head)) == Self.body)
        }
    }

    @Test func `an upstream that does not send 100 gets the body after a wait, and is not asked again`() async throws {
        try await self.withLimit { rig, caller in
            try await caller.send(Self.upload(false))
            let upstream = try await rig.upstream.accept()
            let head = try await upstream.head()
            #expect(head["Expect"] == "100-continue")
            try await rig.pass(.milliseconds(750))
            #expect(try await !upstream.hasUnread)
            try await rig.pass(.milliseconds(250))
            #expect(String(buffer: try await upstream.body(of: head)) == Self.body)
            // The gateway ignores a late 100.
            try await upstream.send(Self.go + Self.ok)
            #expect(try await caller.answer().body == "ok")

            // A token that the upstream has not accepted yet.
            rig.install(.sample(2))
            try await rig.settle()
            try await caller.send(Self.upload(false))
            let next = try await upstream.request()
            #expect(next.head["Authorization"] == "Bearer token-2")
            #expect(next.head.all("Expect").isEmpty)
        }
    }

    @Test func `an upstream that sends 100 gets the body at once, and is asked again with the next token`() async throws
    {
        try await self.withLimit { rig, caller in
            var upstream: Peer?
            for generation: UInt64 in 1...2 {
                rig.install(.sample(generation))
                try await rig.settle()
                try await caller.send(Self.upload(false))
                if upstream == nil { upstream = try await rig.upstream.accept() }
                let peer = try #require(upstream)
                let head = try await peer.head()
                #expect(head["Expect"] == "100-continue")
                try await peer.send(Self.go)
                #expect(String(buffer: try await peer.body(of: head)) == Self.body)
                try await peer.send(Self.ok)
                #expect(try await caller.answer().body == "ok")
            }
        }
    }

    @Test func `an upstream that has just accepted the token is not asked until there is another token`() async throws {
        try await self.withLimit { rig, caller in
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            try await upstream.send(Self.ok)
            _ = try await caller.answer()
            for isChunked in [false, true] {
                try await caller.send(Self.upload(isChunked))
                let request = try await upstream.request()
                #expect(request.head.all("Expect").isEmpty)
                #expect(request.body == Self.body)
                try await upstream.send(Self.ok)
                _ = try await caller.answer()
            }
            try await rig.installAndSee(.sample(2), through: upstream, caller)
            rig.install(.sample(3))
            try await rig.settle()
            try await caller.send(Self.upload(false))
            #expect(try await upstream.head()["Expect"] == "100-continue")
        }
    }

    @Test func `an HTTP_1_0 upstream is never asked`() async throws {
        try await self.withLimit { rig, caller in
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            let first = try await rig.upstream.accept()
            _ = try await first.head()
            try await first.send("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n")
            _ = try await caller.answer()
            rig.install(.sample(2))
            try await rig.settle()
            try await caller.send(Self.upload(false))
            #expect(try await rig.upstream.accept().request().head.all("Expect").isEmpty)
        }
    }

    @Test(arguments: [0, 5, limit], [false, true])
    func `a body within the limit is sent at once, without asking`(count: Int, isChunked: Bool) async throws {
        try await self.withLimit { rig, caller in
            let body = String(repeating: "b", count: count)
            try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\n\(body.framed(isChunked))")
            let request = try await rig.upstream.accept().request()
            #expect(request.head.all("Expect").isEmpty)
            #expect(request.body == body)
        }
    }

    @Test(arguments: ["", "Expect: 100-continue\r\n"])
    func `a body of unknown length is streamed at once, without asking`(expectation: String) async throws {
        try await self.withLimit { rig, caller in
            let upload = Self.upload(true, expectation)
            let end = try #require(upload.firstRange(of: "\r\n\r\n")).upperBound
            try await caller.send(String(upload[..<end]))
            let upstream = try await rig.upstream.accept()
            let head = try await upstream.head()
            #expect(head.all("Expect").isEmpty)
            if !expectation.isEmpty { #expect(try await caller.head().status == 100) }
            try await caller.send(String(upload[end...]))
            #expect(String(buffer: try await upstream.body(of: head)) == Self.body)
            // The body is longer than what the gateway can replay.
            try await upstream.send(Self.dead)
            #expect(try await caller.answer().head.status == 401)
            #expect(try await rig.credentials.questions.next("question").refused == TokenVersion(.sample(1)))
        }
    }

    @Test func `a chunked body that arrives in pieces is sent on without waiting for its end`() async throws {
        try await self.withLimit { rig, caller in
            try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
            let upstream = try await rig.upstream.accept()
            #expect(try await upstream.head().all("Expect").isEmpty)
            #expect(try await upstream.line() == "5")
            #expect(try await upstream.line() == "hello")
            try await caller.send("0\r\n\r\n")
            #expect(try await upstream.line() == "0")
        }
    }

    @Test func `a final response instead of 100 is passed on, and nothing is uploaded`() async throws {
        try await self.withLimit { rig, caller in
            try await caller.send(Self.upload(false))
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            try await upstream.send("HTTP/1.1 413 Too Large\r\nContent-Length: 4\r\n\r\nmuch")
            let answer = try await caller.answer()
            #expect(answer.head.status == 413)
            #expect(answer.head["Connection"] == "close")
            #expect(answer.body == "much")
            #expect(try await caller.ending() == .clean)
            #expect(try await upstream.rest().bytes.readableBytes == 0)
        }
    }

    @Test func `a caller that waits for 100 gets it when the upstream wants the body`() async throws {
        try await self.withLimit { rig, caller in
            let upload = Self.upload(false, "Expect: 100-continue\r\n")
            let end = try #require(upload.firstRange(of: "\r\n\r\n")).upperBound
            try await caller.send(String(upload[..<end]))
            let upstream = try await rig.upstream.accept()
            let head = try await upstream.head()
            #expect(head.all("Expect") == ["100-continue"])
            try await upstream.send(Self.go)
            #expect(try await caller.head().startLine == "HTTP/1.1 100 Continue")
            try await caller.send(String(upload[end...]))
            #expect(String(buffer: try await upstream.body(of: head)) == Self.body)
            try await upstream.send(Self.ok)
            #expect(try await caller.answer().head.status == 200)
        }
    }

    @Test func `a caller that waits for 100 sends nothing when the upstream does not want the body`() async throws {
        try await self.withLimit { rig, caller in
            try await caller.send(
                "PUT /acme/ HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5000\r\n\r\n"
            )
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            try await upstream.send("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")
            #expect(try await caller.answer().head.status == 403)
            #expect(try await caller.ending() == .clean)
        }
    }

    @Test func `a request whose connection is lost while its body waits is retried in full, without asking`()
        async throws
    {
        try await self.withLimit { rig, caller in
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            let stale = try await rig.upstream.accept()
            _ = try await stale.head()
            try await stale.send(Self.ok)
            _ = try await caller.answer()
            rig.install(.sample(2))
            try await rig.settle()
            try await caller.send(Self.upload(false))
            #expect(try await stale.head()["Expect"] == "100-continue")
            stale.close()
            // The question itself may have caused the upstream to close the connection.
            let fresh = try await rig.upstream.accept()
            let request = try await fresh.request()
            #expect(request.head.all("Expect").isEmpty)
            #expect(request.body == Self.body)
            try await fresh.send(Self.ok)
            #expect(try await caller.answer().head.status == 200)
        }
    }

    @Test func `F22 a 401 during a large upload is passed on, and the next request gets a fresh token`() async throws {
        try await self.withLimit { rig, caller in
            let half = String(repeating: "b", count: 2_500)
            try await caller.send("PUT /acme/ HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n\(half)")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            try await upstream.send(Self.go)
            #expect(String(buffer: try await upstream.bytes(2_500)) == half)
            try await upstream.send(Self.dead)
            let answer = try await caller.answer()
            #expect(answer.head.status == 401)
            #expect(answer.head.all("Connection").isEmpty)
            #expect(answer.head.all("Martlet-Replayed").isEmpty)
            try await self.refresh(rig)
            // The upstream has not said that it stops reading.
            try await caller.send(half)
            #expect(String(buffer: try await upstream.bytes(2_500)) == half)
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await upstream.head()["Authorization"] == "Bearer token-2")
        }
    }

    @Test func `F24 a caller that disconnects during a refresh leaves the fresh token to the next caller`() async throws
    {
        try await withRig { rig in
            let (caller, upstream) = try await rig.begun()
            try await upstream.send(Self.dead)
            let question = try await rig.credentials.questions.next("question")
            try await caller.reset()
            _ = try await upstream.ending()
            rig.install(.sample(2))
            question.answer(.success(.sample(2)))
            try await rig.settle()
            let next = try await rig.caller()
            try await next.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await rig.upstream.accept().head()["Authorization"] == "Bearer token-2")
            #expect(rig.upstream.connections == 2)
        }
    }

    @Test func `F24 a caller that disconnects while its body waits ends the upstream connection too`() async throws {
        try await self.withLimit { rig, caller in
            try await caller.send("PUT /acme/ HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\nhello")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            try await caller.reset()
            _ = try await upstream.rest()
        }
    }
}
