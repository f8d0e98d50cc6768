import OAuth
import ProviderClient
import SignIn
import Simulation
import TestKit
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// Sign-ins on another device, which the replicas ask about.
@Suite(.simulated) struct DeviceSignInTests {
    @Test func `a device shows where to enter which code, as long as the sign-in waits`() async throws {
        try await SignInFixture.run(scopes: ["read"]) { fixture, replica in
            fixture.configuration.set([
                acme: SignInConfiguration.Provider(server: fixture.provider, extra: ["audience": "api"])
            ])
            let report = try await replica.begin(alice, .device).report

            #expect(report.state == .pending)
            #expect(report.url == nil)
            #expect(report.userCode == "WDJB-MJHT")
            #expect(report.verificationURI == "https://login.acme.example/device")
            #expect(report.verificationURIComplete == "https://login.acme.example/device?user_code=WDJB-MJHT")
            #expect(report.expiresAt == fixture.clock.wall.advanced(by: .seconds(300)))
            #expect(fixture.provider.extras == [["audience": "api"]])

            let over = try await replica.service.cancel(report.id)
            #expect(over.userCode == nil && over.verificationURI == nil && over.verificationURIComplete == nil)
        }
    }

    @Test func `tokens are asked for at each interval until the person has agreed`() async throws {
        try await SignInFixture.run { fixture, replica in
            // Given a person who agrees before the third question
            fixture.provider.answerDevices(
                .refused(.code("authorization_pending")),
                .refused(.code("authorization_pending")),
                .tokens()
            )
            let start = fixture.clock.now
            let begun = try await replica.begin(alice, .device)

            // When time passes
            try await self.ask(1, at: start.advanced(by: .seconds(5)), fixture)
            try await self.ask(2, at: start.advanced(by: .seconds(10)), fixture)
            #expect(try await replica.report(on: begun).state == .pending)
            try await self.ask(3, at: start.advanced(by: .seconds(15)), fixture)

            // Then the account has the tokens
            try await until("it to be done") { try await replica.report(on: begun).state == .done }
            #expect(try await fixture.refreshToken() == "rt-1")
            #expect(try await replica.engine.credential(for: alice).accessToken.text == "at-1")
            #expect(Set(fixture.provider.asked) == ["device-code"])
            #expect(try await replica.audited() == ["login alice by anne", "login alice: done"])
        }
    }

    @Test func `the ID token of a device has no nonce`() async throws {
        try await SignInFixture.run(scopes: ["openid"]) { fixture, replica in
            fixture.provider.answerDevices(.tokens(idToken: "id-token"))
            let begun = try await replica.begin(alice, .device)
            try await fixture.pass(until: .done, begun, at: replica)
            #expect(fixture.provider.nonces == [nil])
        }
    }

    @Test func `slow_down makes this and all later intervals 5 s longer`() async throws {
        try await SignInFixture.run { fixture, replica in
            fixture.provider.answerDevices(.refused(.code("slow_down")), .refused(.code("slow_down")))
            let start = fixture.clock.now
            _ = try await replica.begin(alice, .device)

            try await self.ask(1, at: start.advanced(by: .seconds(5)), fixture)
            try await self.ask(2, at: start.advanced(by: .seconds(15)), fixture)
            try await self.ask(3, at: start.advanced(by: .seconds(30)), fixture)
            try await self.ask(4, at: start.advanced(by: .seconds(45)), fixture)
        }
    }

    @Test(arguments: [
        TokenVerdict.notSent(.connectFailed), .throttled(retryAfter: .seconds(1)), .ambiguous(.connectionLost),
        .notProvider(.answerHTML),
    ])
    func `a question without an answer is asked again`(verdict: TokenVerdict) async throws {
        try await SignInFixture.run { fixture, replica in
            fixture.provider.answerDevices(verdict, .tokens())
            let begun = try await replica.begin(alice, .device)
            try await fixture.pass(until: .done, begun, at: replica)
            #expect(fixture.provider.asked.count == 2)
        }
    }

    @Test(arguments: [
        (TokenVerdict.refused(.code("access_denied")), SignInFailure.Code.accessDenied),
        (.refused(.code("expired_token")), .expired), (.dead(.code("invalid_grant")), .codeRefused),
        (.config(.code("invalid_client")), .providerConfig),
    ])
    func `a refusal ends the sign-in and the questions`(
        verdict: TokenVerdict,
        code: SignInFailure.Code
    ) async throws {
        try await SignInFixture.run { fixture, replica in
            fixture.provider.answerDevices(verdict)
            let begun = try await replica.begin(alice, .device)
            try await fixture.pass(until: .failed, begun, at: replica)

            #expect(try await replica.report(on: begun).failure?.code == code)
            await fixture.clock.pass(.seconds(60))
            #expect(fixture.provider.asked.count == 1)
        }
    }

