internal import AdminAPI
internal import NIOHTTP1
internal import TestKit
internal import Testing
internal import TokenModel
internal import TokenStorage

@Suite struct RequestBodyTests {
    static let nested17 =
        #"{"refresh_token": \#(String(repeating: "[", count: 16))\#(String(repeating: "]", count: 16))}"#
    static let nested16 =
        #"{"refresh_token": \#(String(repeating: "[", count: 15))\#(String(repeating: "]", count: 15))}"#

    @Test(arguments: [
        (#"{}"#, "refresh_token"),
        (#"{"refresh_token": null}"#, "refresh_token"),
        (#"{"refresh_token": ""}"#, "refresh_token"),
        (#"{"refresh_token": 7}"#, "refresh_token"),
        (#"{"refresh_token": ["canary"]}"#, "refresh_token"),
        (#"{"refresh_token": "two canaries"}"#, "refresh_token"),
        (#"{"refresh_token": "canary\r\nX-Evil: 1"}"#, "refresh_token"),
        (#"{"refresh_token": "canary\u0000"}"#, "refresh_token"),
        (#"{"refresh_token": "canary\u007f"}"#, "refresh_token"),
        (#"{"refresh_token": "canary-é"}"#, "refresh_token"),
        (#"{"refresh_token": "canary", "access_token": "a b"}"#, "access_token"),
        (#"{"refresh_token": "canary", "access_token": ""}"#, "access_token"),
        (#"{"refresh_token": "canary", "access_token": false}"#, "access_token"),
        (#"{"refresh_token": "canary", "access_token": {"canary": 1}}"#, "access_token"),
        (#"{"refresh_token": "canary", "expires_in": -1}"#, "expires_in"),
        (#"{"refresh_token": "canary", "expires_in": 1.5}"#, "expires_in"),
        (#"{"refresh_token": "canary", "expires_in": 1e-3}"#, "expires_in"),
        (#"{"refresh_token": "canary", "expires_in": 1e99}"#, "expires_in"),
        (#"{"refresh_token": "canary", "expires_in": "60"}"#, "expires_in"),
        (#"{"refresh_token": "canary", "expires_in": 99999999999999999999}"#, "expires_in"),
        (#"{"refresh_token": "canary", "refreshToken": "canary"}"#, "refreshToken"),
        (#"{"refresh_token": "canary", "token_type": "Bearer"}"#, "token_type"),
        // A client may have sent the token in place of the field name.
        (#"{"refresh_token": "canary", "canary.0123456789": 1}"#, "body"),
        (#"{"refresh_token": "canary", "refresh_token": "canary"}"#, "body"),
        (#"{"refresh_token": "canary"} "# + "x", "body"),
        (#"{"refresh_token": "canary",}"#, "body"),
        (#"{"refresh_token": "canary""#, "body"),
        (#"{"refresh_token": "canary"#, "body"),
        (#"{refresh_token: "canary"}"#, "body"),
        (#"{'refresh_token': 'canary'}"#, "body"),
        (#"{"refresh_token": "\x"}"#, "body"),
        (#"{"refresh_token": "\ud800"}"#, "body"),
        (#"{"refresh_token": "\u+123"}"#, "body"),
        (#"{"refresh_token": "canary", "expires_in": 01}"#, "body"),
        (#"{"refresh_token": "canary", "expires_in": NaN}"#, "body"),
        ("{\"refresh_token\": \"canary\n\"}", "body"),
        (#"["canary"]"#, "body"), (#""canary""#, "body"), ("7", "body"), ("null", "body"),
        ("", "body"), (" ", "body"), ("canary", "body"), ("refresh_token=canary", "body"),
        (nested16, "refresh_token"), (nested17, "body"),
    ])
    func `an invalid body is refused and the response names the field`(body: String, field: String) async throws {
        try await AdminFixture.run { admin in
            let answer = try await admin.caller.send(.PUT, "/v1/accounts/alice/tokens", body)

            #expect(answer.status == 400)
            #expect(answer.problem == "invalid_field")
            #expect(answer.field == field)
            #expect(try await admin.vault.read(AccountID("alice")) == nil)
        }
    }

    @Test func `bytes that are not UTF-8 are refused`() async throws {
        try await AdminFixture.run { admin in
            let answer = try await admin.caller.send(
                .PUT,
                "/v1/accounts/alice/tokens",
                authorization: "Bearer \(AdminFixture.adminToken)",
                bytes: Array(#"{"refresh_token": ""#.utf8) + [0xC3, 0x28] + Array(#""}"#.utf8)
            )
            #expect(answer.status == 400)
            #expect(answer.field == "body")
        }
    }

    @Test(arguments: ["3600", "3600.0", "36e2", "3.6E+3"])
    func `a whole number is accepted however it is written`(seconds: String) async throws {
        try await AdminFixture.run { admin in
            let answer = try await admin.caller.send(
                .PUT,
                "/v1/accounts/alice/tokens",
                #"{"refresh_token": "canary", "access_token": "canary-2", "expires_in": \#(seconds)}"#
            )
            #expect(answer.status == 200)
            let expiresAt = try AccountRouteTests.milliseconds(try #require(try answer.read(Account.self).expires_at))
            #expect(abs(Double(expiresAt) - AccountRouteTests.now() - 3_600_000) < 60_000)
        }
    }

    @Test(arguments: [(HTTPMethod.POST, "refresh"), (.DELETE, "tokens")])
    func `a request without fields refuses every field`(method: HTTPMethod, path: String) async throws {
        try await AdminFixture.run { admin in
            let answer = try await admin.caller.send(method, "/v1/accounts/alice/\(path)", #"{"force": true}"#)
            #expect(answer.status == 400)
            #expect(answer.field == "force")
        }
    }

    @Test(arguments: ["/v1/kills?state=valid", "/v1/status?", "/readyz?x"])
    func `a query is refused`(path: String) async throws {
        try await AdminFixture.run { admin in
            let answer = try await admin.caller.send(.GET, path)
            #expect(answer.status == 400)
            #expect(answer.field == "query")
        }
    }

    @Test func `a token of maximum length is accepted, and a longer one is refused`() async throws {
        try await AdminFixture.run { admin in
            let longest = String(repeating: "a", count: 16_384)
            let path = "/v1/accounts/alice/tokens"
            let taken = try await admin.caller.send(
                .PUT,
                path,
                #"{"refresh_token": "\#(longest)", "access_token": "\#(longest)"}"#
            )
            #expect(taken.status == 200)
            let refused = try await admin.caller.send(.PUT, path, #"{"refresh_token": "\#(longest)a"}"#)
            #expect(refused.field == "refresh_token")
        }
    }

    @Test func `a body over 1 MiB is refused, and one of 1 MiB is read`() async throws {
        try await AdminFixture.run { admin in
            let path = "/v1/accounts/alice/tokens"
            let tokens = #"{"refresh_token": "canary"}"#
            let padding = String(repeating: " ", count: (1 << 20) - tokens.utf8.count)
            #expect(try await admin.caller.send(.PUT, path, tokens + padding).status == 200)

            let answer = try await admin.caller.send(.PUT, path, tokens + padding + " ")
            #expect(answer.status == 400)
            #expect(answer.problem == "invalid_field")
            #expect(answer.field == "body")
        }
    }

    @Test func `an endless body gets its response and is cut off`() async throws {
        try await AdminFixture.run { admin in
            let head = """
                PUT /v1/accounts/alice/tokens HTTP/1.1\r
                Host: a\r
                Authorization: Bearer \(AdminFixture.adminToken)\r
                Content-Length: 99999999999999\r
                \r

                """
            // Far more than a test can send: only a server that does not read it ends the connection.
            let answer = try await RawConnection.exchange(
                with: admin.server.address,
                sending: head,
                then: String(repeating: " ", count: 65_536)
            )
            #expect(answer.hasPrefix("HTTP/1.1 400 "))
            #expect(answer.contains("urn:martlet:error:invalid_field"))
        }
    }

    @Test func `a body that never arrives is abandoned after the time limit`() async throws {
        let limits = AdminLimits(bodyTime: .milliseconds(50))
        try await AdminFixture.run(limits: limits) { admin in
            let head = """
                PUT /v1/accounts/alice/tokens HTTP/1.1\r
                Host: a\r
                Authorization: Bearer \(AdminFixture.adminToken)\r
                Content-Length: 10\r
                \r

                """
            let answer = try await RawConnection.exchange(with: admin.server.address, sending: head, then: nil)
            #expect(answer == "")
        }
    }
}
