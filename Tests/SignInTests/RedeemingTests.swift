import KillSwitch
import OAuth
import ProviderClient
import SignIn
import Simulation
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// From a code to stored tokens, and what becomes of tokens that are not stored.
@Suite(.simulated) struct RedeemingTests {
    @Test func `the tokens of a sign-in are stored under the epoch of its start and used`() async throws {
        try await SignInFixture.run { fixture, replica in
            // Given a kill log with entries before and, for another account, during the sign-in
            try await replica.kill(.account(bob))
            try await replica.kills.revive(.account(bob), reason: "drill")
            let start = replica.kills.epochs
            fixture.provider.answer(.tokens())
            let begun = try await replica.begin()
            try await replica.kill(.account(bob))

            // When somebody signs in
            let report = try await replica.answer(begun)

            // Then
            #expect(report.state == .done)
            #expect(report.failure == nil)
            #expect(report.endedAt == fixture.clock.wall)
            let record = try #require(try await fixture.record())
            #expect(record.tokens?.refreshToken?.text == "rt-1")
            #expect(record.observedEpoch == start.last)
            #expect(record.observedEntry == start.lastEntry)
            #expect(record.binding.issuer == ScriptedProvider.binding.issuer)
            #expect(record.subject == nil)
            #expect(try await replica.engine.credential(for: alice).accessToken.text == "at-1")
            #expect(fixture.provider.revoked.isEmpty)
            // In the name of who began it.
            #expect(try await replica.audited() == ["login alice by anne", "login alice: done"])
        }
    }

    @Test(arguments: [
        ([], []), (["read"], ["write"]), (["write", "read"], []), (["other"], ["read", "write"]),
    ])
    func `scopes that were not granted are told`(granted: [String], missing: [String]) async throws {
        try await SignInFixture.run(scopes: ["read", "write", "openid"]) { fixture, replica in
            fixture.provider.answer(.tokens(scopes: granted, idToken: "id-token"))
            let report = try await replica.signIn()

            #expect(report.state == .done)
            // The refresh token is what offline_access is for, and the ID token what openid is for.
            #expect(report.missingScopes == missing)
        }
    }

    // MARK: - No tokens

    @Test(arguments: [
        (TokenVerdict.dead(.code("invalid_grant")), SignInFailure.Code.codeRefused),
        (.refused(.code("access_denied")), .codeRefused), (.conflict(.noKnownReason), .codeRefused),
        (.ambiguous(.connectionLost), .answerLost), (.config(.code("invalid_client")), .providerConfig),
        (.accountConfig(.code("invalid_scope")), .providerConfig), (.notProvider(.answerHTML), .providerConfig),
        (.notSent(.connectFailed), .providerUnreachable), (.throttled(retryAfter: .seconds(1)), .providerUnreachable),
    ])
    func `a code that brings no tokens says why and leaves the old tokens`(
        verdict: TokenVerdict,
        code: SignInFailure.Code
    ) async throws {
        try await SignInFixture.run { fixture, replica in
            fixture.provider.answer(.tokens(1), verdict)
            try await replica.signIn()

            let report = try await replica.signIn()

            #expect(report.state == .failed)
            #expect(report.failure?.code == code)
            #expect(verdict.reason.map { report.failure?.message.contains($0.rawValue) == true } != false)
            #expect(try await fixture.refreshToken() == "rt-1")
            #expect(fixture.provider.revoked.isEmpty)
        }
    }

    @Test func `a refresh token without an access token is revoked`() async throws {
        try await SignInFixture.run { fixture, replica in
            fixture.provider.answer(.rotated(RotatedToken(refreshToken: Secret("rt-1")), .accessTokenUnusable))

            let report = try await replica.signIn()

            #expect(report.failure?.code == .answerLost)
            #expect(fixture.provider.revoked == ["rt-1"])
            #expect(try await fixture.refreshToken() == nil)
        }
    }

