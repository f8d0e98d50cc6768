import OAuth
import Simulation
import TestKit
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// The effects of a provider's response on later requests, other accounts and other replicas.
@Suite(.simulated) struct VerdictConsequencesTests {
    private let house = Cluster()
    private let provider = ScriptedTokenEndpoint()
    private let bob = AccountID("bob")

    @Test func `a dead grant is reported once, is not tried again and can be replaced by an import`() async throws {
        try await self.house.put(.expired())
        self.provider.answer(.dead(.code("invalid_grant")))
        try await self.house.withReplica(self.provider) { first in
            try await self.house.withReplica(self.provider) { second in
                let dead = await first.ask().value
                await self.house.clock.pass(.seconds(2))
                let again = await first.ask().value
                let elsewhere = await second.ask().value
                let state = await first.engine.status(of: alice)

                #expect(dead == .error(.reauthorizationRequired))
                #expect(again == .error(.reauthorizationRequired))
                #expect(elsewhere == .error(.reauthorizationRequired))
                #expect(self.provider.spent == ["rt-0"])
                #expect(state?.state == .reauthorizationRequired)
                #expect(state?.lastError == "invalid_grant")
                #expect(try await self.house.record()?.tokens == AccountRecord.expired().tokens)
                #expect(self.house.log.lines.count { $0.contains("a grant is dead") } == 1)
                #expect(self.house.told.lines == ["reauthorization_required alice"])
                #expect(self.house.told.all.first?.reason == "invalid_grant")

                try await first.engine.importTokens(Secret("rt-9"), accessToken: Secret("at-9"), for: alice)
                let revived = await first.ask().value
                #expect(revived.generation == Generation(1))
            }
        }
    }

    @Test func `the valid access token of a dead grant is still used`() async throws {
        try await self.house.put(.valid())
        self.provider.answer(.dead(.code("invalid_grant")))
        try await self.house.withReplica(self.provider) { replica in
            let refused = await replica.ask(refused: Generation(1)).value
            #expect(refused.generation == Generation(1) || refused == .error(.reauthorizationRequired))
            let told = await replica.ask(refused: Generation(1)).value
            let other = await replica.ask().value
            #expect(told == .error(.reauthorizationRequired))
            #expect(other.generation == Generation(1))
            #expect(self.provider.spent == ["rt-0"])
        }
    }

    @Test func `a refused client holds the provider for all its accounts until a probe succeeds`() async throws {
        try await self.house.put(.expired())
        try await self.house.put(.expired(), for: self.bob)
        self.provider.answer(.config(.code("invalid_client")), .config(.code("invalid_client")))
        try await self.house.withReplica(self.provider, accounts: [alice, self.bob]) { replica in
            let first = await replica.ask(alice).value
            let second = await replica.ask(self.bob).value
            #expect(first == .error(.providerConfig))
            #expect(second == .error(.providerConfig))
            #expect(self.provider.spent.count == 1)

            // The first caller after 30 s sends a probe. The next probe comes 60 s later.
            await self.house.clock.pass(.seconds(30))
            let probe = await replica.ask(self.bob).value
            await self.house.clock.pass(.seconds(30))
            let early = await replica.ask(alice).value
            #expect(probe == .error(.providerConfig))
            #expect(early == .error(.providerConfig))
            #expect(self.provider.spent.count == 2)

            await self.house.clock.pass(.seconds(30))
            let opened = await replica.ask(alice).value
            #expect(opened.generation == Generation(2))
            let bobs = try await self.house.record(of: self.bob)
            #expect(bobs?.failureRecord?.dead == false)
        }
    }

    @Test func `a wait that the provider asked for is kept although the store can't record it`() async throws {
        try await self.house.put(.expired())
        self.provider.answer(.throttled(retryAfter: .seconds(300)))
        self.provider.hold()
        try await self.house.withReplica(self.provider) { replica in
            let asked = replica.ask()
            try await until("the provider to be asked") { self.provider.heldCount == 1 }
            self.house.store.fail(.full)
            self.provider.release()
            let told = await asked.value
            self.house.store.recover()
            #expect(told == .error(.refreshFailed))
            #expect(try await self.house.record()?.failureRecord == nil)

            await self.house.clock.pass(.seconds(299))
            let early = await replica.ask().value
            #expect(early == .error(.refreshFailed))
            #expect(self.provider.spent.count == 1)

            await self.house.clock.pass(.seconds(1))
            let served = await replica.ask().value
            #expect(served.generation == Generation(2))
            #expect(self.provider.spent.count == 2)
        }
    }

    @Test func `a refused account does not affect the provider's other accounts`() async throws {
        try await self.house.put(.expired())
        try await self.house.put(.expired(), for: self.bob)
        self.provider.answer(.accountConfig(.code("invalid_scope")))
        try await self.house.withReplica(self.provider, accounts: [alice, self.bob]) { replica in
            let first = await replica.ask(alice).value
            let second = await replica.ask(self.bob).value
            await self.house.clock.pass(.seconds(29))
            let early = await replica.ask(alice).value
            #expect(first == .error(.providerConfig))
            #expect(second.generation == Generation(2))
            #expect(early == .error(.providerConfig))
            #expect(self.provider.spent.count == 2)
        }
    }

