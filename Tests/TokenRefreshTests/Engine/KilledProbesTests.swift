import OAuth
import Simulation
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// A kill of the account whose request probes the provider.
@Suite(.simulated) struct KilledProbesTests {
    /// What holds back requests to the provider.
    enum Obstacle: CaseIterable, Sendable { case hold, breaker }

    private let house = Cluster()
    private let accounts = (0..<7).map { AccountID("account-\($0)") }

    private func plans(_ provider: ScriptedTokenEndpoint) -> [AccountConfiguration] {
        self.accounts.map { AccountConfiguration(account: $0, provider: acme, endpoint: provider) }
    }

    /// Makes the next request to the provider a probe. The last two accounts have asked for nothing by then.
    private func bringToProbe(
        past obstacle: Obstacle,
        _ provider: ScriptedTokenEndpoint,
        _ replica: Replica
    ) async {
        switch obstacle {
        case .hold:
            provider.answer(.config(.code("invalid_client")))
            _ = await replica.ask(self.accounts[0]).value
        case .breaker:
            for account in self.accounts.prefix(5) {
                provider.answer(.notSent(.connectFailed))
                _ = await replica.ask(account).value
            }
        }
        await self.house.clock.pass(.seconds(30))
    }

    @Test(arguments: Obstacle.allCases)
    func `given a kill during a probe, the provider's response still counts`(obstacle: Obstacle) async throws {
        for account in self.accounts { try await self.house.put(.expired(), for: account) }
        let provider = ScriptedTokenEndpoint()
        try await self.house.withReplica(self.plans(provider), of: [provider]) { replica in
            await self.bringToProbe(past: obstacle, provider, replica)
            provider.answer(.success(.sample(9)), .success(.sample(10)))
            provider.hold()
            let probe = replica.ask(self.accounts[5])
            try await until("the probe to be sent") { provider.heldCount == 1 }
            let killed = self.accounts[5]
            replica.engine.apply(
                self.house.kills.change { $0.raise(.account(killed), at: $0.last.next, holds: true) }
            )
            let told = await probe.value
            provider.release()

            #expect(told == .error(.killed))
            await self.house.clock.settle()
            #expect(replica.engine.providers == [acme: .answering])
            let next = await replica.ask(self.accounts[6]).value
            #expect(next.generation == Generation(2))
        }
    }

    @Test(arguments: Obstacle.allCases)
    func `given a kill right before a probe is sent, another account may probe at once`(
        obstacle: Obstacle
    ) async throws {
        for account in self.accounts { try await self.house.put(.expired(), for: account) }
        let provider = ScriptedTokenEndpoint()
        try await self.house.withReplica(self.plans(provider), of: [provider]) { replica in
            await self.bringToProbe(past: obstacle, provider, replica)
            let sent = provider.spent.count
            let (kills, killed) = (self.house.kills, self.accounts[5])
            provider.whileConnecting {
                replica.engine.apply(kills.change { $0.raise(.account(killed), at: $0.last.next, holds: true) })
            }
            let told = await replica.ask(killed).value

            #expect(told == .error(.killed))
            #expect(provider.spent.count == sent)
            await self.house.clock.settle()
            #expect(replica.engine.providers[acme]?.retryAt != nil)
            provider.answer(.success(.sample(9)))
            let next = await replica.ask(self.accounts[6]).value
            #expect(next.generation == Generation(2))
            // The caller gets the credential before the provider's state is updated.
            await self.house.clock.settle()
            #expect(replica.engine.providers == [acme: .answering])
        }
    }
}