    @Test func `without a refresh token the access token is revoked and the old tokens stay`() async throws {
        try await SignInFixture.run { fixture, replica in
            fixture.provider.answer(.tokens(1), .tokens(2, withoutRefreshToken: true))
            try await replica.signIn()

            let report = try await replica.signIn()

            #expect(report.failure?.code == .refreshTokenMissing)
            #expect(fixture.provider.revoked == ["at-2"])
            #expect(try await fixture.refreshToken() == "rt-1")
            #expect(try await replica.engine.credential(for: alice).accessToken.text == "at-1")
        }
    }

    @Test func `tokens that can't be revoked now are recorded for revocation`() async throws {
        try await SignInFixture.run { fixture, replica in
            fixture.provider.answerRevocations(.unreachable(.connectFailed))
            fixture.provider.answer(.tokens(1, withoutRefreshToken: true))
            try await replica.signIn()

            let waiting = try await replica.kills.tokensToRevoke(of: alice)
            #expect(waiting.map(\.kind) == [.accessToken])
        }
    }

    @Test(arguments: [("rt\n1", "at-1"), ("", "at-1"), ("rt-1", "at\u{7F}")])
    func `tokens that can't be used are revoked`(refreshToken: String, accessToken: String) async throws {
        try await SignInFixture.run { fixture, replica async throws in
            let grant = TokenGrant(
                accessToken: Secret(accessToken),
                refreshToken: Secret(refreshToken),
                lifetime: .seconds(60)
            )
            fixture.provider.answer(.success(grant))

            #expect(try await replica.signIn().failure?.code == .answerLost)
            #expect(Set(fixture.provider.revoked) == [refreshToken, accessToken])
            #expect(try await fixture.record() == nil)
        }
    }

    // MARK: - What changes meanwhile

    @Test(arguments: [KillScope.all, .provider(acme), .account(alice)], [false, true])
    func `a kill since the beginning ends the sign-in before the code is sent anywhere`(
        scope: KillScope,
        isRevived: Bool
    ) async throws {
        try await SignInFixture.run { fixture, replica in
            fixture.provider.answer(.tokens())
            let begun = try await replica.begin()
            try await replica.kill(scope)
            if isRevived { try await replica.kills.revive(scope, reason: "drill") }

            let report = try await replica.answer(begun)

            #expect(report.state == .failed)
            #expect(report.failure?.code == .killed)
            #expect(fixture.provider.redeemed.isEmpty)
            #expect(try await fixture.record() == nil)
        }
    }

    @Test func `a removal since the beginning ends the sign-in too`() async throws {
        try await SignInFixture.run { fixture, replica in
            fixture.provider.answer(.tokens(1), .tokens(2))
            try await replica.signIn()
            let begun = try await replica.begin()
            _ = try await replica.engine.forget(alice)

            #expect(try await replica.answer(begun).failure?.code == .killed)
            #expect(fixture.provider.redeemed.count == 1)
        }
    }

    @Test(arguments: [false, true])
    func `a kill while the provider answers leaves nothing alive`(isRevived: Bool) async throws {
        try await SignInFixture.run { fixture, replica in
            fixture.provider.answerRevocations(.unreachable(.connectFailed))
            fixture.provider.answer(.tokens())
            let begun = try await replica.begin()
            fixture.provider.duringNextExchange {
                await Self.expect { try await replica.kill(.account(alice)) }
                if isRevived { await Self.expect { try await replica.kills.revive(.account(alice), reason: "drill") } }
            }

            let report = try await replica.answer(begun)

            #expect(report.failure?.code == .killed)
            #expect(try await fixture.refreshToken() == nil)
            await #expect(throws: CredentialError.self) { try await replica.engine.credential(for: alice) }
            // What was issued counts for the kill and is revoked as soon as the provider can be asked.
            try await until("both to wait") {
                try await replica.kills.tokensToRevoke(of: alice).map(\.kind) == [.refreshToken, .accessToken]
            }
            let kill = try #require(try await replica.kills.reports().first?.id)
            #expect(try await replica.kills.report(on: kill).tokens.total == 2)
        }
    }

