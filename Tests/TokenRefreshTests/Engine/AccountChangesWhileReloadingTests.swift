import OAuth
import TestKit
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// What an operator does while another configuration comes into force.
@Suite struct AccountChangesWhileReloadingTests {
    private let house = House()
    private let endpoint = ScriptedTokenEndpoint()
    private let other = ScriptedTokenEndpoint(clientID: "another-app")

    @Test func `what takes the place of forgotten tokens is bound as the configuration says by then`() async throws {
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

    @Test func `tokens of an account that is taken out while they are revoked are forgotten all the same`() async throws
    {
        try await self.house.put(.valid())
        let endpoint = self.endpoint

        try await self.house.withReplica(endpoint) { replica in
            endpoint.whileRevoking { replica.engine.reload([], waiters: 10) }

            let forgotten = try await replica.engine.forget(alice)
            #expect(forgotten.count == 2)
        }

        #expect(try await self.house.record()?.tokens == nil)
    }

    @Test func `a removal that another writer comes between leaves the rest to the sweep, in the configuration or not`()
        async throws
    {
        // Given an account that is taken out while its tokens are revoked, and other tokens of its that are stored just then
        try await self.house.put(.valid())
        let (house, endpoint) = (self.house, self.endpoint)
        let other = AccountRecord.valid(grant: GrantID("h")).with { $0.tokens = .sample(5) }

        try await house.withReplica(endpoint) { replica in
            endpoint.whileRevoking {
                replica.engine.reload([], waiters: 10)
                try? await house.put(other)
            }

            // When the removal finds them in its way
            let forgotten = try await replica.engine.forget(alice)

            // Then it has revoked what was there, and those are dead by its entry
            #expect(forgotten.map(\.verdict) == [.revoked, .revoked])
        }

        let (record, epochs) = (try await house.record(), try await house.kills.read())
        #expect(epochs.verdict(on: record, of: alice, at: acme) == .dead)
        #expect(house.kills.storedDeadCount > 0)
        #expect(endpoint.revoked == ["rt-0", "at-0"])
    }
}
