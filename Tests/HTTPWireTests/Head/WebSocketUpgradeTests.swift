import HTTPWire
import NIOCore
import Testing

@Suite struct WebSocketUpgradeTests {
    private static let handshake = [
        "GET /chat HTTP/1.1", "Host: a", "Connection: keep-alive, UPGRADE", "Upgrade: WebSocket",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Protocol: chat",
    ]

    private func request(_ lines: [String]) throws -> RequestHead {
        let parsed = try parseRequest([head(lines)[...]])
        return try #require(parsed).0
    }

    private func leaving(_ request: RequestHead) -> String {
        let upstream = UpstreamRequest(path: "/v2/", host: "api.example", via: nil, injectedName: "Authorization")
        return text(upstream.head(for: request, replacing: 1, framing: request.body, spare: 0))
    }

    @Test func `a WebSocket handshake goes upstream as a WebSocket handshake`() throws {
        let request = try self.request(Self.handshake)
        #expect(request.asksForWebSocket)
        #expect(
            self.leaving(request).split(separator: "\r\n") == [
                "GET /v2/chat HTTP/1.1", "Host: api.example", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
                "Sec-WebSocket-Version: 13", "Sec-WebSocket-Protocol: chat", "Connection: Upgrade",
                "Upgrade: websocket",
            ]
        )
    }

    @Test(arguments: ["Upgrade: h2c, websocket", "Upgrade: h2c\r\nupgrade: websocket", "Upgrade: websocket, foo/2"])
    func `of several upgrades, only WebSocket goes upstream`(field: String) throws {
        let request = try self.request(["GET / HTTP/1.1", "Host: a", "Connection: upgrade", field])
        #expect(request.asksForWebSocket)
        #expect(self.leaving(request).hasSuffix("\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"))
        #expect(!self.leaving(request).contains("h2c") && !self.leaving(request).contains("foo"))
    }

    @Test func `I9 I8 llhttp reads one request with one upgrade from what goes upstream`() throws {
        let read = try RequestOracle.read(
            bytes(self.leaving(self.request(Self.handshake)) + "Authorization: t\r\n\r\n")
        )
        try #require(read.count == 1)
        #expect(read[0].isWhole && read[0].body.isEmpty)
        #expect(read[0].values(of: "Connection") == ["Upgrade"])
        #expect(read[0].values(of: "Upgrade") == ["websocket"])
        #expect(read[0].values(of: "Authorization") == ["t"])
    }

    @Test(arguments: [
        ["GET / HTTP/1.1", "Host: a", "Upgrade: websocket"],
        ["GET / HTTP/1.1", "Host: a", "Connection: upgrade"],
        ["GET / HTTP/1.1", "Host: a", "Connection: upgrade", "Upgrade: h2c", "HTTP2-Settings: x"],
        ["GET / HTTP/1.1", "Host: a", "Connection: upgrade", "Upgrade: websocket/13"],
        ["GET / HTTP/1.1", "Host: a", "Connection: upgrade", "Upgrade: web socket"],
        ["GET / HTTP/1.1", "Host: a", "Connection: upgrade", "Upgrade: websocket", "Content-Length: 3"],
        ["GET / HTTP/1.1", "Host: a", "Connection: upgrade", "Upgrade: websocket", "Transfer-Encoding: chunked"],
        ["POST / HTTP/1.1", "Host: a", "Connection: upgrade", "Upgrade: websocket", "Content-Length: 0"],
        ["HEAD / HTTP/1.1", "Host: a", "Connection: upgrade", "Upgrade: websocket"],
        ["GET / HTTP/1.0", "Host: a", "Connection: upgrade", "Upgrade: websocket"],
    ])
    func `any other upgrade is ignored and stripped`(lines: [String]) throws {
        let request = try self.request(lines)
        #expect(!request.asksForWebSocket)
        let leaving = self.leaving(request).lowercased()
        #expect(!leaving.contains("upgrade") && !leaving.contains("connection") && !leaving.contains("http2"))
    }

    @Test(arguments: [
        (["HTTP/1.1 101 Switching Protocols", "Upgrade: WebSocket", "Connection: Upgrade"], true),
        (["HTTP/1.1 101 ", "Connection: keep-alive, upgrade", "Upgrade: websocket", "Content-Length: 0"], true),
        (["HTTP/1.1 101 X", "Upgrade: websocket"], false),
        (["HTTP/1.1 101 X", "Connection: Upgrade"], false),
        (["HTTP/1.1 101 X", "Upgrade: h2c", "Connection: Upgrade"], false),
        (["HTTP/1.1 101 X", "Upgrade: websocket, h2c", "Connection: Upgrade"], false),
        (["HTTP/1.1 101 X", "Upgrade: websocket", "Upgrade: websocket", "Connection: Upgrade"], false),
        (["HTTP/1.0 101 X", "Upgrade: websocket", "Connection: Upgrade"], false),
        (["HTTP/1.1 200 OK", "Upgrade: websocket", "Connection: Upgrade", "Content-Length: 0"], false),
    ])
    func `only a 101 that names WebSocket alone switches the protocol`(lines: [String], switches: Bool) throws {
        var parser = ResponseHeadParser()
        var buffer = ByteBuffer(bytes: head(lines))
        let parsed = try parser.next(&buffer, answering: .get)
        let answer = try #require(parsed)
        #expect(answer.switchesToWebSocket == switches)
        let passed = text(CallerResponse.head(of: answer, framing: .none, close: false))
        #expect(passed.contains("\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n") == switches)
        #expect(!passed.contains("Content-Length"))
    }
}
