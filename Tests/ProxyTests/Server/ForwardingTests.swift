import NIOCore
import Proxy
import Testing
import TokenModel

@Suite struct ForwardingTests {
    /// The request that arrives at the upstream.
    private func forwarded(
        _ request: String,
        eventLoops: Int = 1,
        _ change: @escaping (inout RouteConfiguration) -> Void = { _ in }
    ) async throws -> (head: Message, body: String) {
        var setup = Rig.Setup.route(change)
        setup.eventLoops = eventLoops
        return try await withRig(setup) { rig in
            let caller = try await rig.caller()
            try await caller.send(request)
            let upstream = try await rig.upstream.accept()
            let head = try await upstream.head()
            if head["Expect"] != nil { try await upstream.send("HTTP/1.1 100 Continue\r\n\r\n") }
            let body = String(buffer: try await upstream.body(of: head))
            try await upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            #expect(try await caller.answer().body == "ok")
            return (head, body)
        }
    }

    @Test(arguments: [1, 2])
    func `a request leaves with the token, the upstream's host and a Via field`(eventLoops: Int) async throws {
        let (head, _) = try await self.forwarded(
            "GET /acme/users?page=2 HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n",
            eventLoops: eventLoops
        )
        #expect(head.startLine == "GET /v2/users?page=2 HTTP/1.1")
        #expect(head["Authorization"] == "Bearer token-1")
        #expect(head["Host"]?.hasPrefix("127.0.0.1:") == true)
        #expect(head["Accept"] == "*/*")
        #expect(head["Via"] == "1.1 martlet (rig)")
    }

    @Test(arguments: [
        (true, "/acme/", "/v2/"), (true, "/acme/a/b?x=/acme/", "/v2/a/b?x=/acme/"),
        (true, "/%61cme/a%2Fb", "/v2/a%2Fb"),
        (false, "/acme/", "/v2/acme/"), (false, "/%61cme/a?q", "/v2/%61cme/a?q"),
    ])
    func `the path prefix is replaced or kept, and the rest is forwarded byte for byte`(
        strip: Bool,
        target: String,
        expected: String
    ) async throws {
        let (head, _) = try await self.forwarded("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n") { $0.strip = strip }
        #expect(head.request == "GET \(expected)")
    }

    @Test func `a route without Via adds none`() async throws {
        let (head, _) = try await self.forwarded("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n") { $0.via = false }
        #expect(head.all("Via").isEmpty)
    }

    @Test(arguments: ["Authorization", "X-Api-Key", "Private-Token"])
    func `I8_ a caller's own values of the injected field never arrive, and exactly one injected field does`(
        header: String
    ) async throws {
        let (head, _) = try await self.forwarded(
            """
            GET /acme/ HTTP/1.1\r
            Host: a\r
            Authorization: Bearer callers-own\r
            \(header == "Authorization" ? "X-Other" : header.uppercased()): callers-own\r
            \(header == "Authorization" ? "X-Other" : header.lowercased()): callers-own\r
            Martlet-Key: callers-own\r
            Martlet-Account: bob\r
            Martlet-Anything: callers-own\r
            Proxy-Authorization: Basic callers-own\r
            Accept: */*\r
            \r\n
            """
        ) { $0.injection = Injection(header: header, prefix: "Bearer ") }
        #expect(head[header] == "Bearer token-1")
        #expect(head.all("Authorization").count == (header == "Authorization" ? 1 : 0))
        #expect(head.fields.allSatisfy { !$0.name.lowercased().hasPrefix("martlet") })
        #expect(head.fields.allSatisfy { $0.name == "X-Other" || !$0.value.contains("callers-own") })
    }

    @Test(arguments: ["GET", "POST", "PUT", "DELETE", "PATCH", "PROPFIND"], [0, 1, 5_000, 200_000])
    func `I9_ a body of known length arrives as it was sent`(method: String, count: Int) async throws {
        let body = String(repeating: "b", count: count)
        let (head, arrived) = try await self.forwarded(
            "\(method) /acme/ HTTP/1.1\r\nHost: a\r\nContent-Length: \(count)\r\n\r\n\(body)"
        )
        #expect(head["Content-Length"] == "\(count)")
        #expect(arrived == body)
    }

    @Test(arguments: ["GET", "POST", "DELETE", "PROPFIND"], [0, 1, 5_000, 200_000])
    func `I9_ a chunked body arrives chunked, with the same bytes`(method: String, count: Int) async throws {
        let body = String(repeating: "b", count: count)
        let (head, arrived) = try await self.forwarded("\(method) /acme/ HTTP/1.1\r\nHost: a\r\n\(body.framed(true))")
        #expect(head["Transfer-Encoding"] == "chunked")
        #expect(arrived == body)
    }

