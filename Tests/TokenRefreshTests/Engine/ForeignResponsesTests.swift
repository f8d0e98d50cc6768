import OAuth
import Simulation
import TestKit
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// Responses that are not the provider's own or give no reason. They end no grant, and the account recovers by itself.
@Suite(.simulated) struct ForeignResponsesTests {
    private static let page = TokenVerdict.notProvider(.answerHTML)
    private let house = Cluster()
    private let provider = ScriptedTokenEndpoint()
    private let bob = AccountID("bob")
    private let onlyAppointments = RefreshLimits(rereadInterval: .seconds(1_000_000))

    @Test func `after five pages of a proxy the account becomes valid again within minutes by itself`() async throws {
        try await self.house.put(.valid().with { $0.tokens = .sample(lifetime: .seconds(60)) })
        self.provider.answer(Self.page, Self.page, Self.page, Self.page, Self.page)
        try await self.house.withReplica(self.provider, limits: self.onlyAppointments) { replica in
            let first = try await replica.engine.credential(for: alice)
            replica.engine.used(TokenVersion(first), of: alice)
            let start = self.house.clock.now

            try await until("the new tokens", within: .seconds(120)) {
                try await self.house.record()?.generation == Generation(2)
            }

            #expect(start.duration(to: self.house.clock.now) <= .seconds(180))
            #expect(self.provider.spent == Array(repeating: "rt-0", count: 6))
            #expect(await replica.engine.status(of: alice)?.state == .valid)
            #expect(try await self.house.record()?.failureRecord == nil)
            #expect(!self.house.told.lines.contains("reauthorization_required alice"))
        }
    }

    @Test func `operators also get an event if an upstream refuses a token that has not expired`() async throws {
        try await self.house.put(.valid())
        self.provider.answerAll(with: Self.page)
        try await self.house.withReplica(self.provider) { replica in
            let credential = try await replica.engine.credential(for: alice)
            let answer = await replica.ask(refused: credential.generation).value

            #expect(answer == .error(.providerConfig))
            await self.house.clock.settle()
            #expect(self.house.told.lines == ["provider_config alice"])
        }
    }

