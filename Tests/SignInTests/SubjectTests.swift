import OAuth
import ProviderClient
import SignIn
import Simulation
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// ID tokens, and whether it is the same person as before.
@Suite(.simulated) struct SubjectTests {
    private static let digest = TokenDigest(ofSubject: "somebody", at: ScriptedProvider.issuer)

    @Test func `who signed in is stored as a digest`() async throws {
        try await SignInFixture.run(scopes: ["openid"]) { fixture, replica in
            fixture.provider.answer(.tokens(idToken: "id-token"))
            let begun = try await replica.begin()

            #expect(try await replica.answer(begun).state == .done)
            #expect(try await fixture.record()?.subject == Self.digest)
            // The ID token is to have the nonce that the browser took along.
            #expect(fixture.provider.nonces == [begun.request["nonce"]])
        }
    }

    @Test func `an ID token is not looked at unless one was asked for`() async throws {
        try await SignInFixture.run { fixture, replica async throws in
            fixture.provider.identify(.failure(IDTokenError(.untrusted, "no")))
            fixture.provider.answer(.tokens(idToken: "id-token"))

            #expect(try await replica.signIn().state == .done)
            #expect(fixture.provider.nonces.isEmpty)
            #expect(try await fixture.record()?.subject == nil)
        }
    }

    @Test func `tokens without the ID token that was asked for are revoked`() async throws {
        try await SignInFixture.run(scopes: ["openid"]) { fixture, replica async throws in
            fixture.provider.answer(.tokens())

            #expect(try await replica.signIn().failure?.code == .idTokenMissing)
            #expect(Set(fixture.provider.revoked) == ["rt-1", "at-1"])
            #expect(try await fixture.record() == nil)
        }
    }

    @Test(arguments: IDTokenError.Code.allCases.filter { $0 != .keysUnavailable })
    func `tokens with an ID token that is not valid are revoked`(code: IDTokenError.Code) async throws {
        try await SignInFixture.run(scopes: ["openid"]) { fixture, replica in
            fixture.provider.identify(.failure(IDTokenError(code, "it is wrong")))
            fixture.provider.answer(.tokens(idToken: "id-token"))

            let report = try await replica.signIn()
            #expect(report.failure?.code == .idTokenInvalid)
            #expect(report.failure?.message.contains("it is wrong") == true)
            #expect(Set(fixture.provider.revoked) == ["rt-1", "at-1"])
            #expect(try await fixture.record() == nil)
        }
    }

    @Test func `a moment without the provider's keys costs no tokens`() async throws {
        try await SignInFixture.run(scopes: ["openid"]) { fixture, replica async throws in
            // Given a provider whose keys are out of reach
            fixture.provider.identify(.failure(IDTokenError(.keysUnavailable, "the keys can't be fetched")))
            fixture.provider.answer(.tokens(idToken: "id-token"), .tokens(2, idToken: "id-token"))

            // When they are back after a moment, the tokens are stored
            let first = Task(executorPreference: Simulation.running) { try await replica.signIn() }
            await fixture.clock.pass(.seconds(1))
            fixture.provider.identify(.success("alice"))
            #expect(try await first.value.state == .done)

            // When they stay away, what came is revoked
            fixture.provider.identify(.failure(IDTokenError(.keysUnavailable, "the keys can't be fetched")))
            #expect(try await replica.signIn().failure?.code == .idTokenInvalid)
            #expect(Set(fixture.provider.revoked) == ["rt-2", "at-2"])
            #expect(try await fixture.refreshToken() == "rt-1")
        }
    }

    @Test func `the same person signs in again`() async throws {
        try await SignInFixture.run(scopes: ["openid"]) { fixture, replica in
            fixture.provider.answer(.tokens(1, idToken: "id-token"), .tokens(2, idToken: "id-token"))
            try await replica.signIn()

            #expect(try await replica.signIn().state == .done)
            #expect(try await fixture.refreshToken() == "rt-2")
        }
    }

    @Test func `somebody else is refused and the old tokens stay`() async throws {
        try await SignInFixture.run(scopes: ["openid"]) { fixture, replica in
            fixture.provider.answer(.tokens(1, idToken: "id-token"), .tokens(2, idToken: "id-token"))
            try await replica.signIn()
            fixture.provider.identify(.success("somebody else"))

            let report = try await replica.signIn()
            #expect(report.failure?.code == .subjectDiffers)
            #expect(Set(fixture.provider.revoked) == ["rt-2", "at-2"])
            #expect(try await fixture.refreshToken() == "rt-1")
            #expect(try await fixture.record()?.subject == Self.digest)
            #expect(try await replica.engine.credential(for: alice).accessToken.text == "at-1")
        }
    }

    @Test func `somebody else is accepted if that is meant`() async throws {
        try await SignInFixture.run(scopes: ["openid"]) { fixture, replica in
            fixture.provider.answer(.tokens(1, idToken: "id-token"), .tokens(2, idToken: "id-token"))
            try await replica.signIn()
            fixture.provider.identify(.success("somebody else"))

            #expect(try await replica.signIn(replacesSubject: true).state == .done)
            #expect(try await fixture.refreshToken() == "rt-2")
            let subject = TokenDigest(ofSubject: "somebody else", at: ScriptedProvider.issuer)
            #expect(try await fixture.record()?.subject == subject)
        }
    }

    @Test func `a provider that no longer says who signs in is refused unless that is meant`() async throws {
        let fixture = SignInFixture()
        fixture.provider.answer(.tokens(1, idToken: "id-token"), .tokens(2), .tokens(3))
        try await fixture.run(["a"], scopes: ["openid"]) { replicas in
            try await replicas[0].signIn()
            replicas[0].engine.reload(SignInFixture.plans([alice], at: fixture.provider), waiters: 100)

            #expect(try await replicas[0].signIn().failure?.code == .subjectDiffers)
            #expect(try await replicas[0].signIn(replacesSubject: true).state == .done)
            #expect(try await fixture.record()?.subject == nil)
        }
    }

    @Test func `a refresh keeps who signed in`() async throws {
        try await SignInFixture.run(scopes: ["openid"]) { fixture, replica in
            fixture.provider.answer(.tokens(1, idToken: "id-token"), .tokens(2))
            try await replica.signIn()

            _ = await replica.engine.refreshNow(alice)
            try await until("a refresh") { try await fixture.refreshToken() == "rt-2" }
            #expect(try await fixture.record()?.subject == Self.digest)
        }
    }

    @Test func `a removal keeps who signed in, so that nobody else signs in afterwards`() async throws {
        try await SignInFixture.run(scopes: ["openid"]) { fixture, replica in
            fixture.provider.answer(.tokens(1, idToken: "id-token"), .tokens(2, idToken: "id-token"))
            try await replica.signIn()
            _ = try await replica.engine.forget(alice)
            #expect(try await fixture.record()?.subject == Self.digest)

            fixture.provider.identify(.success("somebody else"))
            #expect(try await replica.signIn().failure?.code == .subjectDiffers)
        }
    }

    @Test func `an import does not say who it is, so anybody may sign in after it`() async throws {
        try await SignInFixture.run(scopes: ["openid"]) { fixture, replica in
            fixture.provider.answer(.tokens(1, idToken: "id-token"), .tokens(2, idToken: "id-token"))
            try await replica.signIn()
            try await replica.engine.importTokens(Secret("rt-imported"), for: alice)
            fixture.provider.identify(.success("somebody else"))

            #expect(try await replica.signIn().state == .done)
        }
    }
}
