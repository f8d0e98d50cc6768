import NIOCore
import Proxy
import Testing

@Suite struct ResponseFramingTests {
    /// Sends `request`, has the upstream send `answer`, and runs `check` with the rig, the caller and the upstream's
    /// connection.
    private func passed(
        _ answer: String,
        to request: String,
        upstreamEnds: Bool = false,
        _ check: (Rig, Peer, Peer) async throws -> Void
    ) async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send(request)
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.request()
            try await upstream.send(answer)
            if upstreamEnds { try await upstream.finish() }
            try await check(rig, caller, upstream)
        }
    }

    private static let get = "GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n"

    @Test func `a response that ends with its connection becomes chunked, and the caller's connection stays open`()
        async throws
    {
        try await self.passed("HTTP/1.1 200 OK\r\n\r\nsome bytes", to: Self.get, upstreamEnds: true) { rig, caller, _ in
            let head = try await caller.head()
            #expect(head["Transfer-Encoding"] == "chunked")
            #expect(head.all("Connection").isEmpty)
            #expect(String(buffer: try await caller.body(of: head)) == "some bytes")
            try await caller.send(Self.get)
            _ = try await rig.upstream.accept().head()
        }
    }

    @Test func `a response without framing that a reset cuts off never gets its last chunk`() async throws {
        try await self.passed("HTTP/1.1 200 OK\r\n\r\nsome bytes", to: Self.get) { _, caller, upstream in
            _ = try await caller.head()
            #expect(try await caller.line() == "a")
            #expect(String(buffer: try await caller.bytes(12)) == "some bytes\r\n")
            try await upstream.reset()
            let (bytes, ending) = try await caller.rest()
            #expect(bytes.readableBytes == 0)
            #expect(ending == .clean)
        }
    }

    @Test(arguments: [
        "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n3\r\n wo\r\n0\r\n\r\n", "\r\nhello wo",
    ])
    func `to an HTTP_1_0 caller a body of unknown length ends with the connection`(rest: String) async throws {
        try await self.passed(
            "HTTP/1.1 200 OK\r\n\(rest)",
            to: "GET /acme/ HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
            upstreamEnds: true
        ) { _, caller, _ in
            let head = try await caller.head()
            #expect(head.all("Transfer-Encoding").isEmpty)
            #expect(head.all("Content-Length").isEmpty)
            #expect(head["Connection"] == "close")
            let (bytes, ending) = try await caller.rest()
            #expect(String(buffer: bytes) == "hello wo")
            #expect(ending == .clean)
        }
    }

    @Test func `an HTTP_1_0 caller that asks for it keeps its connection if the length is known`() async throws {
        let request = "GET /acme/ HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
        try await self.passed("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", to: request) { _, caller, upstream in
            let (head, body) = try await caller.answer()
            #expect(head["Connection"] == "keep-alive")
            #expect(body == "ok")
            try await caller.send(request)
            _ = try await upstream.head()
        }
    }

    @Test(arguments: ["GET /acme/ HTTP/1.0\r\n\r\n", "GET /acme/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"])
    func `a caller that does not keep its connection gets its response and then the end`(request: String) async throws {
        try await self.passed("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", to: request) { _, caller, _ in
            let (head, body) = try await caller.answer()
            #expect(head["Connection"] == "close")
            #expect(body == "ok")
            #expect(try await caller.ending() == .clean)
        }
    }

    @Test(
        arguments: [
            ("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n", "5000"),
            ("HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", nil),
            ("HEAD", "HTTP/1.1 200 OK\r\n\r\n", nil),
            ("GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5000\r\nETag: \"x\"\r\n\r\n", "5000"),
            ("GET", "HTTP/1.1 204 No Content\r\n\r\n", nil),
            ("DELETE", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", nil),
        ] as [(String, String, String?)]
    )
    func `a response without a body stays without one, whatever its head says, and both connections stay open`(
        method: String,
        answer: String,
        length: String?
    ) async throws {
        let request = "\(method) /acme/ HTTP/1.1\r\nHost: a\r\n\r\n"
        try await self.passed(answer, to: request) { _, caller, upstream in
            let head = try await caller.head()
            #expect(head["Content-Length"] == length)
            #expect(head.all("Transfer-Encoding").isEmpty)
            try await caller.send(Self.get)
            _ = try await upstream.head()
            try await upstream.send("HTTP/1.1 200 Next\r\nContent-Length: 0\r\n\r\n")
            #expect(try await caller.head().startLine == "HTTP/1.1 200 Next")
        }
    }

    @Test func `interim responses pass to HTTP_1_1, except 100, which the gateway sends itself`() async throws {
        let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </v2/a>; rel=preload\r\n\r\n"
        let last = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
        try await self.passed(interim + "HTTP/1.1 102 Processing\r\n\r\n" + last, to: Self.get) { _, caller, _ in
            let hints = try await caller.head()
            #expect(hints.status == 103)
            #expect(hints["Link"] == "</acme/a>; rel=preload")
            #expect(hints.all("Content-Length").isEmpty)
            #expect(try await caller.head().status == 102)
            #expect(try await caller.head().status == 200)
        }
    }

    @Test func `interim responses do not pass to HTTP_1_0`() async throws {
        try await self.passed(
            "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            to: "GET /acme/ HTTP/1.0\r\n\r\n"
        ) { _, caller, _ in
            let head = try await caller.head()
            #expect(head.status == 200)
        }
    }

    @Test func `twenty interim responses are passed on`() async throws {
        let interim = String(repeating: "HTTP/1.1 102 Processing\r\n\r\n", count: 20)
        let last = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
        try await self.passed(interim + last, to: Self.get) { _, caller, _ in
            var statuses: [Int] = []
            for _ in 1...21 { statuses.append(try await caller.head().status) }
            #expect(statuses == Array(repeating: 102, count: 20) + [200])
        }
    }

    @Test func `after a twenty-first interim response the caller gets 502`() async throws {
        let interim = String(repeating: "HTTP/1.1 102 Processing\r\n\r\n", count: 21)
        let last = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
        try await self.passed(interim + last, to: Self.get) { _, caller, upstream in
            var statuses: [Int] = []
            for _ in 1...21 { statuses.append(try await caller.head().status) }
            #expect(statuses == Array(repeating: 102, count: 20) + [502])
            _ = try await upstream.rest()
        }
    }

    @Test(arguments: [
        "Connection: X-Hop, keep-alive\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nProxy-Authenticate: Basic\r\n"
    ])
    func `connection-specific fields of the upstream are not passed on`(fields: String) async throws {
        try await self.passed("HTTP/1.1 200 OK\r\n\(fields)Content-Length: 0\r\n\r\n", to: Self.get) { _, caller, _ in
            let head = try await caller.head()
            for name in ["Connection", "X-Hop", "Keep-Alive", "Proxy-Authenticate"] { #expect(head.all(name).isEmpty) }
        }
    }

    @Test func `URLs of the upstream are mapped back under the route's prefix, in interim responses too`() async throws
    {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send(Self.get)
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            let base = "http://127.0.0.1:\(rig.upstream.port)/v2"
            try await upstream.send(
                "HTTP/1.1 103 Early Hints\r\nLink: </v2/style>; rel=preload\r\n\r\n"
                    + "HTTP/1.1 201 Created\r\nLocation: \(base)/users/1\r\nContent-Location: /v2/users/1\r\n"
                    + "Link: <\(base)/users?page=2>; rel=next, <https://other.example/v2/>; rel=other\r\n"
                    + "X-Url: \(base)/x\r\nContent-Length: 0\r\n\r\n"
            )
            #expect(try await caller.head()["Link"] == "</acme/style>; rel=preload")
            let head = try await caller.head()
            #expect(head["Location"] == "/acme/users/1")
            #expect(head["Content-Location"] == "/acme/users/1")
            #expect(head["Link"] == "</acme/users?page=2>; rel=next, <https://other.example/v2/>; rel=other")
            #expect(head["X-Url"] == "\(base)/x")
        }
    }

    @Test func `a path with encoded characters appears in rewritten URLs as it is configured`() async throws {
        try await withRig(.route { $0.path = "/a%2Fb/" }) { rig in
            let caller = try await rig.caller()
            try await caller.send("GET /a%2fb/x HTTP/1.1\r\nHost: a\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            #expect(try await upstream.head().request == "GET /v2/x")
            try await upstream.send("HTTP/1.1 302 Found\r\nLocation: /v2/y\r\nContent-Length: 0\r\n\r\n")
            #expect(try await caller.head()["Location"] == "/a%2Fb/y")
        }
    }
}
