import HTTPWire
import NIOCore
import Testing

@Suite struct CallerResponseTests {

    private func parse(_ lines: [String], answering method: HTTPMethod = .get) throws -> ResponseHead {
        let parsed = try parseAnswer([head(lines)[...]], answering: method)
        return try #require(parsed).0
    }

    @Test(arguments: AcceptedResponse.all)
    func `a response passes byte for byte, except for what must change`(_ answer: AcceptedResponse) throws {
        let parsed = try parseAnswer([answer.bytes[...]], answering: answer.method)
        let head = try #require(parsed).0
        let written = CallerResponse.head(of: head, framing: head.body, close: false)
        #expect(text(written) == text(answer.passed))
    }

    @Test(arguments: AcceptedResponse.all.filter { $0.status != 101 })
    func `llhttp reads exactly one response from what passes`(_ answer: AcceptedResponse) throws {
        let parsed = try parseAnswer([answer.bytes[...]], answering: answer.method)
        let head = try #require(parsed).0
        let framing = head.body == .untilClose ? BodyFraming.chunked : head.body
        var wire = CallerResponse.head(of: head, framing: framing, close: false)
        var content = ""
        switch framing {
        case .length(let length): content = String(repeating: "b", count: length)
        case .chunked: content = "hello"
        case .none, .untilClose: break
        }
        if framing == .chunked { wire.writeString("5\r\nhello\r\n") } else { wire.writeString(content) }
        if framing == .chunked { wire.writeImmutableBuffer(CallerResponse.lastChunk(nil)) }
        wire.writeString("HTTP/1.1 299 Next\r\nContent-Length: 0\r\n\r\n")

        let method = answer.method == .head ? "HEAD" : "GET"
        let read = try ResponseOracle.read(Array(wire.readableBytesView), answering: [method, "GET"])
        #expect(read.count == 2)
        #expect(read.first?.start == "HTTP/1.1 \(answer.status)")
        #expect(read.first.map { text($0.body) } == content)
        #expect(read.first?.isWhole == true)
        #expect(read.last?.start == "HTTP/1.1 299")
    }

    @Test(arguments: [false, true])
    func `cookies pass only if the route allows them, and host-binding fields never pass`(passesCookies: Bool) throws {
        let answer = try self.parse([
            "HTTP/1.1 204 No Content", "Set-Cookie: a=b; HttpOnly", "A: b", "Alt-Svc: h3=\":443\"", "alt-svc: clear",
            "Strict-Transport-Security: max-age=1", "Public-Key-Pins: x", "public-key-pins-report-only: y",
            "SET-COOKIE: c=d", "Link: </v2/x>", "Set_Cookie: e", "Alt-Svcs: f",
        ])
        let targets = ResponseTargets(scheme: "http", authority: "u", upstreamPath: "/v2/", prefix: "/a/", strip: true)
        let cookies = passesCookies ? ["Set-Cookie: a=b; HttpOnly", "SET-COOKIE: c=d"] : []
        for (targets, link) in [(nil, "/v2/x"), (targets, "/a/x")] as [(ResponseTargets?, String)] {
            let written = CallerResponse.head(
                of: answer,
                framing: .none,
                close: false,
                targets: targets,
                passesCookies: passesCookies
            )
            let lines = text(written).split(separator: "\r\n").dropFirst().map(String.init)
            let others = ["A: b", "Link: <\(link)>", "Set_Cookie: e", "Alt-Svcs: f"]
            #expect(lines.sorted() == (cookies + others).sorted())
        }
        #expect(answer.setsCookies)
    }

    @Test func `a response without Set-Cookie sets no cookies`() throws {
        let answer = try self.parse(["HTTP/1.1 204 No Content", "Set_Cookie: a=b", "Set-Cookies: c", "Cookie: d"])
        #expect(!answer.setsCookies)
    }

    @Test func `a body that ends at close becomes chunked for a caller that keeps its connection`() throws {
        let answer = try self.parse(["HTTP/1.0 200 OK", "A: b"])
        let written = CallerResponse.head(of: answer, framing: .chunked, close: false)
        #expect(text(written) == "HTTP/1.1 200 OK\r\nA: b\r\nTransfer-Encoding: chunked\r\n\r\n")
    }

