import OAuth
import ProviderClient
import SignIn
import Simulation
import TestKit
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// Sign-ins while the store is away. What a provider has issued is stored when it is back, or revoked.
@Suite(.simulated) struct StoreOutageTests {
    @Test func `without the store no sign-in begins`() async throws {
        try await SignInFixture.run { fixture, replica in
            replica.store.fail(.away)
            let error = await #expect(throws: SignInError.self) { try await replica.begin() }
            #expect(error?.code == .storeLost)

            replica.store.recover()
            #expect(try await fixture.signInKeys().isEmpty)
            _ = try await replica.begin()
        }
    }

    @Test(arguments: [FaultyTokenStore.Fault.away, .full])
    func `an answer while the store is away consumes nothing and works later`(
        fault: FaultyTokenStore.Fault
    ) async throws {
        try await SignInFixture.run { fixture, replica in
            // Given a sign-in
            fixture.provider.answer(.tokens())
            let begun = try await replica.begin()

            // When its answer can't be taken
            replica.store.fail(fault)
            let error = await #expect(throws: SignInError.self) { try await replica.answer(begun) }
            #expect(error?.code == .storeLost)
            #expect(fixture.provider.redeemed.isEmpty)

            // Then it is taken later
            replica.store.recover()
            #expect(try await replica.answer(begun).state == .done)
            #expect(try await fixture.refreshToken() == "rt-1")
        }
    }

    @Test func `an answer whose write had a lost response is taken once`() async throws {
        try await SignInFixture.run { fixture, replica in
            fixture.provider.answer(.tokens())
            let begun = try await replica.begin()
            replica.store.fail(.unanswered, [.write], under: .signIns, times: 1)

            #expect(try await replica.answer(begun).state == .done)
            #expect(fixture.provider.redeemed.count == 1)
        }
    }

    @Test func `an answer is exchanged that the store took without saying so`() async throws {
        try await SignInFixture.run { fixture, replica in
            // Given a store that takes the answer and goes away before it says so
            fixture.provider.answer(.tokens())
            let begun = try await replica.begin()
            let key = try #require(try await fixture.signInKeys().first)
            replica.store.afterWrite(at: key) { replica.store.fail(.away) }
            replica.store.fail(.unanswered, [.write], at: key, times: 1)
            let lost = await #expect(throws: SignInError.self) { try await replica.answer(begun) }
            #expect(lost?.code == .storeLost)
            replica.store.recover()

            // When the same answer comes again, as by a page that is loaded again
            let report = try await replica.answer(begun)

            // Then it is known to be taken, and exchanged once
            #expect(report.state == .done)
            await #expect(throws: SignInError.self) { try await replica.answer(begun) }
            #expect(fixture.provider.redeemed.count == 1)
        }
    }

    @Test func `an answer that one replica may have taken is not exchanged by another`() async throws {
        let fixture = SignInFixture()
        try await fixture.run(["a", "b"]) { replicas in
            let (replica, other) = (replicas[0], replicas[1])
            // Given a store that takes the answer and goes away before it says so
            let begun = try await replica.begin()
            let key = try #require(try await fixture.signInKeys().first)
            replica.store.afterWrite(at: key) { replica.store.fail(.away) }
            replica.store.fail(.unanswered, [.write], at: key, times: 1)
            let lost = await #expect(throws: SignInError.self) { try await replica.answer(begun) }
            #expect(lost?.code == .storeLost)
            replica.store.recover()

            // Then the code is sent nowhere, and the sign-in has failed when nobody can have it any more
            let again = await #expect(throws: SignInError.self) { try await other.answer(begun) }
            #expect(again?.code == .conflict)
            #expect(fixture.provider.redeemed.isEmpty)
            #expect(try await replica.report(on: begun).state == .redeeming)
            await fixture.clock.pass(.seconds(151))
            let report = try await replica.report(on: begun)
            #expect(report.state == .failed)
            #expect(report.failure?.code == .interrupted)

            // And another sign-in may begin
            fixture.provider.answer(.tokens())
            #expect(try await replica.signIn().state == .done)
        }
    }