    private static func expect(_ work: () async throws -> Void) async {
        await #expect(throws: Never.self) { try await work() }
    }

    @Test func `tokens that were imported meanwhile are replaced`() async throws {
        try await SignInFixture.run { fixture, replica in
            fixture.provider.answer(.tokens())
            let begun = try await replica.begin()
            fixture.provider.duringNextExchange {
                await Self.expect { try await replica.engine.importTokens(Secret("rt-imported"), for: alice) }
            }

            #expect(try await replica.answer(begun).state == .done)
            #expect(try await fixture.refreshToken() == "rt-1")
            #expect(try await replica.engine.credential(for: alice).accessToken.text == "at-1")
        }
    }

    @Test func `tokens for an account that was removed from the configuration are revoked, and the audit log says why`()
        async throws
    {
        try await SignInFixture.run { fixture, replica in
            fixture.provider.answer(.tokens())
            let begun = try await replica.begin()
            fixture.provider.duringNextExchange {
                replica.engine.reload(SignInFixture.plans([bob], at: fixture.provider), waiters: 100)
            }

            #expect(try await replica.answer(begun).failure?.code == .notConfigured)
            #expect(Set(fixture.provider.revoked) == ["rt-1", "at-1"])
            #expect(try await fixture.record() == nil)
            #expect(try await replica.audited() == ["login alice by anne", "login alice: not_configured"])
        }
    }

    @Test func `an account that is removed before the answer sends no code`() async throws {
        try await SignInFixture.run { fixture, replica in
            let begun = try await replica.begin()
            replica.engine.reload(SignInFixture.plans([bob], at: fixture.provider), waiters: 100)

            #expect(try await replica.answer(begun).failure?.code == .notConfigured)
            #expect(fixture.provider.redeemed.isEmpty)
        }
    }

    @Test(arguments: [
        EndpointBinding(issuer: ScriptedProvider.binding.issuer, clientID: "another-app"),
        EndpointBinding(issuer: .tokenEndpoint("https://evil.example:443/token"), clientID: "my-app"),
        EndpointBinding(
            issuer: .issuer(ScriptedProvider.origin, tokenEndpoint: "https://evil.example:443/token"),
            clientID: "my-app"
        ),
    ])
    func `a code goes to no other client or token endpoint than at the beginning`(
        binding: EndpointBinding
    ) async throws {
        try await SignInFixture.run { fixture, replica in
            fixture.provider.answer(.tokens())
            let begun = try await replica.begin()
            fixture.provider.binding = binding

            #expect(try await replica.answer(begun).failure?.code == .notConfigured)
            #expect(fixture.provider.redeemed.isEmpty)
        }
    }

    @Test func `tokens of an endpoint that changed during the exchange are revoked`() async throws {
        try await SignInFixture.run { fixture, replica in
            fixture.provider.answer(.tokens())
            let begun = try await replica.begin()
            fixture.provider.duringNextExchange {
                fixture.provider.binding = EndpointBinding(
                    issuer: ScriptedProvider.binding.issuer,
                    clientID: "another-app"
                )
            }

            #expect(try await replica.answer(begun).failure?.code == .notConfigured)
            #expect(try await fixture.record() == nil)
            #expect(Set(fixture.provider.revoked) == ["rt-1", "at-1"])
        }
    }

    @Test func `a token endpoint that becomes known during the exchange is stored`() async throws {
        try await SignInFixture.run { fixture, replica in
            fixture.provider.binding = EndpointBinding(
                issuer: .issuer(ScriptedProvider.origin, tokenEndpoint: nil),
                clientID: "my-app"
            )
            fixture.provider.answer(.tokens())
            let begun = try await replica.begin()
            fixture.provider.duringNextExchange { fixture.provider.binding = ScriptedProvider.binding }

            #expect(try await replica.answer(begun).state == .done)
            #expect(try await fixture.record()?.binding.issuer == ScriptedProvider.binding.issuer)
        }
    }
}
