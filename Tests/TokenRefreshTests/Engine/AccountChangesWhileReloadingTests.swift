import OAuth
import Simulation
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// Changes by an operator during a reload of the configuration.
@Suite(.simulated) struct AccountChangesWhileReloadingTests {
    private let house = Cluster()
    private let endpoint = ScriptedTokenEndpoint()
    private let other = ScriptedTokenEndpoint(clientID: "another-app")

    @Test func `the empty record after a removal has the binding of the new configuration`() async throws {
        try await self.house.put(.valid())
        let (endpoint, other) = (self.endpoint, self.other)

        try await self.house.withReplica(endpoint) { replica in
            endpoint.whileRevoking {
                replica.engine.reload(
                    [AccountConfiguration(account: alice, provider: acme, endpoint: other)],
                    waiters: 10
                )
            }

            let forgotten = try await replica.engine.forget(alice)
            #expect(forgotten.count == 2)
        }

        let record = try await self.house.record()
        #expect(record?.tokens == nil)
        #expect(record?.binding.clientID == "another-app")
        #expect(endpoint.revoked == ["rt-0", "at-0"])
        #expect(other.revoked.isEmpty)
    }

    @Test func `tokens of an account that is unconfigured during their revocation are forgotten`() async throws {
        try await self.house.put(.valid())
        let endpoint = self.endpoint

        try await self.house.withReplica(endpoint) { replica in
            endpoint.whileRevoking { replica.engine.reload([], waiters: 10) }

            let forgotten = try await replica.engine.forget(alice)
            #expect(forgotten.count == 2)
        }

        #expect(try await self.house.record()?.tokens == nil)
    }

    @Test func `a removal leaves tokens that another process writes meanwhile to the sweep, configured or not`()
        async throws
    {
        // Given an account that leaves the configuration while its tokens are revoked and other tokens are stored
        try await self.house.put(.valid())
        let (house, endpoint) = (self.house, self.endpoint)
        let other = AccountRecord.valid(grant: GrantID("h")).with { $0.tokens = .sample(5) }

        try await house.withReplica(endpoint) { replica in
            endpoint.whileRevoking {
                replica.engine.reload([], waiters: 10)
                try? await house.put(other)
            }

            // When the removal meets the other tokens
            let forgotten = try await replica.engine.forget(alice)

            // Then it has revoked the old tokens, and its log entry makes the other tokens dead
            #expect(forgotten.map(\.verdict) == [.revoked, .revoked])
        }

        let (record, epochs) = (try await house.record(), try await house.kills.read())
        #expect(epochs.verdict(on: record, of: alice, at: acme) == .dead)
        #expect(house.kills.storedDeadCount > 0)
        #expect(endpoint.revoked == ["rt-0", "at-0"])
    }
}
