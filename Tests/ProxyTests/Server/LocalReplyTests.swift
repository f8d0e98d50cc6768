import Foundation
import NIOCore
import Proxy
import Testing
import TextCoding
import TokenModel

@Suite struct LocalReplyTests {
    private static var now: Int64 { Int64(Date.now.timeIntervalSince1970 * 1_000) }

    /// Expects the gateway's local reply with `code` in its body, `status` in its head, and the current time.
    private func expect(
        _ answer: (head: Message, body: String),
        _ code: GatewayError.Code,
        _ status: Int,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(answer.head.status == status, sourceLocation: sourceLocation)
        #expect(answer.head["Content-Type"] == "application/problem+json", sourceLocation: sourceLocation)
        #expect(answer.head["Proxy-Status"]?.hasPrefix("martlet; error=") == true, sourceLocation: sourceLocation)
        // A busy machine may look later.
        let dates = (0...60).map { HTTPDate.text(of: WallTime(millisecondsSince1970: Self.now - $0 * 1_000)) }
        #expect(answer.head["Date"].map(dates.contains) == true, sourceLocation: sourceLocation)
        #expect(answer.body.contains("\"urn:martlet:error:\(code.rawValue)\""), sourceLocation: sourceLocation)
        #expect(!answer.body.contains("canary"), sourceLocation: sourceLocation)
    }

