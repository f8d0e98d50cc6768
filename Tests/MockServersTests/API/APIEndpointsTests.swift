import MockServers
import NIOCore
import Testing

@Suite(.timeLimit(.minutes(1))) struct APIEndpointsTests {
    @Test func `the echo returns the request as it was on the wire`() async throws {
        try await MockServer.withRunning { address in
            let token = try await address.grant().accessToken
            let response = try await Wire.open(address) { wire in
                try await wire.send(
                    "PROPFIND /api/echo/a%2Fb//c?x=1&&y=%20? HTTP/1.1\r\nX-First: 1\r\nhOsT: example.test\r\n"
                        + "AUTHORIZATION: bEaReR \(token)\r\nX-Twice: a\r\nx-other:   padded \r\nX-TWICE: b\r\n"
                        + "Cookie: a=1; b=2\r\nX-Empty:\r\nTransfer-Encoding: chunked\r\n\r\n"
                        + "3\r\nabc\r\n0\r\nX-Trailer: t\r\n\r\n"
                )
                return try #require(await wire.response())
            }
            let echo: Echo = try response.json()

            // The parser drops whitespace before a value, and keeps whitespace after it.
            #expect(echo.method == "PROPFIND")
            #expect(echo.path == "/api/echo/a%2Fb//c")
            #expect(echo.query == "x=1&&y=%20?")
            #expect(
                echo.headers == [
                    ["X-First", "1"], ["hOsT", "example.test"], ["AUTHORIZATION", "bEaReR \(token)"],
                    ["X-Twice", "a"], ["x-other", "padded "], ["X-TWICE", "b"], ["Cookie", "a=1; b=2"],
                    ["X-Empty", ""], ["Transfer-Encoding", "chunked"],
                ]
            )
            #expect(echo.bodySize == 3)
            #expect(echo.bodySHA256 == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
            #expect(echo.account == "a0")
        }
    }

    @Test func `a large body is hashed while it arrives`() async throws {
        try await MockServer.withRunning { address in
            let token = try await address.grant().accessToken
            let megabyte = ByteBuffer(repeating: UInt8(ascii: "a"), count: 1_000_000)
            let echo: Echo = try await Wire.open(address) { wire in
                try await wire.send(
                    address.message(
                        "PUT",
                        "/api/echo",
                        [
                            ("Authorization", "Bearer \(token)"), ("Content-Length", "50000000"),
                        ]
                    )
                )
                for _ in 0..<50 { try await wire.send(megabyte) }
                return try #require(await wire.response()).json()
            }
            #expect(echo.bodySize == 50_000_000)
            // The letter a, 50,000,000 times.
            #expect(echo.bodySHA256 == "593e04feb61df0211f75980e7c142aa33fe53502e9a4fc2d3072b0d3bd2b9794")
        }
    }

    @Test(arguments: [
        ("Bearer made-up", 401), ("Basic bW9jay1jbGllbnQ6bW9jay1zZWNyZXQ=", 401), ("Bearer", 401), (nil, 401),
    ])
    func `a request without a live token gets a 401`(authorization: String?, status: Int) async throws {
        try await MockServer.withRunning { address in
            let response = try await address.request(
                "GET",
                "/api/echo",
                authorization.map { [("Authorization", $0)] } ?? []
            )
            #expect(response.status == status)
            #expect(response.value("WWW-Authenticate") == #"Bearer error="invalid_token""#)
        }
    }

    @Test func `each request counts once, by the state of its token`() async throws {
        try await MockServer.withRunning { address in
            let granted = try await address.grant()
            let revoked = try await address.grant("a1")
            _ = try await address.post("/oauth/revoke", "token=\(revoked.accessToken)")

            _ = try await address.api("/api/echo", token: granted.accessToken)
            _ = try await address.api("/api/nothing", token: granted.accessToken)
            _ = try await address.request("GET", "/api/echo")
            _ = try await address.api("/api/echo", token: "made-up")
            _ = try await address.api("/api/status/500", token: revoked.accessToken)
            _ = try await address.request("POST", "/_control/expire")
            _ = try await address.api("/api/bytes/3?x=1", token: granted.accessToken)
            _ = try await address.request(
                "GET",
                "/api/echo",
                [
                    ("Authorization", "Bearer \(granted.accessToken)"),
                    ("Authorization", "Bearer \(revoked.accessToken)"),
                ]
            )

            let stats = try await address.stats()
            #expect(
                stats.apiRequests == .init(ok: 2, noToken: 1, unknown: 2, expired: 1, revoked: 1, fault: 0)
            )
            #expect(
                stats.deadUses.map { "\($0.account) \($0.state) \($0.path)" } == [
                    "a1 revoked /api/status/500", "a0 expired /api/bytes/3", "a0 expired /api/echo",
                    "a1 revoked /api/echo",
                ]
            )
            #expect(Set(stats.apiLastUse.keys) == ["a0", "a1"])
        }
    }

    @Test(arguments: [200, 204, 304, 401, 404, 418, 503, 599])
    func `any status can be requested, and the connection stays usable`(status: Int) async throws {
        try await MockServer.withRunning { address in
            let token = try await address.grant().accessToken
            let request = address.message(
                "POST",
                "/api/status/\(status)",
                [("Authorization", "Bearer \(token)")],
                body: "x"
            )
            try await Wire.open(address) { wire in
                for _ in 0..<2 {
                    try await wire.send(request)
                    #expect(await wire.response()?.status == status)
                }
            }
        }
    }

    @Test(arguments: [
        "/api/status/199", "/api/status/600", "/api/status/x", "/api/status", "/api/bytes/-1", "/api/delay/1/2",
        "/api/",
    ])
    func `an unknown path is 404`(path: String) async throws {
        try await MockServer.withRunning { address in
            let token = try await address.grant().accessToken
            #expect(try await address.api(path, token: token).status == 404)
        }
    }

    @Test(arguments: [0, 1, 250, 251, 65_510, 65_511, 65_512, 1_000_000])
    func `bytes follow a pattern that reveals a lost byte`(count: Int) async throws {
        try await MockServer.withRunning { address in
            let token = try await address.grant().accessToken
            let response = try await address.api("/api/bytes/\(count)", token: token)
            #expect(response.value("Content-Length") == "\(count)")
            #expect(response.body.count == count)
            #expect(response.body.indices.allSatisfy { response.body[$0] == BytePattern.byte(at: $0) })

            let head = try await address.request("HEAD", "/api/bytes/\(count)", [("Authorization", "Bearer \(token)")])
            #expect(head.value("Content-Length") == "\(count)")
        }
    }

    @Test func `events arrive one by one`() async throws {
        try await MockServer.withRunning { address in
            let token = try await address.grant().accessToken
            try await Wire.open(address) { wire in
                try await wire.send(
                    address.message("GET", "/api/stream/3?every=2h", [("Authorization", "Bearer \(token)")])
                )
                // The second event comes two hours later. The first must not wait for it.
                while await wire.readMore() {
                    if String(decoding: wire.pending, as: UTF8.self).contains("data: event 1\n\n") { break }
                }
                let text = String(decoding: wire.pending, as: UTF8.self)
                #expect(text.lowercased().contains("content-type: text/event-stream"))
                #expect(text.contains("data: event 1") && !text.contains("data: event 2"))
            }

            let start = ContinuousClock.now
            let stream = try await address.api("/api/stream/5?every=50ms", token: token)
            #expect(ContinuousClock.now - start >= .milliseconds(200))
            #expect(stream.text == (1...5).map { "id: \($0)\ndata: event \($0)\n\n" }.joined())
            #expect(try await address.api("/api/stream/5?every=soon", token: token).status == 400)
            let head = try await address.request("HEAD", "/api/stream/5", [("Authorization", "Bearer \(token)")])
            #expect(head.status == 405)
        }
    }

    @Test func `a delayed response comes after its delay`() async throws {
        try await MockServer.withRunning { address in
            let token = try await address.grant().accessToken
            let start = ContinuousClock.now
            #expect(try await address.api("/api/delay/150", token: token).status == 200)
            #expect(ContinuousClock.now - start >= .milliseconds(150))
        }
    }
}
