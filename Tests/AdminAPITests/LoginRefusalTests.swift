internal import AdminAPI
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import SignIn
internal import TestKit
internal import Testing
internal import TokenModel

/// What other pages, other hosts and strangers can make the listener for sign-ins do: nothing.
@Suite struct LoginRefusalTests {
    /// A request that must not be served, and its status.
    struct Refused: Sendable, CustomTestStringConvertible {
        let status: Int
        let method: HTTPMethod
        let fields: [String: String]

        init(_ status: Int, _ method: HTTPMethod = .GET, _ fields: [String: String] = [:]) {
            self.status = status
            self.method = method
            self.fields = fields
        }

        var testDescription: String { "\(self.method) \(self.fields) → \(self.status)" }
    }

    static let refused = [
        Refused(421, .GET, ["Host": "evil.example"]),
        Refused(421, .GET, ["Host": "127.0.0.1"]),
        Refused(421, .GET, ["Host": "martlet.example:8443"]),
        Refused(421, .GET, ["Host": "martlet.example:80"]),
        Refused(421, .GET, ["Host": "martlet.example."]),
        Refused(421, .GET, ["Host": "x.martlet.example"]),
        Refused(421, .GET, ["Host": "martlet.example, evil.example"]),
        Refused(421, .GET, ["Host": "x@martlet.example"]),
        Refused(421, .POST, ["Host": "evil.example"]),
        Refused(403, .GET, ["Sec-Fetch-Dest": "image"]),
        Refused(403, .GET, ["Sec-Fetch-Dest": "iframe"]),
        Refused(403, .GET, ["Sec-Fetch-Dest": "frame"]),
        Refused(403, .GET, ["Sec-Fetch-Dest": "empty", "Sec-Fetch-Mode": "cors"]),
        Refused(403, .GET, ["Sec-Fetch-Mode": "no-cors"]),
        Refused(403, .GET, ["Sec-Purpose": "prefetch"]),
        Refused(403, .GET, ["Sec-Purpose": "prefetch;prerender"]),
        Refused(403, .GET, ["Purpose": "prefetch"]),
        Refused(405, .HEAD), Refused(405, .POST), Refused(405, .PUT), Refused(405, .DELETE), Refused(405, .OPTIONS),
    ]

    @Test(arguments: refused)
    func `a request that no person made is refused and uses nothing up`(request: Refused) async throws {
        try await LoginFixture.run { login in
            let begun = try await login.begin("bob")
            let attempt = try await login.open()
            let requests = login.provider.requests.count

            for path in ["/login/start/\(begun.id)", attempt.answer, attempt.done] {
                let answer = try await login.get(path, cookie: attempt.cookie, method: request.method, request.fields)
                #expect(answer.status == request.status)
                #expect(answer.headers["set-cookie"].isEmpty && answer.headers["location"].isEmpty)
                #expect(!answer.body.contains("example"))
                #expect(answer.headers.first(name: "connection") == "close")
            }

            #expect(login.provider.requests.count == requests)
            #expect(login.provider.codes.isEmpty)
            #expect(try await login.get(attempt.answer, cookie: attempt.cookie).status == 303)
        }
    }

    @Test(arguments: ["martlet.example", "MARTLET.example", "martlet.example:443"])
    func `the redirect URI's authority is the one right Host`(host: String) async throws {
        try await LoginFixture.run { login in
            let begun = try await login.begin()
            let fields = ["Host": host, "Sec-Fetch-Site": "cross-site"]
            let answer = try await login.get("/login/start/\(begun.id)", fields)
            #expect(answer.status == 303)
        }
    }

    @Test func `a browser that says nothing about its request is served`() async throws {
        try await LoginFixture.run { login in
            let begun = try await login.begin()
            let answer = try await login.caller.send(
                .GET,
                "/login/start/\(begun.id)",
                fields: ["Host": "martlet.example"]
            )
            #expect(answer.status == 303)
        }
    }