    @Test func `nobody asks after the code has expired`() async throws {
        try await SignInFixture.run { fixture, replica in
            fixture.provider.offer(.sample(lifetime: .seconds(12)))
            let begun = try await replica.begin(alice, .device)
            try await fixture.pass(until: .expired, begun, at: replica)
            await fixture.clock.pass(.seconds(100))
            #expect(fixture.provider.asked.count == 2)
        }
    }

    @Test func `a device code that lives longer than a sign-in is not followed longer`() async throws {
        try await SignInFixture.run { fixture, replica in
            fixture.provider.offer(.sample(lifetime: .seconds(3_600)))
            let report = try await replica.begin(alice, .device).report
            #expect(report.expiresAt == report.startedAt.advanced(by: .seconds(600)))
        }
    }

    @Test func `tokens that come after another sign-in has begun are revoked`() async throws {
        try await SignInFixture.run { fixture, replica in
            fixture.provider.answerDevices(.tokens(1))
            _ = try await replica.begin(alice, .device)
            fixture.provider.duringNextExchange { _ = try? await replica.begin(alice) }
            try await until("both to be revoked", within: .seconds(10)) { fixture.provider.revoked.count == 2 }
            #expect(try await fixture.record() == nil)
        }
    }

    @Test func `a device whose sign-in was cancelled is not asked about`() async throws {
        try await SignInFixture.run { fixture, replica in
            let begun = try await replica.begin(alice, .device)
            _ = try await replica.service.cancel(begun.report.id)
            await fixture.clock.pass(.seconds(20))
            #expect(fixture.provider.asked.isEmpty)
        }
    }

    @Test func `a kill ends the questions about a device`() async throws {
        try await SignInFixture.run { fixture, replica in
            let begun = try await replica.begin(alice, .device)
            try await replica.kill(.account(alice))
            try await fixture.pass(until: .failed, begun, at: replica)

            #expect(try await replica.report(on: begun).failure?.code == .killed)
            #expect(fixture.provider.asked.isEmpty)
        }
    }

    @Test func `a kill while the provider gives a device its tokens leaves nothing alive`() async throws {
        try await SignInFixture.run { fixture, replica in
            fixture.provider.answerDevices(.tokens())
            let begun = try await replica.begin(alice, .device)
            fixture.provider.duringNextExchange { try? await replica.kill(.account(alice)) }
            try await fixture.pass(until: .failed, begun, at: replica)

            #expect(try await replica.report(on: begun).failure?.code == .killed)
            #expect(try await fixture.refreshToken() == nil)
            try await until("both to be revoked") {
                Set(fixture.provider.revoked) == ["rt-1", "at-1"]
            }
        }
    }

    @Test func `a provider that was changed is not asked any more`() async throws {
        try await SignInFixture.run { fixture, replica in
            let begun = try await replica.begin(alice, .device)
            fixture.configuration.set([:])
            try await fixture.pass(until: .failed, begun, at: replica)
            #expect(try await replica.report(on: begun).failure?.code == .notConfigured)
            #expect(fixture.provider.asked.isEmpty)
        }
    }

    // MARK: - The store and other replicas

    @Test func `questions go on when the store is back`() async throws {
        try await SignInFixture.run { fixture, replica in
            fixture.provider.answerDevices(.tokens())
            let begun = try await replica.begin(alice, .device)
            replica.store.fail(.away)
            await fixture.clock.pass(.seconds(20))
            #expect(fixture.provider.asked.isEmpty)

            replica.store.recover()
            try await fixture.pass(until: .done, begun, at: replica)
        }
    }

    @Test func `a store that takes no writes is not asked without a pause`() async throws {
        try await SignInFixture.run { fixture, replica in
            fixture.provider.answerDevices(.tokens())
            let begun = try await replica.begin(alice, .device)
            let key = try #require(try await fixture.signInKeys().first)
            replica.store.fail(.full, [.write], at: key)

            // When a question is due after 5 s and can't be claimed, the next try is after a second
            await fixture.clock.pass(.seconds(5))
            let tries = replica.store.failedWrites
            #expect(tries > 0)
            await fixture.clock.pass(.milliseconds(999))
            #expect(replica.store.failedWrites == tries)
            await fixture.clock.pass(.milliseconds(1))
            #expect(replica.store.failedWrites == 2 * tries)
            #expect(fixture.provider.asked.isEmpty)

            replica.store.recover()
            try await fixture.pass(until: .done, begun, at: replica)
        }
    }

    @Test func `a sign-in whose record does not open is not followed for longer than sign-ins last`() async throws {
        try await SignInFixture.run { fixture, replica in
            let begun = try await replica.begin(alice, .device)
            let key = try #require(try await fixture.signInKeys().first)
            replica.store.fail(.spoiled, [.read], at: key)
            try await until("a try", within: .seconds(2)) { replica.store.count(of: .read, at: key) > 3 }

            await fixture.clock.pass(.seconds(600))
            let reads = replica.store.count(of: .read, at: key)
            await fixture.clock.pass(.seconds(20))
            #expect(replica.store.count(of: .read, at: key) == reads)
            #expect(begun.report.state == .pending)
        }
    }

