import OAuth
import Simulation
import TestKit
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

@Suite(.simulated) struct AccountCountsTests {
    private let house = Cluster(store: FaultyTokenStore(hints: false))
    private let provider = ScriptedTokenEndpoint()
    private let bob = AccountID("bob")

    private func counts(_ replica: Replica) async -> [AccountStatus.State: Int] {
        let counts = await replica.engine.accountCounts()
        #expect(Array(counts.keys) == [acme])
        #expect(counts[acme].map { Set($0.states.keys) } == Set(AccountStatus.State.allCases))
        #expect(counts[acme].map { Set($0.issues.keys) } == Set(AccountIssue.Kind.allCases))
        return (counts[acme]?.states ?? [:]).filter { $0.value > 0 }
    }

    @Test func `accounts are counted by state, including those that nobody has used yet`() async throws {
        try await self.house.put(.valid())
        try await self.house.withReplica(self.provider, accounts: [alice, self.bob]) { replica in
            // The engine first reads both accounts by itself. These reads must not see the later write.
            await self.house.clock.settle()
            #expect(await self.counts(replica) == [.valid: 1, .empty: 1])

            try await self.house.put(.valid(), for: self.bob)
            #expect(await self.counts(replica) == [.valid: 1, .empty: 1])
            await self.house.clock.pass(.seconds(10))
            #expect(await self.counts(replica) == [.valid: 2])
            #expect(self.provider.spent.isEmpty)
        }
    }

    @Test func `a count does not read known accounts, so an unreachable store does not delay it`() async throws {
        try await self.house.put(.valid())
        try await self.house.withReplica(self.provider, accounts: [alice, self.bob]) { replica in
            #expect(await self.counts(replica) == [.valid: 1, .empty: 1])
            self.house.store.fail(.away)
            #expect(await self.counts(replica) == [.valid: 1, .empty: 1])
        }
    }

    @Test func `accounts whose provider refuses the client are counted as valid and as having an issue`() async throws {
        try await self.house.put(.valid())
        try await self.house.put(.valid(), for: self.bob)
        self.provider.answer(.config(.code("invalid_client")))
        try await self.house.withReplica(self.provider, accounts: [alice, self.bob]) { replica in
            _ = await replica.engine.refreshNow(alice)
            #expect(await self.counts(replica) == [.valid: 2])
            let counts = try #require(await replica.engine.accountCounts()[acme])
            #expect(counts.issues == [.tokenRefused: 0, .clientRefused: 2, .refreshFailing: 0, .refreshOverdue: 0])
        }
    }

    @Test func `an account that could not be read yet is counted in no state`() async throws {
        self.house.store.fail(.away)
        try await self.house.withReplica(self.provider) { replica in
            #expect(await self.counts(replica).isEmpty)
        }
    }
}