    @Test func `tokens in hand are stored when the store is back`() async throws {
        try await SignInFixture.run { fixture, replica in
            // Given a store that goes away while the provider answers
            fixture.provider.answer(.tokens())
            let begun = try await replica.begin()
            fixture.provider.duringNextExchange { replica.store.fail(.away) }
            let answering = Task(executorPreference: Simulation.running) { try await replica.answer(begun) }

            // When it is back after half a minute
            await fixture.clock.pass(.seconds(30))
            replica.store.recover()

            // Then they are stored and not revoked
            #expect(try await answering.value.state == .done)
            #expect(try await fixture.refreshToken() == "rt-1")
            #expect(fixture.provider.revoked.isEmpty)
            #expect(fixture.provider.redeemed.count == 1)
        }
    }

    @Test func `tokens in hand are revoked if the audit log can't be written for a minute`() async throws {
        try await SignInFixture.run { fixture, replica in
            fixture.provider.answer(.tokens())
            let begun = try await replica.begin()
            replica.store.fail(.full, [.write], under: .audit)

            let start = fixture.clock.now
            #expect(try await replica.answer(begun).failure?.code == .auditUnavailable)
            #expect(start.duration(to: fixture.clock.now) == .seconds(60))
            #expect(Set(fixture.provider.revoked) == ["rt-1", "at-1"])
            #expect(try await fixture.record() == nil)
        }
    }

    @Test func `tokens that may be in the store are not revoked`() async throws {
        try await SignInFixture.run { fixture, replica in
            // Given a store that takes the tokens, and says neither that nor anything else
            fixture.provider.answer(.tokens())
            let begun = try await replica.begin()
            replica.store.fail(.unanswered, [.write], under: .accounts)
            replica.store.afterWrite(at: .account("alice")) { replica.store.fail(.away, under: .accounts) }

            // When nobody can say whether they are stored
            #expect(try await replica.answer(begun).failure?.code == .notStored)

            // Then they are left alone
            #expect(fixture.provider.revoked.isEmpty)
            replica.store.recover()
            #expect(try await fixture.refreshToken() == "rt-1")
        }
    }

    @Test func `tokens whose write had a lost response are stored once`() async throws {
        try await SignInFixture.run { fixture, replica in
            fixture.provider.answer(.tokens())
            let begun = try await replica.begin()
            replica.store.fail(.unanswered, [.write], under: .accounts, times: 1)
            replica.store.afterWrite(at: .account("alice")) { replica.store.fail(.away, under: .accounts, times: 3) }

            #expect(try await replica.answer(begun).state == .done)
            #expect(fixture.provider.revoked.isEmpty)
            #expect(try await fixture.record()?.generation == Generation(1))
        }
    }

    @Test func `the end of a sign-in is written when the store is back`() async throws {
        try await SignInFixture.run { fixture, replica in
            fixture.provider.answer(.tokens())
            let begun = try await replica.begin()
            fixture.provider.duringNextExchange { replica.store.fail(.away, [.write], under: .signIns) }
            let answering = Task(executorPreference: Simulation.running) { try await replica.answer(begun) }
            try await until("the tokens to be stored") { try await fixture.refreshToken() == "rt-1" }
            #expect(try await replica.report(on: begun).state == .redeeming)

            replica.store.recover()
            #expect(try await answering.value.state == .done)
            #expect(try await replica.report(on: begun).state == .done)
        }
    }

    @Test func `an answer after the service has stopped sends no code`() async throws {
        try await SignInFixture.run { fixture, replica in
            let begun = try await replica.begin()
            replica.service.stop()

            #expect(try await replica.answer(begun).failure?.code == .interrupted)
            #expect(fixture.provider.redeemed.isEmpty)
        }
    }

    @Test func `a service that stops finishes the exchange first`() async throws {
        try await SignInFixture.run { fixture, replica in
            fixture.provider.answer(.tokens())
            let begun = try await replica.begin()
            fixture.provider.duringNextExchange { replica.service.stop() }

            #expect(try await replica.answer(begun).state == .done)
            #expect(try await fixture.refreshToken() == "rt-1")
        }
    }

    @Test func `a record that does not open is said to be unreadable`() async throws {
        try await SignInFixture.run { _, replica in
            let begun = try await replica.begin()
            replica.store.fail(.spoiled, [.read], under: .signIns)

            let error = await #expect(throws: SignInError.self) { try await replica.report(on: begun) }
            #expect(error?.code == .unreadable)
        }
    }
}