    @Test func `callers get a configuration error with a retry time, and operators get one event`() async throws {
        try await self.house.put(.expired())
        self.provider.answerAll(with: Self.page)
        try await self.house.withReplica(self.provider) { replica in
            for _ in 0..<20 {
                let error = await #expect(throws: CredentialError.self) {
                    try await replica.engine.credential(for: alice)
                }
                #expect(error?.code == .providerConfig)
                let wait = try #require(error?.retryAfter)
                #expect(wait <= .seconds(120))
                await self.house.clock.pass(wait + .milliseconds(251))
            }
            #expect(self.provider.spent.count == 20)
            #expect(self.house.told.lines == ["provider_config alice"])
            #expect(self.house.told.all.first?.reason == "not_provider.html")
            let status = await replica.engine.status(of: alice)
            #expect(status?.issue?.kind == .refreshFailing)
            #expect(status?.issue?.reason == "not_provider.html")
            #expect(try await self.house.record()?.failureRecord?.dead == false)
        }
    }

    @Test func `two hundred accounts behind a broken proxy cause one request per ten seconds and one event`()
        async throws
    {
        let accounts = (0..<200).map { AccountID("account-\($0)") }
        for account in accounts { try await self.house.put(.expired(), for: account) }
        self.provider.answerAll(with: Self.page)
        try await self.house.withReplica(self.provider, accounts: accounts) { replica in
            for round in 0..<3 {
                for account in accounts {
                    let answer = await replica.ask(account).value
                    #expect(answer == .error(.providerConfig))
                }
                #expect(self.provider.spent.count == 5 + round)
                await self.house.clock.pass(.seconds(10))
            }
            #expect(replica.engine.providers.mapValues(\.word) == [acme: .notProvider])
            #expect(self.house.told.lines == ["provider_config account-0"])
            let waiting = await replica.engine.status(of: accounts[100])
            #expect(waiting?.issue?.reason == "not_provider")
            #expect(waiting?.lastError == "not_provider")

            // The provider is back. Every account that asks is served, except those that met the proxy last.
            for number in 1...200 { self.provider.answer(.success(.sample(number))) }
            // A caller that asks while a background errand probes the provider is told to retry.
            try await until("the provider to be found back", within: .seconds(2)) {
                await self.house.clock.pass(.seconds(1))
                return await replica.ask(accounts[50]).value.generation == Generation(2)
            }
            for account in accounts[51...] {
                let served = await replica.ask(account).value
                #expect(served.generation == Generation(2))
            }
            #expect(replica.engine.providers == [acme: .answering])
        }
    }

    @Test func `one account with odd responses delays no other account and causes one event`() async throws {
        try await self.house.put(.expired())
        try await self.house.put(.expired(), for: self.bob)
        self.provider.answerAll(for: alice, with: .notProvider(.noKnownReason))
        try await self.house.withReplica(self.provider, accounts: [alice, self.bob]) { replica in
            for number in 1...6 {
                #expect(await replica.ask(alice).value == .error(.providerConfig))
                self.provider.answer(.success(.sample(number)))
                try await self.house.put(.expired(generation: UInt64(number + 1)), for: self.bob)
                #expect(await replica.ask(self.bob).value.generation != nil)
                await self.house.clock.pass(.seconds(121))
            }
            #expect(self.house.told.lines == ["provider_config alice"])
        }
    }

    @Test func `a refusal without a reason is retried hourly, reported by one replica and never ends the grant`()
        async throws
    {
        try await self.house.put(.expired())
        self.provider.answerAll(with: .refused(.answerEmpty))
        try await self.house.withReplica(self.provider) { first in
            try await self.house.withReplica(self.provider) { second in
                for hour in 1...4 {
                    for _ in 0..<6 {
                        let one = await first.ask().value
                        let other = await second.ask().value
                        #expect(one == .error(.refreshFailed))
                        #expect(other == .error(.refreshFailed))
                        await self.house.clock.pass(.seconds(600))
                    }
                    #expect(self.provider.spent.count == hour)
                }
                #expect(self.house.told.lines == ["refused_without_reason alice"])
                #expect(self.house.log.lines.count { $0.contains("event.name=refused_without_reason") } == 1)
                let shown = await first.engine.refreshNow(alice)
                #expect(shown?.lastError == "refused.answer_empty")
                #expect(self.provider.spent.count == 5)

                self.provider.answer(.success(.sample(1)))
                // The second replica counts the hour from its first sight of the failure.
                _ = await second.engine.status(of: alice)
                await self.house.clock.pass(.seconds(3_601))
                let served = await first.ask().value
                #expect(served.generation == Generation(2))
            }
        }
    }

    @Test func `a grant that an earlier version declared dead after three such refusals is tried again`() async throws {
        try await self.house.put(
            .expired().with {
                $0.failureRecord = .sample(
                    tries: 3,
                    retryIn: .seconds(150),
                    dead: true,
                    reason: "refused.no_known_reason"
                )
            }
        )
        try await self.house.withReplica(self.provider) { replica in
            let early = await replica.ask().value
            #expect(early == .error(.refreshFailed))
            await self.house.clock.pass(.milliseconds(150_251))
            let served = await replica.ask().value
            #expect(served.generation == Generation(2))
        }
    }

    @Test func `after a reload a refusal is retried at once, since the client may have been its cause`() async throws {
        try await self.house.put(.expired())
        self.provider.answer(.refused(.answerEmpty))
        try await self.house.withReplica(self.provider) { replica in
            _ = await replica.ask().value
            await self.house.clock.pass(.seconds(2))
            let other = ScriptedTokenEndpoint()
            replica.engine.reload([AccountConfiguration(account: alice, provider: acme, endpoint: other)], waiters: 100)
            let served = await replica.ask().value
            #expect(served.generation == Generation(2))
            #expect(other.spent == ["rt-0"])
        }
    }

    @Test func `the first caller that learns of a refused client also learns when to retry`() async throws {
        try await self.house.put(.expired())
        self.provider.answerAll(with: .config(.code("invalid_client")))
        try await self.house.withReplica(self.provider) { replica in
            let first = await #expect(throws: CredentialError.self) { try await replica.engine.credential(for: alice) }
            #expect(first?.code == .providerConfig)
            #expect(first?.retryAfter == .seconds(30))

            await self.house.clock.pass(.seconds(30))
            let probe = await #expect(throws: CredentialError.self) { try await replica.engine.credential(for: alice) }
            #expect(probe?.retryAfter == .seconds(60))
        }
    }
}