    @Test func `a chunked body becomes one that ends at close for an HTTP/1.0 caller`() throws {
        let answer = try self.parse(["HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "A: b"])
        let written = CallerResponse.head(of: answer, framing: .untilClose, close: true)
        #expect(text(written) == "HTTP/1.1 200 OK\r\nA: b\r\nConnection: close\r\n\r\n")
    }

    @Test func `fields that the gateway adds follow the fields of the upstream`() throws {
        let answer = try self.parse(["HTTP/1.1 401 No", "Connection: close", "A: b", "Content-Length: 3"])
        let written = CallerResponse.head(
            of: answer,
            framing: answer.body,
            close: false,
            keepAlive: true,
            extra: "Martlet-Replayed: 1\r\n"
        )
        #expect(
            text(written)
                == "HTTP/1.1 401 No\r\nA: b\r\nContent-Length: 3\r\nConnection: keep-alive\r\nMartlet-Replayed: 1\r\n\r\n"
        )
    }

    @Test func `426 says what to ask for instead, and no other response does`() throws {
        for (status, upgrade) in [("426 No", "Connection: Upgrade\r\nUpgrade: TLS/1.2\r\n"), ("400 No", "")] {
            let answer = try self.parse([
                "HTTP/1.1 \(status)", "Upgrade: TLS/1.2", "Connection: Upgrade", "Content-Length: 0",
            ])
            let lines = text(CallerResponse.head(of: answer, framing: answer.body, close: false))
                .split(separator: "\r\n").dropFirst().sorted()
            #expect(lines == (upgrade + "Content-Length: 0").split(separator: "\r\n").sorted())
        }
    }

    @Test func `a date is written where it is given`() throws {
        let answer = try self.parse(["HTTP/1.1 204 No Content", "A: b"])
        #expect(!answer.hasDate)
        let written = CallerResponse.head(
            of: answer,
            framing: answer.body,
            close: false,
            date: ByteBuffer(string: "Date: now\r\n")
        )
        #expect(text(written) == "HTTP/1.1 204 No Content\r\nA: b\r\nDate: now\r\n\r\n")
        #expect(try self.parse(["HTTP/1.1 204 No Content", "date: x"]).hasDate)
    }

    @Test func `memory that is still in use is not overwritten`() throws {
        // Given a head that is still being sent
        let first = CallerResponse.head(
            of: try self.parse(["HTTP/1.1 200 OK", "A: first"]),
            framing: .none,
            close: false
        )
        // When the next head is written and is offered the same memory
        let second = CallerResponse.head(
            of: try self.parse(["HTTP/1.1 404 No", "B: 2"]),
            framing: .none,
            close: false,
            reusing: first
        )
        // Then both heads are intact
        #expect(text(first) == "HTTP/1.1 200 OK\r\nA: first\r\n\r\n")
        #expect(text(second) == "HTTP/1.1 404 No\r\nB: 2\r\n\r\n")
    }

    @Test(arguments: [BodyFraming.length(3), .chunked])
    func `the length of a response to HEAD is never sent together with other framing`(framing: BodyFraming) throws {
        let answer = try self.parse(["HTTP/1.1 200 OK", "Content-Length: 30"], answering: .head)
        let written = text(CallerResponse.head(of: answer, framing: framing, close: false))
        #expect(!written.contains("30"))
    }

    @Test func `trailers pass, except those that frame, route or authenticate`() throws {
        let lines = [
            "grpc-status: 0", "Content-Length: 3", "Transfer-Encoding: chunked", "Host: b", "Authorization: x",
            "WWW-Authenticate: Bearer",
            "Set-Cookie: a=b", "Location: /x", "Connection: close", "Keep-Alive: timeout=1", "Trailer: x",
            "Content-Type: x/y",
            "Alt-Svc: x", "Strict-Transport-Security: x", "Public-Key-Pins: x", "Refresh: 1", "Operation-Location: /x",
            "Content-Encoding: gzip", "Martlet-Replayed: 1", "Proxy-Authenticate: x", "Server-Timing:  a ",
            "X_y: \u{E9}",
        ]
        var decoder = BodyDecoder(.chunked)
        var buffer = ByteBuffer(string: "0\r\n")
        buffer.writeBytes(head(lines))
        guard case .end(let trailers) = try decoder.next(&buffer) else {
            Issue.record("no end")
            return
        }
        let end = CallerResponse.lastChunk(trailers)
        #expect(text(end) == "0\r\ngrpc-status: 0\r\nServer-Timing:  a \r\nX_y: \u{E9}\r\n\r\n")
        #expect(text(CallerResponse.lastChunk(nil)) == "0\r\n\r\n")
    }
}
