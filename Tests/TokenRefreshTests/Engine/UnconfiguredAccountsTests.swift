import OAuth
import Simulation
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// Accounts that are in the store but not in the configuration.
@Suite(.simulated) struct UnconfiguredAccountsTests {
    private let house = Cluster()
    private let endpoint = ScriptedTokenEndpoint()
    private let old = AccountID("old")

    @Test func `given a kill, an account that is not configured any more shows as killed`() async throws {
        try await self.house.put(.valid().with { $0.tokens = nil }, for: self.old)
        try await self.house.withReplica(self.endpoint) { replica in
            let before = await replica.engine.status(of: self.old)
            replica.engine.apply(
                self.house.kills.change { $0.raise(.account(self.old), at: $0.last.next, holds: true) }
            )
            let killed = await replica.engine.status(of: self.old)
            replica.engine.apply(self.house.kills.change { $0.lift(.account(self.old), at: $0.last.next) })
            let revived = await replica.engine.status(of: self.old)

            #expect(before?.state == .empty)
            #expect(killed?.state == .killed)
            #expect(killed?.isConfigured == false)
            #expect(revived?.state == .empty)
            #expect(revived?.lastError == "tokens_killed")
        }
    }

    @Test func `removed tokens are revoked if another account still has their client`() async throws {
        try await self.house.put(.valid(), for: self.old)
        try await self.house.withReplica(self.endpoint) { replica in
            let outcomes = try await replica.engine.forget(self.old)
            #expect(outcomes.map(\.verdict) == [.revoked, .revoked])
            #expect(self.endpoint.revoked == ["rt-0", "at-0"])
            #expect(self.house.kills.changed == [self.old])
            let record = try #require(try await self.house.record(of: self.old))
            #expect(record.tokens == nil)
            #expect(record.hasKilled(Secret("rt-0")))
            #expect(record.binding == .acme)
        }
    }

    @Test(arguments: [alice, AccountID("old")])
    func `given a provider without any account, removed tokens of it are revoked at once`(account: AccountID)
        async throws
    {
        // Given a provider that the configuration still has, and an account of it that was moved away or left out
        let quiet = ScriptedTokenEndpoint()
        var house = self.house
        house.endpoint = { $0.provider == ProviderID("quiet") ? quiet : nil }
        try await house.put(.valid().with { $0.binding.provider = ProviderID("quiet") }, for: account)
        try await house.withReplica(self.endpoint) { replica in
            // When its last account's tokens are removed
            let outcomes = try await replica.engine.forget(account)

            // Then the provider was asked to revoke them, and nothing is left for later
            #expect(outcomes.map(\.verdict) == [.revoked, .revoked])
            #expect(quiet.revoked == ["rt-0", "at-0"])
            #expect(self.endpoint.revoked.isEmpty)
            #expect(self.house.kills.takenAway.isEmpty)
            let removed = try #require(try await self.house.record(of: account))
            #expect(removed.binding.provider == (account == alice ? acme : ProviderID("quiet")))
            #expect(removed.tokens == nil)
        }
    }

    @Test func `tokens that can neither be revoked nor recorded for revocation stay in the record`() async throws {
        // Given a provider that is not configured any more, and a store that can't record revocations
        let record = AccountRecord.valid().with { $0.binding.provider = ProviderID("gone") }
        try await self.house.put(record, for: self.old)
        self.house.kills.takeNothing()
        try await self.house.withReplica(self.endpoint) { replica in
            // When the account's tokens are removed
            let error = await #expect(throws: AccountChangeError.self) {
                try await replica.engine.forget(self.old)
            }

            // Then the removal fails before the tokens are lost
            #expect(error?.code == .storeLost)
            let kept = try await self.house.record(of: self.old)
            #expect(kept?.tokens == record.tokens)
        }
    }

    @Test(arguments: [alice, AccountID("old")])
    func `given an unconfigured provider, removed tokens are recorded for revocation on its return`(
        account: AccountID
    ) async throws {
        let record = AccountRecord.valid().with { $0.binding.provider = ProviderID("gone") }
        try await self.house.put(record, for: account)
        try await self.house.withReplica(self.endpoint) { replica in
            let outcomes = try await replica.engine.forget(account)
            #expect(outcomes.map(\.verdict) == [.unreachable(.notConfigured), .unreachable(.notConfigured)])
            #expect(self.endpoint.revoked.isEmpty)
            #expect(self.house.kills.takenAway.map(\.tokens) == [record.tokens])
            #expect(try #require(try await self.house.record(of: account)).tokens == nil)
        }
    }

    @Test func `the removal of an unknown account fails and is not announced to the replicas`() async throws {
        try await self.house.withReplica(self.endpoint) { replica in
            let error = await #expect(throws: AccountChangeError.self) {
                try await replica.engine.forget(self.old)
            }
            #expect(error?.code == .notConfigured)
            #expect(self.house.kills.changed.isEmpty)
        }
    }
}