    @Test(arguments: [
        (TokenVerdict.throttled(retryAfter: .seconds(17)), Duration.seconds(17)),
        (.notSent(.connectFailed), .milliseconds(500)),
        (.refused(.noKnownReason), .seconds(3_600)),
    ])
    func `all replicas share one backoff, each counting from its first sight of it`(
        verdict: TokenVerdict,
        wait: Duration
    ) async throws {
        try await self.house.put(.expired())
        self.provider.answer(verdict)
        try await self.house.withReplica(self.provider) { first in
            try await self.house.withReplica(self.provider) { second in
                let failed = await first.ask().value
                let elsewhere = await second.ask().value
                await self.house.clock.pass(wait - .milliseconds(1))
                let early = await second.ask().value
                #expect(failed == .error(.refreshFailed))
                #expect(elsewhere == .error(.refreshFailed))
                #expect(early == .error(.refreshFailed))
                #expect(self.provider.spent == ["rt-0"])

                // This also exceeds the 250 ms without flights after a failed one.
                await self.house.clock.pass(.milliseconds(251))
                let later = await second.ask().value
                #expect(later.generation == Generation(2))
            }
        }
    }

    @Test func `fault 4: a provider that responds 500 gets at most one more use, then a backoff`() async throws {
        try await self.house.put(.expired())
        for _ in 0..<10 { self.provider.answer(.ambiguous(.serverError)) }
        try await self.house.withReplica(self.provider) { replica in
            for _ in 0..<20 {
                let answer = await replica.ask().value
                #expect(answer == .error(.refreshFailed))
            }
            #expect(self.provider.spent.count == 2)
            await self.house.clock.pass(.seconds(1))
            _ = await replica.ask().value
            #expect(self.provider.spent.count == 3)
        }
    }

    @Test func `a response without a refresh token keeps the old one, which the next process spends`() async throws {
        try await self.house.put(.expired())
        self.provider.answer(.success(.sample(1, lifetime: .seconds(60), rotates: false)))
        try await self.house.withReplica(self.provider) { replica in
            #expect(await replica.ask().value.generation == Generation(2))
        }
        await self.house.clock.pass(.seconds(61))

        // Another process knows only the record.
        try await self.house.withReplica(self.provider) { replica in
            #expect(await replica.ask().value.generation == Generation(3))
        }

        #expect(self.provider.spent == ["rt-0", "rt-0"])
        #expect(try await self.house.record()?.tokens?.refreshToken == Secret("rt-1"))
    }

    @Test func `an account whose tokens expire at once is not refreshed endlessly`() async throws {
        try await self.house.put(.expired())
        self.provider.issue(lifetime: .milliseconds(1))
        try await self.house.withReplica(self.provider) { replica in
            for _ in 0..<50 {
                _ = await replica.ask().value
                await self.house.clock.pass(.milliseconds(300))
            }
            // In 15 s: 5 refreshes at once, and then one per second.
            #expect(self.provider.spent.count <= 5 + 15)
            #expect(self.provider.spent.count >= 5)
        }
    }

    @Test func `I7_tokens issued to another client are neither used nor spent`() async throws {
        try await self.house.put(.valid())
        let other = ScriptedTokenEndpoint(clientID: "other-app")
        try await self.house.withReplica(other) { replica in
            let answer = await replica.ask().value
            let status = await replica.engine.status(of: alice)
            let forgotten = try await replica.engine.forget(alice)
            #expect(answer == .error(.reauthorizationRequired))
            #expect(status?.state == .reauthorizationRequired)
            #expect(replica.events.isEmpty)
            #expect(other.spent.isEmpty)
            #expect(other.revoked.isEmpty)
            #expect(forgotten.map(\.verdict) == [.unreachable(.notConfigured), .unreachable(.notConfigured)])
        }
    }

    @Test func `I16_no token appears in log entries, errors or status output`() async throws {
        let canary = "CANARY-0123456789"
        try await self.house.withReplica(self.provider) { replica in
            try await replica.engine.importTokens(Secret(canary), accessToken: Secret(canary), for: alice)
            self.provider.answer(.notSent(.connectFailed), .dead(.code("invalid_grant")))
            var shown: [String] = []
            for _ in 0..<3 {
                do {
                    shown.append(
                        String(reflecting: try await replica.engine.credential(for: alice, refused: Generation(1)))
                    )
                } catch {
                    shown.append(String(reflecting: error))
                }
                await self.house.clock.pass(.seconds(2))
            }
            shown.append(String(reflecting: await replica.engine.overview().named))
            shown.append(String(reflecting: try await replica.engine.forget(alice)))
            shown.append(String(reflecting: replica.events))
            shown += self.house.log.lines
            #expect(shown.count > 8)
            #expect(shown.allSatisfy { !$0.contains("CANARY") })
        }
    }
}
