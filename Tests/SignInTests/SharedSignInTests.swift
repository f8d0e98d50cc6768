import OAuth
import SignIn
import Simulation
import TestKit
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// Two replicas of a gateway, which share a store.
@Suite(.simulated) struct SharedSignInTests {
    @Test func `a sign-in that one replica began is completed by another`() async throws {
        let fixture = SignInFixture()
        try await fixture.run(["a", "b"], scopes: ["openid"]) { replicas in
            // Given a sign-in of each way that has an answer
            fixture.provider.answer(.tokens(1, idToken: "id-token"), .tokens(2, idToken: "id-token"))
            let pasted = try await replicas[0].begin(alice)
            let opened = try await replicas[0].begin(bob, .gateway)

            // When the other replica takes the answer
            let report = try await replicas[1].answer(pasted)
            let (url, cookie) = try await replicas[0].service.open(opened.report.id)
            _ = try await replicas[1].accept(Answer(), Query(ofAddress: url), [cookie])

            // Then both replicas know of it, and both have the tokens
            #expect(report.state == .done)
            try await until("the other one to be done") {
                try await replicas[0].report(on: opened).state == .done
            }
            #expect(try await replicas[0].report(on: pasted) == report)
            for replica in replicas {
                #expect(try await replica.engine.credential(for: alice).accessToken.text == "at-1")
                #expect(try await replica.engine.credential(for: bob).accessToken.text == "at-2")
            }
            #expect(fixture.provider.nonces.first == pasted.request["nonce"])
        }
    }

    @Test func `if both replicas get the answer at once, one of them redeems it`() async throws {
        let fixture = SignInFixture()
        try await fixture.run(["a", "b"]) { replicas in
            // Given that the other replica takes the answer after this one has read the sign-in
            fixture.provider.answer(.tokens(1), .tokens(2))
            let begun = try await replicas[0].begin()
            let key = try #require(try await fixture.signInKeys().first)
            replicas[0].store.beforeWrite(at: key) { _ = try? await replicas[1].answer(begun) }

            // Then it is taken once
            let error = await #expect(throws: SignInError.self) { try await replicas[0].answer(begun) }
            #expect(error?.code == .conflict)
            #expect(fixture.provider.redeemed.count == 1)
            #expect(try await replicas[0].report(on: begun).state == .done)
            #expect(try await fixture.refreshToken() == "rt-1")
        }
    }

    @Test func `an answer and a cancellation at once have one outcome`() async throws {
        let fixture = SignInFixture()
        try await fixture.run(["a", "b"]) { replicas in
            fixture.provider.answer(.tokens(1))
            let begun = try await replicas[0].begin()
            let key = try #require(try await fixture.signInKeys().first)
            replicas[0].store.beforeWrite(at: key) { _ = try? await replicas[1].service.cancel(begun.report.id) }

            let error = await #expect(throws: SignInError.self) { try await replicas[0].answer(begun) }
            #expect(error?.code == .conflict)
            #expect(fixture.provider.redeemed.isEmpty)
            #expect(try await replicas[0].report(on: begun).state == .cancelled)
        }
    }

    @Test func `a cancellation after the answer was taken is refused`() async throws {
        let fixture = SignInFixture()
        try await fixture.run(["a", "b"]) { replicas in
            fixture.provider.answer(.tokens(1))
            let begun = try await replicas[0].begin()
            let states = Records()
            fixture.provider.duringNextExchange {
                await states.note(try? await replicas[1].report(on: begun).state.rawValue)
                do throws(SignInError) { _ = try await replicas[1].service.cancel(begun.report.id) } catch {
                    await states.note("\(error.code)")
                }
                let error = await #expect(throws: SignInError.self) { try await replicas[1].begin() }
                await states.note(error.map { "\($0.code)" })
            }

            #expect(try await replicas[0].answer(begun).state == .done)
            #expect(await states.all == ["redeeming", "conflict", "conflict"])
        }
    }

    @Test func `a kill at one replica ends a sign-in at the other`() async throws {
        let fixture = SignInFixture()
        try await fixture.run(["a", "b"]) { replicas in
            fixture.provider.answer(.tokens(1))
            let begun = try await replicas[0].begin()
            try await replicas[1].kill(.account(alice))

            #expect(try await replicas[0].answer(begun).failure?.code == .killed)
            #expect(fixture.provider.redeemed.isEmpty)
        }
    }

    @Test func `a replica that has ended before it had the tokens is said to be interrupted`() async throws {
        let fixture = SignInFixture()
        var begun: Begun?
        // Given a replica that ends with the answer in hand
        try await fixture.run(["a"]) { replicas in
            let sign = try await replicas[0].begin()
            begun = sign
            let key = try #require(try await fixture.signInKeys().first)
            replicas[0].store.afterWrite(at: key) { replicas[0].store.fail(.away) }
            replicas[0].store.fail(.unanswered, [.write], at: key, times: 1)
            await #expect(throws: SignInError.self) { try await replicas[0].answer(sign) }
        }

        // Then another one says so as soon as nobody can have it any more
        let sign = try #require(begun)
        try await fixture.run(["b"]) { replicas in
            #expect(try await replicas[0].report(on: sign).state == .redeeming)
            await fixture.clock.pass(.seconds(151))
            #expect(try await replicas[0].report(on: sign).failure?.code == .interrupted)
            _ = try await replicas[0].begin()
        }
    }
}