    @Test func `a request that matches no route gets 404, and the connection stays open`() async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            for _ in 1...2 {
                try await caller.send("GET /canary HTTP/1.1\r\nHost: a\r\nX-Canary: canary\r\n\r\n")
                let answer = try await caller.answer()
                self.expect(answer, .noRoute, 404)
                #expect(answer.head.all("Connection").isEmpty)
            }
            #expect(rig.upstream.connections == 0)
        }
    }

    @Test func `a gateway without routes responds too`() async throws {
        try await withRig(Rig.Setup(routes: { _ in [] })) { rig in
            let caller = try await rig.caller()
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            self.expect(try await caller.answer(), .noRoute, 404)
            try await caller.send("nonsense\r\n\r\n")
            self.expect(try await caller.answer(), .badRequest, 400)
        }
    }

    /// A request that is refused by its head, and the expected error.
    struct Refused: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let request: String
        let code: GatewayError.Code
        let status: Int

        init(_ name: String, _ request: String, _ code: GatewayError.Code = .badRequest, _ status: Int = 400) {
            self.testDescription = name
            self.request = request
            self.code = code
            self.status = status
        }
    }

    static let refused = [
        Refused("no Host", "GET /acme/canary HTTP/1.1\r\n\r\n"),
        Refused(
            "framed twice",
            "GET /acme/ HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
        ),
        Refused(
            "a coding",
            "GET /acme/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            .notImplemented,
            501
        ),
        Refused("bare LF", "GET /acme/ HTTP/1.1\nHost: a\n\n"),
        Refused("dot segments", "GET /acme/../canary HTTP/1.1\r\nHost: a\r\n\r\n"),
        Refused("TRACE", "TRACE /acme/ HTTP/1.1\r\nHost: a\r\n\r\n", .methodNotAllowed, 405),
        Refused("HTTP/2", "GET /acme/ HTTP/2.0\r\nHost: a\r\n\r\n", .versionUnsupported, 505),
        Refused("Expect", "GET /acme/ HTTP/1.1\r\nHost: a\r\nExpect: canary\r\n\r\n", .expectationFailed, 417),
        Refused(
            "a long target",
            "GET /acme/\(String(repeating: "a", count: 9_000)) HTTP/1.1\r\nHost: a\r\n\r\n",
            .targetTooLong,
            414
        ),
        Refused(
            "many fields",
            "GET /acme/ HTTP/1.1\r\nHost: a\r\n\(String(repeating: "X: canary\r\n", count: 201))\r\n",
            .headTooLarge,
            431
        ),
        Refused("no HTTP", "\u{16}\u{3}\u{1}\u{0}\n"),
    ]

    @Test(arguments: refused)
    func `nothing of a refused request reaches an upstream, and the connection ends`(refused: Refused) async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send(refused.request + "GET /acme/smuggled HTTP/1.1\r\nHost: a\r\n\r\n")
            let answer = try await caller.answer()
            self.expect(answer, refused.code, refused.status)
            #expect(answer.head["Connection"] == "close")
            #expect(try await caller.ending() == .clean)

            // Anything forwarded earlier would have arrived before this request.
            let other = try await rig.caller()
            try await other.send("GET /acme/next HTTP/1.1\r\nHost: a\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            #expect(try await upstream.head().request == "GET /v2/next")
            #expect(rig.upstream.connections == 1)
        }
    }

    @Test func `a malformed chunk ends the upload with 400 and aborts the incomplete upstream request`() async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send(
                "POST /acme/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"
            )
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            #expect(String(buffer: try await upstream.bytes(8)) == "3\r\nabc\r\n")
            try await caller.send("xyz\r\n")
            self.expect(try await caller.answer(), .badRequest, 400)
            #expect(String(buffer: try await upstream.rest().bytes).isEmpty)
        }
    }

    @Test func `an upstream that refuses connections is reported as unreachable`() async throws {
        let reserved = try ReservedPort()
        try await withRig(Rig.Setup(routes: { _ in [.sample(port: reserved.number)] })) { rig in
            let caller = try await rig.caller()
            for _ in 1...3 {
                try await caller.send("GET /acme/canary HTTP/1.1\r\nHost: a\r\n\r\n")
                let answer = try await caller.answer()
                self.expect(answer, .upstreamUnreachable, 502)
                #expect(answer.body.contains("\"route\":\"acme\""))
                #expect(answer.body.contains("\"account\":\"alice\""))
            }
        }
    }

    @Test(arguments: [true, false])
    func `a connection that ends before the response is reported as reset`(resets: Bool) async throws {
        try await withRig { rig in
            let (caller, upstream) = try await rig.begun()
            if resets { try await upstream.reset() } else { upstream.close() }
            self.expect(try await caller.answer(), .upstreamReset, 502)
            #expect(rig.upstream.connections == 1)
        }
    }

    @Test(arguments: [
        "SSH-2.0-OpenSSH_9.6\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nabc",
        "HTTP/1.1 200 OK\nContent-Length: 0\n\n",
        "HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        String(repeating: "HTTP/1.1 102 Processing\r\n\r\n", count: 21)
            + "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    ])
    func `a response that breaks HTTP is not passed on, and its connection is not reused`(answer: String) async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            // HTTP/1.0 callers get no interim responses.
            try await caller.send("GET /acme/ HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            try await upstream.send(answer)
            self.expect(try await caller.answer(), .upstreamInvalid, 502)
            _ = try await upstream.rest()

            try await caller.send("GET /acme/next HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await rig.upstream.accept().head().request == "GET /v2/next")
        }
    }

    @Test(arguments: CredentialError.Code.allCases)
    func `each credential error has its own response`(code: CredentialError.Code) async throws {
        try await withRig(Rig.Setup(credential: nil)) { rig in
            let caller = try await rig.caller()
            try await caller.send("POST /acme/canary HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\ncanary")
            let question = try await rig.credentials.questions.next("question")
            #expect(question.account == Rig.account)
            #expect(question.refused == nil)
            question.answer(.failure(CredentialError(code, "it is so", retryAfter: .seconds(7))))

            let answer = try await caller.answer()
            #expect(!answer.body.contains("it is so"))
            let own = try #require(GatewayError.Code(rawValue: code.rawValue))
            self.expect(answer, own, own == .providerConfig ? 502 : 503)
            #expect(answer.head["Retry-After"] == "7")
            #expect(rig.upstream.connections == 0)

            // The gateway has read the body, so it reads the next request as a request.
            try await caller.send("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await caller.answer().head.status == 404)
        }
    }

    @Test func `a request does not wait endlessly for a credential that is never usable`() async throws {
        try await withRig(Rig.Setup(credential: nil)) { rig in
            let caller = try await rig.caller()
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            for generation in 1...4 as ClosedRange<UInt64> {
                let question = try await rig.credentials.questions.next("question \(generation)")
                let credential = UpstreamCredential.sample(generation, usableFor: .zero)
                rig.server.apply(.installed(credential))
                question.answer(.success(credential))
            }
            self.expect(try await caller.answer(), .refreshFailed, 503)
            #expect(rig.credentials.questions.total == 4)
        }
    }

    @Test func `HTTP_1_0 callers that ask for it keep their connection after a local reply of the gateway`()
        async throws
    {
        try await withRig { rig in
            let caller = try await rig.caller()
            for _ in 1...3 {
                try await caller.send("GET /nowhere HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n")
                let answer = try await caller.answer()
                self.expect(answer, .noRoute, 404)
                // Without this field the caller would wait for the connection to end, which marks the end of the
                // response.
                #expect(answer.head["Connection"] == "keep-alive")
            }
            try await caller.send("GET /nowhere HTTP/1.0\r\n\r\n")
            #expect(try await caller.answer().head["Connection"] == "close")
            #expect(try await caller.ending() == .clean)
        }
    }

    @Test func `a connection above the limit gets the time in its response too`() async throws {
        var setup = Rig.Setup()
        setup.limits = { $0.connections = 1 }
        try await withRig(setup) { rig in
            let first = try await rig.caller()
            try await first.send("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try await first.answer()
            let second = try await rig.caller()
            try await second.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            self.expect(try await second.answer(), .overloaded, 503)
        }
    }

    @Test func `HEAD gets only the head of a local reply`() async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send("HEAD /nowhere HTTP/1.1\r\nHost: a\r\n\r\nGET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await caller.head().status == 404)
            #expect(try await caller.answer().head.status == 404)
        }
    }
}
