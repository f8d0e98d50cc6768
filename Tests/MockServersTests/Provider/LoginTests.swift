import MockServers
import Testing

@Suite(.timeLimit(.minutes(1))) struct LoginTests {
    static let verifier = AuthorizationCodesTests.verifier
    static let challenge = AuthorizationCodesTests.challenge

    /// Opens the authorization page and returns the query of the address it redirects to.
    func authorize(_ address: ListeningAddress, _ query: String) async throws -> FormBody {
        let response = try await address.request("GET", "/oauth/authorize?client_id=mock-client&\(query)")
        #expect(response.status == 302)
        let location = try #require(response.value("Location"))
        #expect(location.hasPrefix("http://127.0.0.1:1/cb?"))
        return try FormBody(location.drop { $0 != "?" }.dropFirst())
    }

    @Test func `a person approves at once, and the code with its verifier yields tokens`() async throws {
        try await MockServer.withRunning { address in
            let redirect = try await self.authorize(
                address,
                "response_type=code&redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2Fcb&state=s%261&scope=read&account=alice"
                    + "&code_challenge=\(Self.challenge)&code_challenge_method=S256"
            )
            #expect(redirect["state"] == "s&1")
            #expect(redirect["iss"] == "\(address)")
            let code = try redirect.require("code")
            let form =
                "grant_type=authorization_code&code=\(code)&redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2Fcb"

            let unproven = try await address.post("/oauth/token", form)
            #expect(try unproven.json(ErrorReply.self).error == "invalid_grant")

            let tokens: TokenReply = try await address.post("/oauth/token", "\(form)&code_verifier=\(Self.verifier)")
                .json()
            #expect(tokens.refreshToken != nil)
            #expect(tokens.scope == "read")
            #expect(try await address.api("/api/echo", token: tokens.accessToken).json(Echo.self).account == "alice")

            let replayed = try await address.post("/oauth/token", "\(form)&code_verifier=\(Self.verifier)")
            #expect(try replayed.json(ErrorReply.self).error == "invalid_grant")
            #expect(try await address.api("/api/echo", token: tokens.accessToken).status == 401)
        }
    }

    @Test(arguments: [
        ("response_type=token&redirect_uri=http://127.0.0.1:1/cb", "unsupported_response_type"),
        ("redirect_uri=http://127.0.0.1:1/cb", "invalid_request"),
        ("response_type=code&redirect_uri=http://127.0.0.1:1/cb&code_challenge=x", "invalid_request"),
        (
            "response_type=code&redirect_uri=http://127.0.0.1:1/cb&code_challenge=x&code_challenge_method=plain",
            "invalid_request"
        ),
    ])
    func `a request that can't be approved redirects with an error`(query: String, error: String) async throws {
        try await MockServer.withRunning { address in
            let redirect = try await self.authorize(address, "\(query)&state=s1")
            #expect(redirect["error"] == error)
            #expect(redirect["state"] == "s1")
            #expect(redirect["code"] == nil)
        }
    }

    @Test(arguments: [
        "client_id=other&response_type=code&redirect_uri=http://127.0.0.1:1/cb",
        "client_id=mock-client&response_type=code",
        "client_id=mock-client&response_type=code&redirect_uri=/cb",
        "client_id=mock-client&response_type=code&redirect_uri=http://127.0.0.1:1/cb%23f",
        "client_id=mock-client&response_type=code&redirect_uri=http://127.0.0.1:1/cb%0D%0AX:y",
    ])
    func `a request without a safe redirect URI is not redirected`(query: String) async throws {
        try await MockServer.withRunning { address in
            let response = try await address.request("GET", "/oauth/authorize?\(query)")
            #expect(response.status == 400)
            #expect(response.value("Location") == nil)
        }
    }

    @Test func `a device waits until a person has opened the page`() async throws {
        struct Start: Decodable {
            let device_code: String
            let verification_uri_complete: String
            let interval: Int
        }

        try await MockServer.withRunning { address in
            let ignored: Start = try await address.post("/oauth/device_authorization", "account=radio").json()
            let start: Start = try await address.post("/oauth/device_authorization", "account=tv").json()
            #expect(start.interval == 1)
            let poll = "grant_type=urn:ietf:params:oauth:grant-type:device_code&device_code="

            #expect(try await address.request("GET", "/oauth/device?user_code=ZZZZ-ZZZZ").status == 400)
            let page = start.verification_uri_complete.dropFirst("\(address)".count)
            #expect(try await address.request("GET", String(page)).status == 200)

            let early = try await address.post("/oauth/token", "\(poll)\(ignored.device_code)")
            #expect(try early.json(ErrorReply.self).error == "authorization_pending")
            let tokens: TokenReply = try await address.post("/oauth/token", "\(poll)\(start.device_code)").json()
            #expect(tokens.refreshToken != nil)
            #expect(try await address.api("/api/echo", token: tokens.accessToken).json(Echo.self).account == "tv")
        }
    }

    @Test func `an unknown client gets no device code`() async throws {
        try await MockServer.withRunning { address in
            let response = try await address.request(
                "POST",
                "/oauth/device_authorization",
                ListeningAddress.formFields,
                body: "client_id=other"
            )
            #expect(response.status == 401)
        }
    }
}
