import MockServers
import TestKit
import Testing

/// `PUT /_control/sign_in`, as sign-ins see it.
@Suite(.timeLimit(.minutes(1))) struct SignInBehaviorTests {
    @Test func `the account that signs in can be another one than the client names`() async throws {
        try await MockServer.withRunning { address in
            try await address.signInRules(#"{"account": "bob"}"#)
            let redirection = try await address.authorize("\(ListeningAddress.authorization)&login_hint=alice")
            let browser: TokenReply = try await address.redeem(redirection).json()
            let device = try await address.startDevice("account=tv")
            try await address.approve(device)
            let polled: TokenReply = try await address.poll(device).json()

            for token in [browser.accessToken, polled.accessToken] {
                #expect(try await address.api("/api/echo", token: token).json(Echo.self).account == "bob")
            }
        }
    }

    @Test func `a sign-in can end with any error, which the browser and the device learn`() async throws {
        try await MockServer.withRunning { address in
            let device = try await address.startDevice()
            try await address.approve(device)
            try await address.signInRules(
                #"{"error": "temporarily_unavailable", "error_description": "<script>alert(1)</script>&"}"#
            )

            let redirection = try await address.authorize()
            #expect(redirection["error"] == "temporarily_unavailable")
            #expect(redirection["error_description"] == "<script>alert(1)</script>&")
            #expect(redirection["code"] == nil)
            #expect(redirection["state"] == "s1")
            #expect(redirection["iss"] == "\(address)")
            let polled = try await address.poll(device)
            #expect(polled.status == 400)
            #expect(try polled.json(ErrorReply.self).error == "temporarily_unavailable")

            try await address.signInRules("{}")
            #expect(try await address.authorize()["code"] != nil)
        }
    }

    @Test(
        arguments: [
            (#"{"iss": "missing"}"#, "s1", nil), (#"{"iss": "wrong"}"#, "s1", "https://wrong.example"),
            (#"{"state": "missing"}"#, nil, "right"), (#"{"state": "wrong"}"#, "wrong", "right"),
            (#"{"iss": "missing", "error": "access_denied"}"#, "s1", nil),
        ] as [(String, String?, String?)]
    )
    func `iss and state of the redirection can be missing or wrong`(
        rules: String,
        state: String?,
        issuer: String?
    ) async throws {
        try await MockServer.withRunning { address in
            try await address.signInRules(rules)
            let redirection = try await address.authorize()
            #expect(redirection["state"] == state)
            #expect(redirection["iss"] == (issuer == "right" ? "\(address)" : issuer))
        }
    }

    @Test func `another scope than the requested one can be granted, without a refresh token`() async throws {
        try await MockServer.withRunning { address in
            try await address.signInRules(#"{"scope": "read", "refresh_token": false}"#)
            let device = try await address.startDevice("scope=openid")
            try await address.approve(device)
            for response in [try await address.redeem(try await address.authorize()), try await address.poll(device)] {
                let reply: TokenReply = try response.json()
                #expect(reply.scope == "read")
                #expect(reply.refreshToken == nil)
                #expect(reply.idToken == nil)
            }
            #expect(try await address.grant().refreshToken != nil)
        }
    }

    @Test func `the metadata names what the rules say`() async throws {
        struct Discovery: Decodable {
            let pushed_authorization_request_endpoint: String?
            let require_pushed_authorization_requests: Bool
            let authorization_response_iss_parameter_supported: Bool
            let device_authorization_endpoint: String?
            let grant_types_supported: [String]
        }
        let device = "urn:ietf:params:oauth:grant-type:device_code"

        try await MockServer.withRunning { address in
            let path = "/.well-known/oauth-authorization-server"
            let full: Discovery = try await address.request("GET", path).json()
            #expect(full.pushed_authorization_request_endpoint == "\(address)/oauth/par")
            #expect(!full.require_pushed_authorization_requests)
            #expect(full.authorization_response_iss_parameter_supported)
            #expect(full.device_authorization_endpoint == "\(address)/oauth/device_authorization")
            #expect(full.grant_types_supported.contains(device))

            try await address.signInRules(
                #"{"metadata": {"par": false, "par_required": true, "iss": false, "device": false}}"#
            )
            let bare: Discovery = try await address.request("GET", path).json()
            #expect(bare.pushed_authorization_request_endpoint == nil)
            #expect(bare.require_pushed_authorization_requests)
            #expect(!bare.authorization_response_iss_parameter_supported)
            #expect(bare.device_authorization_endpoint == nil)
            #expect(!bare.grant_types_supported.contains(device))
        }
    }

    @Test func `a device gets the interval and the lifetime of the rules, and is told to slow down`() async throws {
        try await MockServer.withRunning { address in
            try await address.signInRules(#"{"device_interval": 0, "device_expires_in": 30, "slow_down": 2}"#)
            let device = try await address.startDevice()
            #expect(device.interval == 0)
            #expect(device.expires_in == 30)
            try await address.approve(device)

            var answers: [String?] = []
            for _ in 0..<3 {
                answers.append(try? await address.poll(device).json(ErrorReply.self).error)
            }
            #expect(answers == ["slow_down", "slow_down", nil])

            try await address.signInRules(#"{"device_expires_in": 0}"#)
            let late = try await address.poll(try await address.startDevice())
            #expect(try late.json(ErrorReply.self).error == "expired_token")
        }
    }

    @Test func `only the token requests of sign-ins wait for the token delay`() async throws {
        try await MockServer.withRunning { address in
            let granted = try await address.grant()
            let code = try await address.authorize().require("code")
            try await address.signInRules(#"{"token_delay": "1h"}"#)
            let form =
                "\(ListeningAddress.client)&grant_type=authorization_code&redirect_uri=http://127.0.0.1:1/cb&code=\(code)"
            let message = address.message("POST", "/oauth/token", ListeningAddress.formFields, body: form)
            try await Wire.open(address) { waiting in
                try await waiting.send(message)
                try await eventually("the code to arrive") {
                    try await address.stats().tokenRequestsAtOnce.any == 1
                }
                #expect(try await address.refresh(granted.refreshToken).status == 200)
                let stats = try await address.stats()
                #expect(stats.tokenRequestsAtOnce.any == 2)
                #expect(stats.signIns.codesRedeemed == 0)
            }

            try await address.signInRules(#"{"token_delay": "200ms"}"#)
            let start = ContinuousClock.now
            #expect(try await address.redeem(try await address.authorize()).status == 200)
            #expect(ContinuousClock.now - start >= .milliseconds(200))
        }
    }

    @Test func `invalid rules change nothing`() async throws {
        try await MockServer.withRunning { address in
            try await address.signInRules(#"{"error": "access_denied"}"#)
            let response = try await address.request("PUT", "/_control/sign_in", body: #"{"errors": "server_error"}"#)
            #expect(response.status == 400)
            #expect(response.text.contains("errors: unknown key"))
            #expect(try await address.authorize()["error"] == "access_denied")
        }
    }

    @Test func `the statistics count each event of a sign-in`() async throws {
        try await MockServer.withRunning { address in
            _ = try await address.post("/oauth/par", "response_type=code&redirect_uri=http://127.0.0.1:1/cb")
            _ = try await address.post("/oauth/par", "")
            _ = try await address.request("GET", "/oauth/authorize?client_id=other")
            let ignored = "prompt=consent&access_type=offline"
            let redirection = try await address.authorize("\(ListeningAddress.authorization)&\(ignored)")
            for status in [200, 400, 400] {
                #expect(try await address.redeem(redirection).status == status)
            }
            let device = try await address.startDevice()
            _ = try await address.poll(device)
            try await address.approve(device)

            let stats = try await address.stats()
            #expect(
                stats.signIns
                    == .init(authorize: 2, par: 2, device: 1, codesRedeemed: 1, codesReplayed: 2, devicePolls: 1)
            )
            #expect(stats.live == ["mock-user": .init(refresh: 0, access: 0)])
        }
    }
}
