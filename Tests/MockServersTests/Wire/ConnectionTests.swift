import MockServers
import Testing

@Suite(.timeLimit(.minutes(1))) struct ConnectionTests {
    @Test func `many pipelined requests go over one connection`() async throws {
        try await MockServer.withRunning { address in
            let token = try await address.grant().accessToken
            try await Wire.open(address) { wire in
                let requests = (0..<5).map {
                    address.message("POST", "/api/echo/\($0)", [("Authorization", "Bearer \(token)")], body: "\($0)")
                }
                try await wire.send(requests.joined())
                for number in 0..<5 {
                    let echo: Echo = try #require(await wire.response()).json()
                    #expect(echo.path == "/api/echo/\(number)")
                }
            }
        }
    }

    @Test(arguments: [
        ("HTTP/1.1", "Connection: close\r\n", true), ("HTTP/1.1", "Connection: TE, CLOSE\r\n", true),
        ("HTTP/1.0", "", true), ("HTTP/1.0", "Connection: keep-alive\r\n", false), ("HTTP/1.1", "", false),
    ])
    func `a connection ends when HTTP requires it`(version: String, field: String, ends: Bool) async throws {
        try await MockServer.withRunning { address in
            try await Wire.open(address) { wire in
                let request = "GET /oauth/jwks \(version)\r\nHost: a\r\n\(field)\r\n"
                try await wire.send(request)
                let response = try #require(await wire.response())
                #expect((response.value("Connection") == "close") == ends)
                if ends {
                    #expect(await wire.readToEnd().isEmpty)
                } else {
                    try await wire.send(request)
                    #expect(await wire.response()?.status == 200)
                }
            }
        }
    }

    @Test func `a client that expects 100 Continue gets it`() async throws {
        try await MockServer.withRunning { address in
            let token = try await address.grant().accessToken
            try await Wire.open(address) { wire in
                try await wire.send(
                    address.message(
                        "PUT",
                        "/api/echo",
                        [
                            ("Authorization", "Bearer \(token)"), ("Expect", "100-continue"), ("Content-Length", "3"),
                        ]
                    )
                )
                #expect(await wire.response()?.status == 100)
                try await wire.send("abc")
                #expect(try #require(await wire.response()).json(Echo.self).bodySize == 3)
            }
        }
    }

    @Test func `a refusal without 100 Continue closes the connection`() async throws {
        try await MockServer.withRunning { address in
            try await Wire.open(address) { wire in
                try await wire.send(
                    address.message("PUT", "/api/echo", [("Expect", "100-continue"), ("Content-Length", "3")])
                )
                let response = try #require(await wire.response())
                #expect(response.status == 401)
                #expect(response.value("Connection") == "close")
                #expect(await wire.readToEnd().isEmpty)
            }
        }
    }

    @Test func `a refusal is sent before the rest of an upload arrives`() async throws {
        try await MockServer.withRunning { address in
            try await Wire.open(address) { wire in
                try await wire.send(
                    address.message("PUT", "/api/echo", [("Authorization", "Bearer no"), ("Content-Length", "10")])
                )
                #expect(await wire.response()?.status == 401)
                try await wire.send("0123456789\(address.message("GET", "/oauth/jwks"))")
                #expect(await wire.response()?.status == 200)
            }
        }
    }

    @Test func `bytes that are not HTTP get a 400, and the connection closes`() async throws {
        try await MockServer.withRunning { address in
            try await Wire.open(address) { wire in
                try await wire.send("no such thing\r\n\r\n")
                let answer = String(decoding: await wire.readToEnd(), as: UTF8.self)
                #expect(answer.hasPrefix("HTTP/1.1 400"))
            }
        }
    }

    @Test func `six hundred concurrent connections are all served`() async throws {
        try await MockServer.withRunning { address in
            let token = try await address.grant().accessToken
            let request = address.message("GET", "/api/delay/200", [("Authorization", "Bearer \(token)")])
            try await withThrowingTaskGroup(of: Int?.self) { group in
                for _ in 0..<600 {
                    group.addTask {
                        try await Wire.open(address) { wire in
                            try await wire.send(request)
                            return await wire.response()?.status
                        }
                    }
                }
                for try await status in group { #expect(status == 200) }
            }
            #expect(try await address.stats().apiRequests.ok == 600)
        }
    }
}
