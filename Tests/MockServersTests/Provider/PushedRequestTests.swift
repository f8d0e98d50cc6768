import MockServers
import Testing

@Suite(.timeLimit(.minutes(1))) struct PushedRequestTests {
    struct Pushed: Decodable {
        let request_uri: String
        let expires_in: Int
    }

    /// What a client pushes, without its credentials.
    static let request = "response_type=code&redirect_uri=http://127.0.0.1:1/cb&state=s1&login_hint=alice&scope=read"

    func push(_ address: ListeningAddress) async throws -> Pushed {
        let response = try await address.post("/oauth/par", Self.request)
        #expect(response.status == 201)
        return try response.json()
    }

    @Test func `a pushed request is approved once, whatever stands beside its URI`() async throws {
        try await MockServer.withRunning { address in
            let pushed = try await self.push(address)
            #expect(pushed.request_uri.hasPrefix("urn:ietf:params:oauth:request_uri:"))
            #expect(pushed.expires_in == 60)

            let query = "client_id=mock-client&request_uri=\(pushed.request_uri)"
            let redirection = try await address.authorize("\(query)&state=s2&login_hint=bob&scope=write")
            #expect(redirection["state"] == "s1")
            let tokens: TokenReply = try await address.redeem(redirection).json()
            #expect(tokens.scope == "read")
            #expect(try await address.api("/api/echo", token: tokens.accessToken).json(Echo.self).account == "alice")

            let second = try await address.request("GET", "/oauth/authorize?\(query)")
            #expect(second.status == 400)
            #expect(try second.json(ErrorReply.self).error == "invalid_request_uri")
        }
    }

    @Test func `another client can't use a pushed request, and doesn't use it up`() async throws {
        try await MockServer.withRunning { address in
            let uri = try await self.push(address).request_uri
            for query in ["client_id=other&request_uri=\(uri)", "request_uri=\(uri)"] {
                #expect(try await address.request("GET", "/oauth/authorize?\(query)").status == 400)
            }
            #expect(try await address.authorize("client_id=mock-client&request_uri=\(uri)")["code"] != nil)
        }
    }

    @Test(arguments: [
        ("response_type=token&redirect_uri=http://127.0.0.1:1/cb", "unsupported_response_type"),
        ("redirect_uri=http://127.0.0.1:1/cb", "invalid_request"),
        ("response_type=code", "invalid_request"),
        ("response_type=code&redirect_uri=/cb", "invalid_request"),
        ("response_type=code&redirect_uri=http://127.0.0.1:1/cb&code_challenge=x", "invalid_request"),
        ("response_type=code&redirect_uri=http://127.0.0.1:1/cb&request_uri=urn:x", "invalid_request"),
    ])
    func `a request that could not be approved can't be pushed`(form: String, error: String) async throws {
        try await MockServer.withRunning { address in
            let response = try await address.post("/oauth/par", form)
            #expect(response.status == 400)
            #expect(try response.json(ErrorReply.self).error == error)
        }
    }

    @Test func `an unknown client can't push`() async throws {
        try await MockServer.withRunning { address in
            let response = try await address.request(
                "POST",
                "/oauth/par",
                ListeningAddress.formFields,
                body: "client_id=mock-client&client_secret=wrong&\(Self.request)"
            )
            #expect(response.status == 401)
        }
    }

    @Test func `a provider that requires pushed requests approves no others`() async throws {
        try await MockServer.withRunning { address in
            try await address.signInRules(#"{"metadata": {"par_required": true}}"#)
            let plain = try await address.authorize()
            #expect(plain["error"] == "invalid_request")
            #expect(plain["state"] == "s1")
            let uri = try await self.push(address).request_uri
            #expect(try await address.authorize("client_id=mock-client&request_uri=\(uri)")["code"] != nil)
        }
    }
}