    @Test(arguments: [
        "GET /login/start/ID HTTP/1.1\r\n",
        "GET /login/start/ID HTTP/1.1\r\nHost: martlet.example\r\nHost: martlet.example\r\n",
        "GET https://martlet.example/login/start/ID HTTP/1.1\r\nHost: martlet.example\r\n",
        "GET http://evil.example/login/start/ID HTTP/1.1\r\nHost: martlet.example\r\n",
        "GET x:/login/start/ID HTTP/1.1\r\nHost: martlet.example\r\n",
    ])
    func `a request without a Host, with two or with a whole address is refused`(head: String) async throws {
        try await LoginFixture.run { login in
            let begun = try await login.begin()
            let request = head.replacing("ID", with: begun.id.rawValue)
            let outcome = try await RawConnection.exchange(
                with: login.server.address,
                sending: request + "\r\n",
                then: nil
            )
            #expect(outcome.hasPrefix("HTTP/1.1 4"))
            #expect(!outcome.contains("example"))
            #expect(login.provider.requests.isEmpty)
        }
    }

    @Test(arguments: [
        "/", "/login", "/login/", "/login/start", "/login/start/", "/login/start/x", "/login/done/x", "/login/nothing",
        "/login//callback", "/v1/accounts", "/healthz", "/metrics", "/dashboard.css", "/favicon.ico",
        "/login/start/ID/", "/login/start/ID%00", "/login%2Fstart/ID", "//login/start/ID", "/login/../login/start/ID",
        "/LOGIN/start/ID", "/other?code=x&state=y",
    ])
    func `nothing else is served`(path: String) async throws {
        try await LoginFixture.run { login in
            let begun = try await login.begin()
            let answer = try await login.get(path.replacing("ID", with: begun.id.rawValue))
            #expect(answer.status == 404)
            #expect(answer.body == "Not Found\n")
            #expect(login.provider.requests.isEmpty)
        }
    }

    @Test func `a body is not read`() async throws {
        try await LoginFixture.run { login in
            let begun = try await login.begin()
            let head = """
                GET /login/start/\(begun.id) HTTP/1.1\r
                Host: martlet.example\r
                Content-Length: 99999999999999\r
                \r

                """
            // How much of it the kernel takes depends on the machine. It is far more than a test can send, so only a
            // server that does not read it ends the connection.
            let received = try await RawConnection.exchange(
                with: login.server.address,
                sending: head,
                then: String(repeating: "x", count: 65_536)
            )
            #expect(received.hasPrefix("HTTP/1.1 303 "))
        }
    }

    @Test(arguments: ["", "G", "GET /login/start/x HTTP/1.1\r\nHost: martlet.example\r\n"])
    func `a connection without a complete head is closed in time`(bytes: String) async throws {
        try await LoginFixture.run(limits: AdminLimits(firstHeadTime: .milliseconds(100))) { login in
            let outcome = try await RawConnection.exchange(with: login.server.address, sending: bytes, then: nil)
            #expect(outcome == "")
        }
    }

    @Test func `strangers with many silent connections keep nobody out`() async throws {
        let limits = AdminLimits(connections: 16, firstHeadTime: .seconds(600), idleTime: .seconds(600))
        try await LoginFixture.run(limits: limits) { login in
            var silent: [any Channel] = []
            for _ in 0..<64 {
                let connection = ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                silent.append(
                    try await connection.connect(host: "127.0.0.1", port: login.server.address.port).get()
                )
            }
            let outcome = await Result {
                let attempt = try await within("the sign-in to be opened") {
                    try await login.open()
                }
                #expect(try await login.get(attempt.answer, cookie: attempt.cookie).status == 303)
            }
            for connection in silent { try? await connection.close() }
            try outcome.get()
        }
    }

    @Test func `a busy port is reported in one line`() async throws {
        try await LoginFixture.run { login in
            let address = login.server.address
            let error = await #expect(throws: AdminServerError(.addressInUse, "")) {
                _ = try await LoginServer.listen(
                    on: address,
                    signIns: { login.signIns },
                    redirectURI: LoginFixture.redirectURI,
                    logger: login.logs.logger
                )
            }
            #expect(
                error?.message == "the listener for sign-ins can't listen on \(address): another process listens "
                    + "there; stop the other process or change login.address"
            )
        }
    }

    @Test(arguments: ["", "martlet.example/login/callback", "https://a.example", "https://a.example/callback"])
    func `a redirect URI elsewhere than under login is refused`(redirectURI: String) async throws {
        try await LoginFixture.run { login in
            await #expect(throws: AdminServerError(.listenerFailed, "")) {
                _ = try await LoginServer.listen(
                    on: AdminAddress(host: "127.0.0.1", port: 0),
                    signIns: { login.signIns },
                    redirectURI: redirectURI,
                    logger: login.logs.logger
                )
            }
        }
    }
}
