import OAuth
import Simulation
import TestKit
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// A provider that fails for every account, or whose request rate is limited.
@Suite(.simulated) struct ProviderOutageTests {
    private let house = Cluster()
    private let provider = ScriptedTokenEndpoint()
    private let accounts = (0..<7).map { AccountID("account-\($0)") }

    private func plans(_ rate: RefreshRate = RefreshRate(), accounts: Int = 7) -> [AccountConfiguration] {
        self.accounts.prefix(accounts).map {
            AccountConfiguration(account: $0, provider: acme, endpoint: self.provider, rate: rate)
        }
    }

    private func putExpired() async throws {
        for account in self.accounts { try await self.house.put(.expired(), for: account) }
    }

    private func heard(_ message: String) -> Int {
        self.house.log.lines.count { $0.contains(message) }
    }

    @Test(arguments: [
        TokenVerdict.notSent(.connectFailed), .ambiguous(.serverError), .throttled(retryAfter: .seconds(1)),
    ])
    func `after five failures valid tokens are still used, other callers get errors, and one request probes`(
        verdict: TokenVerdict
    ) async throws {
        try await self.putExpired()
        try await self.house.put(.valid(), for: self.accounts[6])
        self.provider.answerAll(with: verdict)
        try await self.house.withReplica(self.plans(), of: [self.provider]) { replica in
            for account in self.accounts.prefix(5) {
                let answer = await replica.ask(account).value
                #expect(answer == .error(.refreshFailed))
            }
            let asked = self.provider.spent.count

            let expired = await replica.ask(self.accounts[5]).value
            let valid = await replica.ask(self.accounts[6]).value
            #expect(expired == .error(.refreshFailed))
            #expect(valid.generation == Generation(1))
            #expect(self.provider.spent.count == asked)
            #expect(await replica.engine.status(of: self.accounts[5])?.state == .backingOff)
            #expect(await replica.engine.status(of: self.accounts[6])?.state == .valid)
            #expect(self.heard("a provider keeps failing") == 1)

            await self.house.clock.pass(.seconds(30))
            let probe = await replica.ask(self.accounts[5]).value
            let beside = await replica.ask(self.accounts[0]).value
            #expect(probe == .error(.refreshFailed))
            #expect(beside == .error(.refreshFailed))
            #expect(self.provider.spent.count > asked)
            #expect(self.heard("a provider keeps failing") == 1)

            await self.house.clock.pass(.seconds(36))
            self.provider.answer(.success(.sample(9)))
            let recovered = await replica.ask(self.accounts[0]).value
            #expect(recovered.generation == Generation(2))
            #expect(replica.engine.providers == [acme: .answering])
            #expect(self.heard("a provider answers again") == 1)
        }
    }

    @Test func `a provider's only account is retried by its own backoff, however often it has failed`() async throws {
        try await self.house.put(.expired())
        self.provider.answerAll(with: .notSent(.connectFailed))
        // The longest backoffs that the jitter allows. This test draws them.
        let backoff: [Duration] = [
            .milliseconds(500), .seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(16), .seconds(30),
            .seconds(30),
        ]
        try await self.house.withReplica(self.provider) { replica in
            for (tries, pause) in backoff.enumerated() {
                let first = await replica.ask().value
                #expect(first == .error(.refreshFailed))
                #expect(self.provider.spent.count == tries + 1)
                // After a flight that found the backoff in the record, callers get its error for another 250 ms.
                await self.house.clock.pass(pause - .milliseconds(251))
                _ = await replica.ask().value
                #expect(self.provider.spent.count == tries + 1, "before \(pause) were over")
                await self.house.clock.pass(.milliseconds(251))
            }
            #expect(replica.engine.providers == [acme: .answering])
            #expect(self.heard("a provider keeps failing") == 0)

            self.provider.answer(.success(.sample(9)))
            let recovered = await replica.ask().value
            #expect(recovered.generation == Generation(2))
        }
    }

    @Test func `callers that the rate limit would delay too long fail at once, and others are served`() async throws {
        try await self.putExpired()
        let rate = RefreshRate(perSecond: 1, burst: 1)
        for number in 1...7 { self.provider.answer(.success(.sample(number))) }
        // After the first request two more find a place, one and two seconds later.
        let limits = RefreshLimits(longestWait: .milliseconds(2_900))
        try await self.house.withReplica(self.plans(rate), of: [self.provider], limits: limits) { replica in
            #expect(await replica.ask(self.accounts[0]).value.generation == Generation(2))
            let start = self.house.clock.now
            let asked = self.accounts[1...4].map { replica.ask($0) }
            await self.house.clock.settle()
            #expect(replica.engine.waiterCount == 2)
            #expect(self.provider.spent.count == 1)
            #expect(self.heard("refreshes wait") == 1)

            var answers: [Answer] = []
            for one in asked { answers.append(await one.value) }
            #expect(answers.count { $0 == .error(.refreshFailed) } == 2)
            #expect(answers.count { $0.generation == Generation(2) } == 2)
            #expect(start.duration(to: self.house.clock.now) == .seconds(2))
        }
    }

