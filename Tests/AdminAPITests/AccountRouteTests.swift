internal import AdminAPI
internal import NIOHTTP1
internal import OAuth
internal import TestKit
internal import Testing
internal import TokenModel
internal import TokenRefresh
internal import TokenStorage

@Suite struct AccountRouteTests {
    @Test func `accounts are listed by name, including those without tokens`() async throws {
        try await AdminFixture.run { admin in
            let answer = try await admin.caller.send(.GET, "/v1/accounts")

            #expect(answer.status == 200)
            #expect(answer.headers.first(name: "content-type") == "application/json")
            let empty = #""expires_at":null,"generation":0,"last_error":null,"last_refresh_at":null"#
            let rest = #""provider":"acme","scopes":[],"state":"empty","trouble":null"#
            #expect(
                answer.body == """
                    {"accounts":[{"configured":true,\(empty),"name":"alice",\(rest)},\
                    {"configured":true,\(empty),"name":"bob",\(rest)}],"next":null}

                    """
            )
        }
    }

    @Test func `imported tokens are valid until they expire`() async throws {
        try await AdminFixture.run { admin in
            let before = Int64(Self.now())
            let answer = try await admin.caller.send(
                .PUT,
                "/v1/accounts/alice/tokens",
                """
                {"refresh_token": "refresh-canary", "access_token": "access-\\u0063anary", "expires_in": 3600, \
                "scope": "read write\\"x w:all"}
                """
            )

            #expect(answer.status == 200)
            let account = try answer.read(Account.self)
            #expect(account.name == "alice")
            #expect(account.state == "valid")
            #expect(account.generation == 1)
            #expect(answer.body.contains(#""scopes":["read","w:all"]"#))
            let expiresAt = try #require(account.expires_at)
            let bounds = (before + 3_599_000)...(before + 3_660_000)
            #expect(bounds.contains(try Self.milliseconds(expiresAt)))
            let shown = try await admin.caller.send(.GET, "/v1/accounts/alice").body
            #expect(shown == answer.body)
            let more = try await admin.caller.send(.GET, "/v1/accounts/alice?unrevoked=true").body
            #expect(more == "\(answer.body.dropLast(2)),\"unrevoked\":[]}\n")
            let unasked = try await admin.caller.send(.GET, "/v1/accounts/alice?unrevoked=1")
            #expect(unasked.status == 400)
            let record = try #require(try await admin.vault.read(AccountID("alice"))).record
            #expect(record.tokens?.accessToken == Secret("access-canary"))
            #expect(record.tokens?.refreshToken == Secret("refresh-canary"))
            #expect(admin.provider.redeemed.isEmpty)
        }
    }

    @Test(arguments: [
        (#"{"refresh_token": "\#(AdminFixture.adminToken)"}"#, "refresh_token"),
        (#"{"refresh_token": "refresh-canary", "access_token": "\#(AdminFixture.adminToken)"}"#, "access_token"),
    ])
    func `an admin token is refused as an account's token, whoever sends it`(body: String, field: String) async throws {
        try await AdminFixture.run { admin in
            let answer = try await admin.caller.send(.PUT, "/v1/accounts/alice/tokens", body)

            #expect(answer.status == 400)
            #expect(answer.problem == "invalid_field")
            #expect(answer.detail?.hasPrefix("\(field) is an admin token that opens this gateway") == true)
            let entry = try await admin.vault.read(AccountID("alice"))
            #expect(entry == nil)
        }
    }

    @Test func `the client secret is refused as a refresh token, and the stored tokens stay`() async throws {
        try await AdminFixture.run { admin in
            // Given an account with tokens
            let path = "/v1/accounts/alice/tokens"
            try await admin.caller.send(.PUT, path, #"{"refresh_token": "refresh-canary"}"#)

            // When somebody sends the client secret in place of a token
            let secret = ScriptedTokenEndpoint.clientSecret
            let answer = try await admin.caller.send(.PUT, path, #"{"refresh_token": "\#(secret)"}"#)

            // Then the response names the field
            #expect(answer.status == 400)
            #expect(answer.problem == "invalid_field")
            #expect(answer.field == "refresh_token")
            #expect(answer.detail?.contains("refresh_token is the client_secret of provider acme") == true)
            let record = try #require(try await admin.vault.read(AccountID("alice"))).record
            #expect(record.tokens?.refreshToken == Secret("refresh-canary"))
            #expect(admin.provider.redeemed.isEmpty)
        }
    }

    @Test func `a refresh token alone is enough, and its first refresh makes the account valid`() async throws {
        try await AdminFixture.run { admin in
            let imported = try await admin.caller.send(
                .PUT,
                "/v1/accounts/alice/tokens",
                #"{"refresh_token": "refresh-canary", "access_token": null}"#
            )
            #expect(imported.status == 200)
            #expect(try imported.read(Account.self).state != "valid")

            admin.provider.answer(with: .success(Self.grant(access: "access-canary", refresh: "next-canary")))
            let refreshed = try await admin.caller.send(.POST, "/v1/accounts/alice/refresh")

            #expect(refreshed.status == 200)
            let account = try refreshed.read(Account.self)
            #expect(account.state == "valid")
            #expect(account.generation == 1)
            #expect(account.last_refresh_at != nil)
            #expect(admin.provider.redeemed == [Secret("refresh-canary")])
        }
    }

    @Test func `a failed refresh returns the account in its current state`() async throws {
        try await AdminFixture.run { admin in
            try await admin.caller.send(.PUT, "/v1/accounts/alice/tokens", #"{"refresh_token": "refresh-canary"}"#)
            admin.provider.answer(with: .dead(try #require(VerdictReason("invalid_grant"))))

            let answer = try await admin.caller.send(.POST, "/v1/accounts/alice/refresh", "{}")

            #expect(answer.status == 200)
            let account = try answer.read(Account.self)
            #expect(account.state == "reauthorization_required")
            #expect(account.last_error == "invalid_grant")
            #expect(account.trouble?.kind == "refresh_failing")
            #expect(account.trouble?.reason == "invalid_grant")
        }
    }

    @Test func `an account whose provider refuses the client is valid and shows the problem`() async throws {
        try await AdminFixture.run { admin in
            for account in ["alice", "bob"] {
                try await admin.caller.send(
                    .PUT,
                    "/v1/accounts/\(account)/tokens",
                    #"{"refresh_token": "refresh-canary", "access_token": "access-canary", "expires_in": 3600}"#
                )
            }
            admin.provider.answer(with: .config(try #require(VerdictReason("invalid_client"))))

            let tried = try await admin.caller.send(.POST, "/v1/accounts/alice/refresh").read(Account.self)
            let other = try await admin.caller.send(.GET, "/v1/accounts/bob").read(Account.self)

            #expect([tried.state, other.state] == ["valid", "valid"])
            #expect([tried.trouble?.kind, other.trouble?.kind] == ["client_refused", "client_refused"])
            #expect(tried.trouble?.reason == "config.invalid_client")
            #expect(other.trouble?.reason == "provider_config")
            #expect(other.last_error == nil)
            let since = try Self.milliseconds(try #require(tried.trouble?.known_since))
            #expect(since <= Int64(Self.now()) + 1)
        }
    }

    @Test func `an account whose token an API refused shows the problem while it can't be refreshed`() async throws {
        try await AdminFixture.run { admin in
            try await admin.caller.send(
                .PUT,
                "/v1/accounts/alice/tokens",
                #"{"refresh_token": "refresh-canary", "access_token": "access-canary", "expires_in": 3600}"#
            )
            admin.provider.answer(with: .config(try #require(VerdictReason("invalid_client"))))

            await #expect(throws: CredentialError.self) {
                try await admin.engine.credential(for: AccountID("alice"), refused: Generation(1))
            }

            let account = try await admin.caller.send(.GET, "/v1/accounts/alice").read(Account.self)
            #expect(account.state == "valid")
            #expect(account.trouble?.kind == "token_refused")
            #expect(account.trouble?.reason == "config.invalid_client")
        }
    }

    @Test func `a minting account refuses imports, and a refresh mints a token`() async throws {
        try await AdminFixture.run(minting: "bob") { admin in
            let refused = try await admin.caller.send(
                .PUT,
                "/v1/accounts/bob/tokens",
                #"{"refresh_token": "refresh-canary"}"#
            )
            #expect(refused.status == 409)
            #expect(refused.problem == "conflict")
            #expect(try await admin.caller.send(.GET, "/v1/accounts/bob").read(Account.self).state == "expired")

            admin.provider.answer(with: .success(Self.grant(access: "access-canary", refresh: "next-canary")))
            let minted = try await admin.caller.send(.POST, "/v1/accounts/bob/refresh").read(Account.self)

            #expect(minted.state == "valid")
            #expect(minted.generation == 1)
            let record = try #require(try await admin.vault.read(AccountID("bob"))).record
            #expect(record.tokens?.refreshToken == nil)
        }
    }

    @Test func `an operator can adopt tokens of another client`() async throws {
        try await AdminFixture.run { admin in
            let record = AccountRecord(
                grant: .random(),
                generation: Generation(1),
                tokens: TokenSet(
                    accessToken: Secret("access-canary"),
                    refreshToken: Secret("refresh-canary"),
                    receivedAt: WallTime(millisecondsSince1970: Int64(Self.now())),
                    lifetime: .seconds(3_600)
                ),
                observedEpoch: .start,
                binding: AccountRecord.Binding(
                    provider: ProviderID("acme"),
                    issuer: .tokenEndpoint("https://login.acme.example:443/token"),
                    clientID: "old-app"
                )
            )
            _ = try await admin.vault.write(record, for: AccountID("alice"), expecting: nil)
            let before = try await admin.caller.send(.GET, "/v1/accounts/alice").read(Account.self)
            #expect(before.state == "reauthorization_required")
            #expect(before.last_error == "bound_elsewhere")

            let adopted = try await admin.caller.send(.POST, "/v1/accounts/alice/adopt", "{}")

            #expect(adopted.status == 200)
            #expect(try adopted.read(Account.self).state == "valid")
            #expect(try await admin.vault.read(AccountID("alice"))?.record.binding.clientID == "my-app")
            #expect(admin.provider.redeemed.isEmpty)
        }
    }

    @Test func `removed tokens are revoked, and the response contains the provider's results`() async throws {
        try await AdminFixture.run { admin in
            try await admin.caller.send(
                .PUT,
                "/v1/accounts/alice/tokens",
                #"{"refresh_token": "refresh-canary", "access_token": "access-canary", "expires_in": 60}"#
            )
            admin.provider.answerRevocations(with: .unreachable(.timedOut))

            let answer = try await admin.caller.send(.DELETE, "/v1/accounts/alice/tokens")

            #expect(answer.status == 200)
            let removal = try answer.read(Removal.self)
            #expect(removal.account.state == "empty")
            #expect(removal.tokens.map(\.kind) == ["refresh", "access"])
            #expect(removal.tokens.map(\.outcome) == ["unreachable", "unreachable"])
            #expect(removal.tokens.map(\.reason) == ["timed_out", "timed_out"])
            #expect(removal.tokens[1].ends_at != nil)
            // The sweep may have tried to revoke the tokens too.
            for token in [Secret("refresh-canary"), Secret("access-canary")] {
                #expect(admin.provider.revokedTokens.contains(token))
            }
            let again = try await admin.caller.send(.DELETE, "/v1/accounts/alice/tokens")
            // The account has no tokens left, but they are still not revoked.
            let waiting = try again.read(Removal.self).tokens
            #expect(waiting.map(\.kind) == ["refresh", "access"])
            #expect(waiting.map(\.outcome) == ["unreachable", "unreachable"])
            #expect(waiting.map(\.reason) == ["waiting", "waiting"])
            #expect(waiting[1].ends_at == removal.tokens[1].ends_at)
            // The account's response lists them too.
            let shown = try await admin.caller.send(.GET, "/v1/accounts/alice?unrevoked=true").read(Account.self)
            #expect(shown.unrevoked?.map(\.kind) == ["refresh", "access"])
            #expect(shown.unrevoked?.map(\.reason) == ["waiting", "waiting"])
        }
    }

    @Test func `removed tokens that the provider has revoked are not pending, even after several rounds`() async throws
    {
        try await AdminFixture.run { admin in
            for round in 1...6 {
                // Given tokens, which replace removed ones from the second round on
                try await admin.caller.send(
                    .PUT,
                    "/v1/accounts/alice/tokens",
                    #"{"refresh_token": "refresh-\#(round)", "access_token": "access-\#(round)", "expires_in": 60}"#
                )

                // When they are removed, and a sweep may find them meanwhile
                let removal = try await admin.caller.send(.DELETE, "/v1/accounts/alice/tokens").read(Removal.self)

                // Then no response says that they are not revoked
                #expect(removal.tokens.map(\.outcome) == ["revoked", "revoked"], "round \(round)")
            }
        }
    }

    @Test func `a record of an account that is no longer configured is listed as such`() async throws {
        try await AdminFixture.run { admin in
            let record = AccountRecord(
                grant: .random(),
                generation: Generation(3),
                tokens: nil,
                observedEpoch: .start,
                binding: AccountRecord.Binding(
                    provider: ProviderID("gone"),
                    issuer: .tokenEndpoint("https://gone.example:443/token"),
                    clientID: "old"
                )
            )
            _ = try await admin.vault.write(record, for: AccountID("old friend"), expecting: nil)

            let listed = try await admin.caller.send(.GET, "/v1/accounts").read(Accounts.self).accounts
            #expect(listed.map(\.name) == ["alice", "bob", "old friend"])
            #expect(listed.map(\.configured) == [true, true, false])

            let shown = try await admin.caller.send(.GET, "/v1/accounts/old%20friend")
            #expect(try shown.read(Account.self).provider == "gone")
            for path in ["refresh", "adopt"] {
                let answer = try await admin.caller.send(.POST, "/v1/accounts/old%20friend/\(path)")
                #expect(answer.status == 404)
                #expect(answer.problem == "not_found")
            }
            let removed = try await admin.caller.send(.DELETE, "/v1/accounts/old%20friend/tokens")
            #expect(removed.status == 200)
            let removal = try removed.read(Removal.self)
            #expect(removal.account.configured == false)
            #expect(removal.tokens.isEmpty)
        }
    }

    @Test(arguments: [
        (HTTPMethod.GET, ""), (.PUT, "/tokens"), (.POST, "/refresh"), (.POST, "/adopt"), (.DELETE, "/tokens"),
    ])
    func `an unknown account is not found, and its name is not repeated`(method: HTTPMethod, path: String) async throws
    {
        try await AdminFixture.run { admin in
            let body = method == .PUT ? #"{"refresh_token": "refresh-canary"}"# : nil
            let answer = try await admin.caller.send(method, "/v1/accounts/nobody-canary\(path)", body)
            #expect(answer.status == 404)
            #expect(answer.problem == "not_found")
        }
    }

    @Test(arguments: [
        (HTTPMethod.GET, ""), (.PUT, "/tokens"), (.POST, "/refresh"), (.POST, "/adopt"), (.DELETE, "/tokens"),
    ])
    func `an error about a misspelt account suggests the right name`(
        method: HTTPMethod,
        path: String
    ) async throws {
        try await AdminFixture.run { admin in
            let body = method == .PUT ? #"{"refresh_token": "refresh-canary"}"# : nil
            let answer = try await admin.caller.send(method, "/v1/accounts/alcie\(path)", body)
            #expect(answer.status == 404)
            let detail = try #require(answer.detail)
            #expect(detail.hasSuffix("; did you mean alice?"))
            #expect(!detail.contains("alcie"))
        }
    }

    @Test(arguments: ["%", "%2", "%zz", "a%2fb", "%00", "%0d%0a", "%ff", "", String(repeating: "a", count: 300)])
    func `an impossible account name is not found`(name: String) async throws {
        try await AdminFixture.run { admin in
            // The bytes are sent unchanged, because the client library would normalize some of these paths.
            let answer = try await RawConnection.exchange(
                with: admin.server.address,
                sending: "GET /v1/accounts/\(name) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
                    + "Authorization: Bearer \(AdminFixture.adminToken)\r\n\r\n",
                then: nil
            )
            #expect(answer.hasPrefix("HTTP/1.1 404 "))
        }
    }

    @Test(arguments: [
        (HTTPMethod.POST, "/v1/accounts", "GET, HEAD"), (.DELETE, "/v1/accounts/alice", "GET, HEAD"),
        (.GET, "/v1/accounts/alice/tokens", "PUT, DELETE"), (.GET, "/v1/accounts/alice/refresh", "POST"),
        (.GET, "/v1/accounts/alice/adopt", "POST"),
        (.PUT, "/v1/status", "GET, HEAD"), (.POST, "/healthz", "GET, HEAD"), (.POST, "/readyz", "GET, HEAD"),
    ])
    func `a path names the methods that it allows`(method: HTTPMethod, path: String, allowed: String) async throws {
        try await AdminFixture.run { admin in
            let answer = try await admin.caller.send(method, path)
            #expect(answer.status == 405)
            #expect(answer.problem == "method_not_allowed")
            #expect(answer.headers.first(name: "allow") == allowed)
        }
    }

    @Test(arguments: [(HTTPMethod.PUT, "/tokens"), (.DELETE, "/tokens")])
    func `without the store nothing is changed, and the response says so`(method: HTTPMethod, path: String) async throws
    {
        try await AdminFixture.run { admin in
            admin.store.fail(.away)
            let body = method == .PUT ? #"{"refresh_token": "refresh-canary"}"# : nil
            let answer = try await admin.caller.send(method, "/v1/accounts/alice\(path)", body)
            #expect(answer.status == 503)
            #expect(answer.problem == "audit_unavailable")
            #expect(answer.headers.first(name: "retry-after") == "1")
        }
    }

    private static func grant(access: String, refresh: String) -> TokenGrant {
        TokenGrant(accessToken: Secret(access), refreshToken: Secret(refresh), lifetime: .seconds(3_600))
    }
}
