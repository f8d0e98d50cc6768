import KillSwitch
import OAuth
import ProviderClient
import SignIn
import Simulation
import TestKit
import Testing
import TokenModel
import TokenStorage

/// What a sign-in that fails must not break: the tokens that an account has, and grants of the same user.
@Suite(.simulated) struct DroppedSignInTests {
    @Test func `a token that the account has already is not revoked when it comes again`() async throws {
        try await SignInFixture.run(scopes: ["openid"]) { fixture, replica in
            // Given an account, and a provider that gives the same refresh token again
            fixture.provider.answer(.tokens(1, idToken: "id-token"), .tokens(1, idToken: "id-token"))
            try await replica.signIn()
            fixture.provider.identify(.failure(IDTokenError(.untrusted, "it is wrong")))

            // When a sign-in fails
            let report = try await replica.signIn()

            // Then
            #expect(report.failure?.code == .idTokenInvalid)
            #expect(report.failure?.message.hasSuffix("which stays") == true)
            #expect(fixture.provider.revoked.isEmpty)
            #expect(try await fixture.refreshToken() == "rt-1")
        }
    }

    @Test(arguments: [false, true])
    func `where one revocation ends all grants of a user, only killed tokens are revoked`(isKilled: Bool) async throws {
        try await SignInFixture.run { fixture, replica in
            // Given such a provider
            fixture.configuration.set([
                acme: SignInConfiguration.Provider(server: fixture.provider, revokesWidely: true)
            ])
            fixture.provider.answer(.tokens(1, withoutRefreshToken: true))
            if isKilled { fixture.provider.duringNextExchange { try? await replica.kill(.account(alice)) } }

            // When a sign-in fails there
            let report = try await replica.signIn()

            // Then
            #expect(report.failure?.code == .refreshTokenMissing)
            if isKilled {
                try await until("the killed token to be revoked") { fixture.provider.revoked == ["at-1"] }
            } else {
                #expect(report.failure?.message.contains("left to expire") == true)
                #expect(fixture.provider.revoked.isEmpty)
                #expect(try await replica.kills.tokensToRevoke(of: alice).isEmpty)
            }
        }
    }

    @Test func `an exchange that took too long does not store over a later sign-in`() async throws {
        try await SignInFixture.run { fixture, replica in
            // Given an exchange in whose time another sign-in is begun and done
            fixture.provider.answer(.tokens(1), .tokens(2))
            let first = try await replica.begin()
            fixture.provider.duringNextExchange {
                fixture.clock.jumpWall(by: .seconds(1_000))
                _ = try? await replica.signIn()
            }

            // When it ends
            let late = await #expect(throws: SignInError.self) { try await replica.answer(first) }
            #expect(late?.code == .unknownSignIn)

            // Then its tokens are revoked, and the others are in use. The scripted answers come in the order of the
            // questions' ends, so the second sign-in has the first tokens.
            #expect(Set(fixture.provider.revoked) == ["rt-2", "at-2"])
            #expect(try await fixture.refreshToken() == "rt-1")
        }
    }

    @Test(arguments: [false, true])
    func `a cancelled device sign-in stores nothing, also if the store was away when its tokens came`(
        isAway: Bool
    ) async throws {
        try await SignInFixture.run { fixture, replica in
            // Given
            fixture.provider.answerDevices(.tokens())
            let begun = try await replica.begin(alice, .device)
            fixture.provider.duringNextExchange {
                _ = try? await replica.service.cancel(begun.report.id)
                if isAway { replica.store.fail(.away, [.read], under: .signIns, times: 2) }
            }

            // When its tokens come
            try await until("both to be revoked", within: .seconds(10)) { fixture.provider.revoked.count == 2 }

            // Then
            #expect(Set(fixture.provider.revoked) == ["rt-1", "at-1"])
            #expect(try await replica.report(on: begun).state == .cancelled)
            #expect(try await fixture.record() == nil)
        }
    }

    @Test func `killed tokens are revoked at once if they can't be written down for that`() async throws {
        try await SignInFixture.run { fixture, replica in
            // Given a kill while the provider answers, and a store that takes no revocations
            fixture.provider.answer(.tokens())
            replica.store.fail(.full, [.write], under: .revocations)
            fixture.provider.duringNextExchange { try? await replica.kill(.account(alice)) }

            // When somebody signs in
            let report = try await replica.signIn()

            // Then
            #expect(report.failure?.code == .killed)
            #expect(report.failure?.message.hasSuffix("what the provider gave is revoked") == true)
            #expect(Set(fixture.provider.revoked) == ["rt-1", "at-1"])
        }
    }

    @Test func `tokens that the store has certainly not taken are revoked`() async throws {
        try await SignInFixture.run { fixture, replica in
            // Given a store that takes no accounts
            fixture.provider.answer(.tokens())
            replica.store.fail(.full, [.write], under: .accounts)

            // When somebody signs in
            let report = try await replica.signIn()

            // Then
            #expect(report.failure?.code == .notStored)
            #expect(Set(fixture.provider.revoked) == ["rt-1", "at-1"])
            #expect(try await fixture.record() == nil)
        }
    }

    @Test func `a preview of the link does not take a sign-in away from the browser that opened it`() async throws {
        try await SignInFixture.run { fixture, replica async throws in
            fixture.configuration.set(
                gateway: "https://martlet.example/login/callback",
                [acme: SignInConfiguration.Provider(server: fixture.provider)]
            )
            let id = try await replica.begin(alice, .gateway).report.id
            _ = try await replica.service.open(id, isNavigation: false)
            _ = try await replica.service.open(id)

            let error = await #expect(throws: SignInError.self) {
                _ = try await replica.service.open(id, isNavigation: false)
            }
            #expect(error?.code == .conflict)
        }
    }
}
