import MockServers
import NIOCore
import TestKit
import Testing

@Suite(.timeLimit(.minutes(1))) struct TokenEndpointTests {
    @Test func `a refresh rotates the token, and the response must not be cached`() async throws {
        try await MockServer.withRunning(MockOptions(rules: TokenRules(rotates: true))) { address in
            let granted = try await address.grant()
            let response = try await address.refresh(granted.refreshToken)
            let tokens: TokenReply = try response.json()

            #expect(response.status == 200)
            #expect(response.value("Cache-Control") == "no-store")
            #expect(tokens.tokenType == "Bearer")
            #expect(tokens.expiresIn == 60)
            #expect(tokens.refreshToken != nil && tokens.refreshToken != granted.refreshToken)
            #expect(try await address.api("/api/echo", token: tokens.accessToken).status == 200)
            #expect(try await address.refresh(granted.refreshToken).status == 400)

            let stats = try await address.stats()
            #expect(stats.tokenRequests.ok == 1)
            #expect(stats.tokenRequests.invalidGrant == 1)
            #expect(stats.refreshTokenUses == ["a0": [2]])
            #expect(stats.tokenRequestsAtOnce == .init(any: 1, perRefreshToken: 1))
        }
    }

    /// How a client authenticates, and the response it gets.
    struct Client: CustomTestStringConvertible {
        let what: String
        var authorization: String?
        var form = ""
        let status: Int
        let error: String?

        var testDescription: String { self.what }
    }

    @Test(arguments: [
        // mock-client:mock-secret
        Client(what: "basic", authorization: "Basic bW9jay1jbGllbnQ6bW9jay1zZWNyZXQ=", status: 200, error: nil),
        // mock%2Dclient:mock%2Dsecret, encoded as RFC 6749 §2.3.1 requires
        Client(
            what: "basic, escaped",
            authorization: "basic bW9jayUyRGNsaWVudDptb2NrJTJEc2VjcmV0",
            status: 200,
            error: nil
        ),
        Client(what: "post", form: "&client_id=mock-client&client_secret=mock-secret", status: 200, error: nil),
        Client(
            what: "basic, and the same client named in the form",
            authorization: "Basic bW9jay1jbGllbnQ6bW9jay1zZWNyZXQ=",
            form: "&client_id=mock-client",
            status: 200,
            error: nil
        ),
        Client(
            what: "basic, and another client named in the form",
            authorization: "Basic bW9jay1jbGllbnQ6bW9jay1zZWNyZXQ=",
            form: "&client_id=other",
            status: 401,
            error: "invalid_client"
        ),
        Client(
            what: "both ways at once",
            authorization: "Basic bW9jay1jbGllbnQ6bW9jay1zZWNyZXQ=",
            form: "&client_id=mock-client&client_secret=mock-secret",
            status: 400,
            error: "invalid_request"
        ),
        Client(what: "nobody", status: 401, error: "invalid_client"),
        Client(what: "no secret", form: "&client_id=mock-client", status: 401, error: "invalid_client"),
        Client(
            what: "a wrong secret",
            form: "&client_id=mock-client&client_secret=no",
            status: 401,
            error: "invalid_client"
        ),
        Client(
            what: "an unknown client",
            form: "&client_id=no&client_secret=mock-secret",
            status: 401,
            error: "invalid_client"
        ),
        Client(what: "a broken header", authorization: "Basic !", status: 401, error: "invalid_client"),
    ])
    func `a client sends its secret either in the header or in the form`(client: Client) async throws {
        try await MockServer.withRunning { address in
            let granted = try await address.grant()
            let response = try await address.request(
                "POST",
                "/oauth/token",
                ListeningAddress.formFields + (client.authorization.map { [("Authorization", $0)] } ?? []),
                body: "grant_type=refresh_token&refresh_token=\(granted.refreshToken ?? "")\(client.form)"
            )

            #expect(response.status == client.status)
            #expect((try? response.json(ErrorReply.self))?.error == client.error)
            #expect((response.value("WWW-Authenticate") != nil) == (client.status == 401))
            let counts = try await address.stats().tokenRequests
            #expect(counts.ok == (client.status == 200 ? 1 : 0))
            #expect(counts.invalidClient == (client.status == 401 ? 1 : 0))
            #expect(counts.invalidGrant == (client.status == 400 ? 1 : 0))
        }
    }

    @Test(arguments: [
        ("", "invalid_request"),
        ("grant_type=implicit", "unsupported_grant_type"),
        ("grant_type=password", "invalid_request"),
        ("grant_type=refresh_token", "invalid_request"),
        ("grant_type=refresh_token&refresh_token=made-up", "invalid_grant"),
        ("grant_type=refresh_token&grant_type=refresh_token", "invalid_request"),
        ("grant_type=authorization_code&code=made-up", "invalid_grant"),
        ("grant_type=urn:ietf:params:oauth:grant-type:device_code&device_code=made-up", "invalid_grant"),
    ])
    func `a request that can't be granted gets a reason, and counts once`(form: String, error: String) async throws {
        try await MockServer.withRunning { address in
            let response = try await address.post("/oauth/token", form)

            #expect(response.status == 400)
            #expect(try response.json(ErrorReply.self).error == error)
            #expect(try await address.stats().tokenRequests.invalidGrant == 1)
        }
    }

    @Test func `a body that is not a form is refused`() async throws {
        try await MockServer.withRunning { address in
            let json = try await address.request(
                "POST",
                "/oauth/token",
                [("Content-Type", "application/json")],
                body: "{}"
            )
            #expect(try json.json(ErrorReply.self).error == "invalid_request")

            let long = try await address.post("/oauth/token", "x=\(String(repeating: "y", count: 70_000))")
            #expect(try long.json(ErrorReply.self).error == "invalid_request")

            #expect(try await address.request("GET", "/oauth/token").status == 405)
            #expect(try await address.stats().tokenRequests.invalidGrant == 2)
        }
    }

    @Test(arguments: [("", "mock-client"), ("&account=robot", "robot")])
    func `client credentials mint only an access token, for the account in the form`(
        form: String,
        account: String
    ) async throws {
        try await MockServer.withRunning { address in
            let tokens: TokenReply = try await address.post(
                "/oauth/token",
                "grant_type=client_credentials&scope=read\(form)"
            ).json()
            let echo: Echo = try await address.api("/api/echo", token: tokens.accessToken).json()

            #expect(tokens.refreshToken == nil)
            #expect(tokens.scope == "read")
            #expect(echo.account == account)
            #expect(try await address.stats().live == [account: .init(refresh: 0, access: 1)])
        }
    }

    /// Sends a refresh and does not wait for the response.
    func send(_ granted: TokenReply, to address: ListeningAddress, over wire: Wire) async throws {
        let form = "\(ListeningAddress.client)&grant_type=refresh_token&refresh_token=\(granted.refreshToken ?? "")"
        try await wire.send(address.message("POST", "/oauth/token", ListeningAddress.formFields, body: form))
    }

    @Test func `concurrent requests are counted, with one refresh token or several`() async throws {
        try await MockServer.withRunning { address in
            let first = try await address.grant("a0")
            let second = try await address.grant("a1")
            try await address.faults(#"[{"on": "token", "times": 3, "delay": "1h"}]"#)

            try await Wire.open(address) { one in
                try await self.send(first, to: address, over: one)
                try await Wire.open(address) { two in
                    try await self.send(first, to: address, over: two)
                    try await Wire.open(address) { three in
                        try await self.send(second, to: address, over: three)
                        try await eventually("the token request to be counted") {
                            try await address.stats().tokenRequestsAtOnce == .init(any: 3, perRefreshToken: 2)
                        }
                    }
                }
            }
            let stats = try await address.stats()
            #expect(stats.refreshTokenUses == ["a0": [2], "a1": [1]])
            #expect(stats.tokenRequests == .init())
        }
    }

    @Test func `sequential requests do not overlap, because each ends before its response is sent`() async throws {
        try await MockServer.withRunning { address in
            let granted = try await address.grant()
            for _ in 0..<50 { _ = try await address.refresh(granted.refreshToken) }
            #expect(try await address.stats().tokenRequestsAtOnce == .init(any: 1, perRefreshToken: 1))
        }
    }

    @Test func `a retry after a hang-up does not overlap with the first request`() async throws {
        try await MockServer.withRunning { address in
            let granted = try await address.grant()
            try await address.faults(#"[{"on": "token", "delay": "1h"}]"#)
            try await Wire.open(address) { wire in
                try await self.send(granted, to: address, over: wire)
                // The server must have read the request before the client hangs up.
                try await eventually("the refresh token to be used") {
                    try await address.stats().refreshTokenUses == ["a0": [1]]
                }
            }
            // New connections go to the event loops in turn. A loop that has served two of them has seen the hang-up.
            for _ in 0..<(System.coreCount * 2) { _ = try await address.stats() }

            #expect(try await address.refresh(granted.refreshToken).status == 200)

            let stats = try await address.stats()
            #expect(stats.tokenRequestsAtOnce == .init(any: 1, perRefreshToken: 1))
            #expect(stats.refreshTokenUses == ["a0": [2]])
        }
    }

    @Test func `a request is processed even after its client hung up`() async throws {
        try await MockServer.withRunning(MockOptions(rules: TokenRules(rotates: true))) { address in
            let granted = try await address.grant()
            try await address.faults(#"[{"on": "token", "delay": "200ms"}]"#)
            try await Wire.open(address) { wire in
                try await self.send(granted, to: address, over: wire)
                try await eventually("the refresh token to be used") {
                    try await address.stats().refreshTokenUses == ["a0": [1]]
                }
            }

            try await eventually("the token request to succeed") { try await address.stats().tokenRequests.ok == 1 }
            #expect(try await address.refresh(granted.refreshToken).status == 400)
        }
    }
}