    @Test func `a stop does not wait for requests whose turn has not come`() async throws {
        try await self.putExpired()
        self.provider.answer(.success(.sample(1)), .success(.sample(2)))
        let plans = self.plans(RefreshRate(perSecond: 1, burst: 1))
        try await self.house.withReplica(plans, of: [self.provider]) { replica in
            _ = await replica.ask(self.accounts[0]).value
            let waiting = replica.ask(self.accounts[1])
            try await until("it to wait") { self.heard("refreshes wait") == 1 }
            replica.engine.stop()
            #expect(await waiting.value == .error(.refreshFailed))
            // Its turn would have come after a second.
            #expect(self.house.clock.now == Moment.start.boot.advanced(by: .milliseconds(500)))
            #expect(self.provider.spent.count == 1)
        }
    }

    @Test func `an outage is reported once per account, and again only after a new token`() async throws {
        try await self.house.put(.expired())
        let failure = TokenVerdict.notSent(.connectFailed)
        self.provider.answer(failure, failure)
        try await self.house.withReplica(self.provider) { replica in
            _ = await replica.ask().value
            await self.house.clock.pass(.seconds(1))
            _ = await replica.ask().value
            #expect(self.house.told.lines == ["refresh_failed alice"])
            #expect(self.house.told.all.first?.reason == "not_sent.connect_failed")

            await self.house.clock.pass(.seconds(2))
            let served = await replica.ask().value
            #expect(served.generation == Generation(2))

            // Set before the clock moves, since a refresh that is due may begin without a caller.
            self.provider.answer(failure)
            await self.house.clock.pass(.seconds(3_700))
            _ = await replica.ask().value
            #expect(self.house.told.lines == ["refresh_failed alice", "refresh_failed alice"])
            #expect(self.heard("event.name=refresh_failed") == 2)
        }
    }

    @Test func `a refresh that fails while the token is valid is not reported as an outage`() async throws {
        try await self.house.put(.valid())
        self.provider.answerAll(with: .notSent(.connectFailed))
        try await self.house.withReplica(self.provider) { replica in
            _ = await replica.engine.refreshNow(alice)
            #expect(self.provider.spent.count == 1)
            #expect(self.house.told.lines == [])
        }
    }

    @Test func `a refused client is reported once per hold, and a refused account once for itself`() async throws {
        try await self.putExpired()
        self.provider.answer(.accountConfig(.code("invalid_scope")))
        self.provider.answer(.config(.code("invalid_client")), .config(.code("invalid_client")))
        try await self.house.withReplica(self.plans(), of: [self.provider]) { replica in
            for account in self.accounts.prefix(4) { _ = await replica.ask(account).value }
            await self.house.clock.pass(.seconds(30))
            for account in self.accounts.prefix(4) { _ = await replica.ask(account).value }
            #expect(self.house.told.lines == ["provider_config account-0", "provider_config *"])
            #expect(self.heard("event.name=provider_config") == 2)
        }
    }

    @Test func `a probe of a refused client that gets no response is repeated after the same interval`() async throws {
        try await self.putExpired()
        self.provider.answer(.config(.code("invalid_client")))
        self.provider.answer(.ambiguous(.timedOut), .ambiguous(.timedOut), .success(.sample(9)))
        try await self.house.withReplica(self.plans(), of: [self.provider]) { replica in
            _ = await replica.ask(self.accounts[0]).value
            await self.house.clock.pass(.seconds(30))
            _ = await replica.ask(self.accounts[1]).value
            #expect(self.provider.spent.count == 3)

            await self.house.clock.pass(.seconds(29))
            _ = await replica.ask(self.accounts[2]).value
            #expect(self.provider.spent.count == 3)
            await self.house.clock.pass(.seconds(1))
            let recovered = await replica.ask(self.accounts[3]).value
            #expect(recovered.generation == Generation(2))
        }
    }

    @Test func `each account that waits for a failing provider is reported once`() async throws {
        try await self.putExpired()
        self.provider.answerAll(with: .notSent(.connectFailed))
        try await self.house.withReplica(self.plans(), of: [self.provider]) { replica in
            for _ in 0..<3 {
                for account in self.accounts { _ = await replica.ask(account).value }
                await self.house.clock.pass(.seconds(2))
            }
            #expect(self.house.told.lines.sorted() == self.accounts.map { "refresh_failed \($0)" })
            #expect(self.house.told.all.last?.reason == "provider_failing")
        }
    }
}
