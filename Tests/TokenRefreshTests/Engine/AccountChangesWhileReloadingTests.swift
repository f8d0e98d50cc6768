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
                replica.engine.follow([AccountPlan(account: alice, provider: acme, endpoint: other)], waiters: 10)
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
            endpoint.whileRevoking { replica.engine.follow([], waiters: 10) }

            let forgotten = try await replica.engine.forget(alice)
            #expect(forgotten.count == 2)
        }

        #expect(try await self.house.record()?.tokens == nil)
    }

    @Test func `a removal that another writer has begin anew goes through although the account was taken out by then`()
        async throws
    {
        // Given an account that is taken out while its tokens are revoked, and other tokens of its that are stored just then
        try await self.house.put(.valid())
        let (house, endpoint) = (self.house, self.endpoint)
        let other = AccountRecord.valid(grant: GrantID("h")).with { $0.tokens = .sample(5) }

        try await house.withReplica(endpoint) { replica in
            endpoint.whileRevoking {
                replica.engine.follow([], waiters: 10)
                try? await house.put(other)
            }

            // When the removal finds them in its way
            let forgotten = try await replica.engine.forget(alice)

            // Then it takes those away too
            #expect(forgotten.map(\.verdict) == [.revoked, .revoked, .revoked, .revoked])
        }

        let record = try #require(try await house.record())
        #expect(record.tokens == nil)
        #expect(record.hasKilled(Secret("rt-0")) && record.hasKilled(Secret("rt-5")))
        #expect(endpoint.revoked == ["rt-0", "at-0", "rt-5", "at-5"])
    }
}
