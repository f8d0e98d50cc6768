import MockServers
import Testing

@Suite(.timeLimit(.minutes(1))) struct ControlEndpointsTests {
    @Test func `a grant is made without a sign-in`() async throws {
        try await MockServer.withRunning(MockOptions(rules: TokenRules(accessLifetime: .seconds(700)))) { address in
            let granted = try await address.grant("alice")
            #expect(granted.account == "alice")
            #expect(granted.expiresIn == 700)
            #expect(try await address.stats().live == ["alice": .init(refresh: 1, access: 1)])
        }
    }

    @Test(arguments: [#"{}"#, #"{"account": 1}"#, #"{"account": ""}"#, "", "[]"])
    func `a grant without an account is refused`(body: String) async throws {
        try await MockServer.withRunning { address in
            let response = try await address.request("POST", "/_control/grants", body: body)
            #expect(response.status == 400)
        }
    }

    @Test func `all access tokens can be made to expire now`() async throws {
        try await MockServer.withRunning { address in
            let granted = try await address.grant()
            let response = try await address.request("POST", "/_control/expire")
            #expect(response.text == #"{"expired":1}"# + "\n")
            #expect(try await address.api("/api/echo", token: granted.accessToken).status == 401)
            #expect(try await address.stats().apiRequests.expired == 1)
        }
    }

    @Test func `all tokens ever issued are listed, even dead ones`() async throws {
        let rules = TokenRules(rotates: true)
        try await MockServer.withRunning(MockOptions(rules: rules)) { address in
            let granted = try await address.grant()
            _ = try await address.refresh(granted.refreshToken)
            _ = try await address.request("POST", "/_control/expire")
            let told = try await address.request("GET", "/_control/tokens").text
            #expect(told.contains(granted.accessToken))
            let refreshToken = try #require(granted.refreshToken)
            #expect(told.contains(refreshToken))
            #expect(told.split(separator: ",").count == 4)
        }
    }

    @Test func `invalid fault rules change nothing`() async throws {
        try await MockServer.withRunning { address in
            let granted = try await address.grant()
            try await address.faults(#"[{"on": "api", "times": 0, "status": 503}]"#)
            let response = try await address.request("PUT", "/_control/faults", body: #"[{"on": "api", "state": 500}]"#)
            #expect(response.status == 400)
            #expect(response.text.contains("[0].state"))
            #expect(try await address.api("/api/echo", token: granted.accessToken).status == 503)
        }
    }

    @Test(arguments: [
        ("GET", "/_control/grants", 405), ("GET", "/_control/expire", 405), ("POST", "/_control/faults", 405),
        ("POST", "/_control/sign_in", 405), ("POST", "/_control/stats", 405), ("POST", "/_control/tokens", 405),
        ("GET", "/_control/nothing", 404),
        ("GET", "/", 404),
        ("POST", "/oauth/jwks", 405), ("GET", "/oauth/introspect", 405), ("GET", "/oauth/par", 405),
        ("POST", "/oauth/consent", 405), ("GET", "/oauth/nothing", 404),
    ])
    func `an unknown path or method gets 404 or 405`(method: String, path: String, status: Int) async throws {
        try await MockServer.withRunning { address in
            let response = try await address.request(method, path)
            #expect(response.status == status)
        }
    }
}