    @Test(arguments: [("", []), ("Content-Length: 0\r\n", ["0"])])
    func `a POST without a body has a Content-Length only if the caller sends one`(field: String, lengths: [String])
        async throws
    {
        let (head, _) = try await self.forwarded("POST /acme/ HTTP/1.1\r\nHost: a\r\n\(field)\r\n")
        #expect(head.all("Content-Length") == lengths)
        #expect(head.all("Transfer-Encoding").isEmpty)
    }

    @Test(arguments: [
        ("Content-Length: 5\r\n\r\nhello", "hello"), ("Content-Length: 0\r\n\r\n", ""),
        ("Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n", "hello!"),
    ])
    func `a response body is passed back as it came, and the connection serves the next request`(
        rest: String,
        body: String
    ) async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            var upstream: Peer?
            for round in 1...3 {
                try await caller.send("GET /acme/\(round) HTTP/1.1\r\nHost: a\r\n\r\n")
                let peer = if let upstream { upstream } else { try await rig.upstream.accept() }
                upstream = peer
                #expect(try await peer.head().request == "GET /v2/\(round)")
                try await peer.send("HTTP/1.1 200 Fine\r\nX-Own: 1\r\n\(rest)")
                let answer = try await caller.answer()
                #expect(answer.head.startLine == "HTTP/1.1 200 Fine")
                #expect(answer.head["X-Own"] == "1")
                #expect(answer.head.all("Connection").isEmpty)
                #expect(answer.body == body)
            }
            #expect(rig.upstream.connections == 1)
        }
    }

    @Test(arguments: ["", "date: Thu, 01 Jan 1970 00:00:00 GMT\r\n"])
    func `a response has the upstream's date, or else the gateway's`(field: String) async throws {
        try await withRig { rig in
            let (caller, upstream) = try await rig.begun()
            try await upstream.send("HTTP/1.1 200 OK\r\n\(field)Content-Length: 0\r\n\r\n")
            let head = try await caller.head()
            let date = try #require(head["Date"])
            #expect(date.contains(" 1970 ") == !field.isEmpty)
        }
    }

    @Test func `a large response is passed back whole`() async throws {
        try await withRig { rig in
            let (caller, upstream) = try await rig.begun()
            let body = ByteBuffer(bytes: (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
            var answer = ByteBuffer(string: "HTTP/1.1 200 OK\r\nContent-Length: \(body.readableBytes)\r\n\r\n")
            answer.writeImmutableBuffer(body)
            async let sent: Void = upstream.send(answer)
            let head = try await caller.head()
            let arrived = try await caller.body(of: head)
            try await sent
            #expect(arrived == body)
        }
    }

    @Test func `the acceptance of a token by an upstream is reported once, and not by a 401`() async throws {
        try await withRig { rig in
            let (caller, upstream) = try await rig.begun()
            // The challenge of another scheme shows no dead token, but it does not prove the token either.
            try await upstream.send(
                "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n"
            )
            #expect(try await caller.answer().head.status == 401)
            #expect(rig.credentials.accepted.total == 0)
            for _ in 1...2 {
                try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
                _ = try await upstream.head()
                try await upstream.send("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")
                #expect(try await caller.answer().head.status == 403)
            }
            #expect(rig.credentials.accepted.takeAll() == [TokenVersion(.sample())])
        }
    }

    @Test(arguments: [
        "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n",
        "nonsense\r\n\r\n",
    ])
    func `a token that has left is reported as used once, whatever the upstream responds`(answer: String) async throws {
        try await withRig { rig in
            #expect(rig.credentials.used.total == 0)
            for _ in 1...2 {
                let caller = try await rig.caller()
                try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                let upstream = try await rig.upstream.accept()
                _ = try await upstream.head()
                #expect(rig.credentials.used.total == 1)
                try await upstream.send(answer)
                _ = try await caller.rest()
                upstream.close()
            }
            let credential = UpstreamCredential.sample(2)
            let caller = try await rig.caller()
            rig.install(credential)
            try await rig.settle()
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try await rig.upstream.accept().head()
            #expect(rig.credentials.used.takeAll() == [TokenVersion(.sample()), TokenVersion(credential)])
        }
    }

    @Test func `requests of two accounts carry their own tokens`() async throws {
        let setup = Rig.Setup(routes: { port in
            [
                .sample(port: port),
                .sample(port: port) { plan in
                    plan.path = "/bob/"
                    plan.account = .fixed(AccountID("bob"))
                },
            ]
        })
        try await withRig(setup) { rig in
            rig.install(.sample(2, account: AccountID("bob")))
            let caller = try await rig.caller()
            try await caller.send("GET /bob/ HTTP/1.1\r\nHost: a\r\n\r\nGET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            #expect(try await upstream.head()["Authorization"] == "Bearer token-2")
            try await upstream.send("HTTP/1.1 204 No Content\r\n\r\n")
            #expect(try await upstream.head()["Authorization"] == "Bearer token-1")
        }
    }
}