    @Test func `two replicas that follow one sign-in ask each question once`() async throws {
        let fixture = SignInFixture()
        try await fixture.run(["a", "b"]) { replicas in
            // Given two replicas that follow it
            let start = fixture.clock.now
            let begun = try await replicas[0].begin(alice, .device)
            _ = try await replicas[1].report(on: begun)

            // Then each interval has one question, although both are awake for it
            for number in 1...6 {
                try await self.ask(number, at: start.advanced(by: .seconds(5 * number)), fixture)
            }
            fixture.provider.answerDevices(.tokens())
            try await self.ask(7, at: start.advanced(by: .seconds(35)), fixture)
            for replica in replicas {
                try await until("it to be done") { try await replica.report(on: begun).state == .done }
            }
            #expect(fixture.provider.asked.count == 7)
            #expect(fixture.provider.revoked.isEmpty)
        }
    }

    @Test func `a second replica goes on after the first has ended`() async throws {
        let fixture = SignInFixture()
        try await fixture.run(["a", "b"]) { replicas in
            // Given a replica that ends after its first question
            let start = fixture.clock.now
            let begun = try await replicas[0].begin(alice, .device)
            try await self.ask(1, at: start.advanced(by: .seconds(5)), fixture)
            replicas[0].service.stop()

            // When somebody looks at the sign-in at the other one
            fixture.provider.answerDevices(.tokens())
            #expect(try await replicas[1].report(on: begun).state == .pending)

            // Then that one asks
            try await self.ask(2, at: start.advanced(by: .seconds(10)), fixture)
            try await until("it to be done") { try await replicas[1].report(on: begun).state == .done }
            #expect(try await fixture.refreshToken() == "rt-1")
        }
    }

    @Test func `a process that starts goes on with what an earlier one began`() async throws {
        let fixture = SignInFixture()
        // Given a process that has ended
        try await fixture.run(["a"]) { replicas in _ = try await replicas[0].begin(alice, .device) }

        // When another one starts, and nobody looks at the sign-in
        fixture.provider.answerDevices(.tokens())
        try await fixture.run(["b"]) { _ in
            try await until("the tokens to be stored", within: .seconds(10)) {
                try await fixture.refreshToken() == "rt-1"
            }
        }
    }

    @Test func `tokens of a slow answer count although another replica was refused meanwhile`() async throws {
        let fixture = SignInFixture()
        try await fixture.run(["a", "b"]) { replicas in
            // Given a question whose answer takes longer than the interval, so that another replica asks too. The
            // provider has spent the code by then.
            fixture.provider.answerDevices(.tokens(), .dead(.code("invalid_grant")))
            let begun = try await replicas[0].begin(alice, .device)
            _ = try await replicas[1].report(on: begun)
            fixture.provider.duringNextExchange {
                try? await until("the other one to be refused", within: .seconds(10)) {
                    try await replicas[1].report(on: begun).state == .failed
                }
            }

            // Then the tokens count
            try await fixture.pass(until: .done, begun, at: replicas[1])
            #expect(try await fixture.refreshToken() == "rt-1")
            #expect(fixture.provider.revoked.isEmpty)
        }
    }

    @Test func `tokens count although another replica is just writing that it was refused`() async throws {
        let fixture = SignInFixture()
        try await fixture.run(["a", "b"]) { replicas in
            // Given a question in progress, and another replica, which is refused and halts after its second write
            fixture.provider.answerDevices(.tokens(), .dead(.code("invalid_grant")))
            let begun = try await replicas[0].begin(alice, .device)
            let key = try #require(try await fixture.signInKeys().first)
            let halted = Tally()
            fixture.provider.duringNextExchange {
                replicas[1].store.afterWrite(at: key) {
                    replicas[1].store.afterWrite(at: key) {
                        halted.add()
                        try? await until("the first one to end") {
                            try await replicas[0].report(on: begun).endedAt != nil && !fixture.provider.isAsked
                        }
                    }
                }
                _ = try? await replicas[1].report(on: begun)
                try? await until("the other one to halt", within: .seconds(10)) { halted.count == 1 }
            }

            // Then the tokens count
            try await fixture.pass(until: .done, begun, at: replicas[0])
            #expect(halted.count == 1)
            #expect(fixture.provider.revoked.isEmpty)
            #expect(try await fixture.refreshToken() == "rt-1")
        }
    }

    /// Passes time until `instant`, at which question `number` is asked, and not before.
    private func ask(_ number: Int, at instant: BootInstant, _ fixture: SignInFixture) async throws {
        await fixture.clock.pass(fixture.clock.now.duration(to: instant) - .milliseconds(1))
        #expect(fixture.provider.asked.count == number - 1)
        await fixture.clock.pass(.milliseconds(1))
        #expect(fixture.provider.asked.count == number)
    }
}

extension SignInFixture {
    /// Runs everything until a sign-in has come to `state`.
    func pass(until state: SignInReport.State, _ begun: Begun, at replica: Replica) async throws {
        try await until(state.rawValue, within: .seconds(20)) { try await replica.report(on: begun).state == state }
    }
}
