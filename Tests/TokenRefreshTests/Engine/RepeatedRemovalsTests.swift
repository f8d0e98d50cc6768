import OAuth
import Simulation
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// Removals of accounts whose tokens were removed before.
@Suite(.simulated) struct RepeatedRemovalsTests {
    private let house = Cluster()
    private let provider = ScriptedTokenEndpoint()
    private let left = [ForgottenToken(kind: .refreshToken, verdict: .unreachable(.waiting), endsAt: nil)]
    /// Tokens that came after earlier ones were removed.
    private static let again = AccountRecord.valid().with {
        $0.take()
        $0.tokens = .sample(0)
    }

    @Test func `a removal that finds no tokens reports earlier ones that still wait for revocation`() async throws {
        // Given a removal that broke off, after which a sweep has recorded the tokens for revocation
        try await self.house.put(.valid().with { $0.take() })
        self.house.kills.keep(self.left, of: alice)
        try await self.house.withReplica(self.provider) { replica in
            // When the removal is requested again
            let outcomes = try await replica.engine.forget(alice)

            // Then it reports the tokens that are not revoked yet, and the provider is not asked a second time
            #expect(outcomes == self.left)
            #expect(self.provider.revoked.isEmpty)
            // And the report is empty when no token waits any more
            self.house.kills.keep([], of: alice)
            #expect(try await replica.engine.forget(alice).isEmpty)
        }
    }

    @Test func `a removal that finds tokens also reports earlier ones that still wait for revocation`() async throws {
        try await self.house.put(Self.again)
        self.house.kills.keep(self.left, of: alice)
        try await self.house.withReplica(self.provider) { replica in
            let outcomes = try await replica.engine.forget(alice)
            #expect(outcomes.map(\.verdict) == [.revoked, .revoked, .unreachable(.waiting)])
            // And the tokens that are revoked now do not count as waiting, even if a sweep still has them
            #expect(self.house.kills.settled == [Secret("rt-0"), Secret("at-0")])
        }
    }

    @Test func `a token that can't be revoked is reported once although it waits from then on`() async throws {
        try await self.house.put(Self.again)
        self.house.kills.keep(self.left, of: alice)
        self.provider.answerRevocations(.unreachable(.connectFailed))
        try await self.house.withReplica(self.provider) { replica in
            let outcomes = try await replica.engine.forget(alice)
            #expect(outcomes.map(\.verdict) == [.unreachable(.connectFailed), .unreachable(.connectFailed)])
        }
    }

    @Test func `a removal that removed tokens succeeds even if it can't learn which other tokens wait`() async throws {
        try await self.house.put(Self.again)
        self.house.kills.takeNothing()
        try await self.house.withReplica(self.provider) { replica in
            let outcomes = try await replica.engine.forget(alice)
            #expect(outcomes.map(\.verdict) == [.revoked, .revoked])
        }
    }

    @Test func `the waiting tokens can be listed without a removal, unless the store fails`() async throws {
        // Given an account whose tokens were removed and are not revoked yet
        try await self.house.put(.valid().with { $0.take() })
        self.house.kills.keep(self.left, of: alice)
        try await self.house.withReplica(self.provider) { replica in
            // When the waiting tokens are requested
            let waiting = try await replica.engine.unrevoked(of: alice)

            // Then they are listed, and no removal is announced to the replicas
            #expect(waiting == self.left)
            #expect(self.house.kills.changed.isEmpty)
            // And a failing store is an error and not an empty list
            self.house.kills.takeNothing()
            await #expect(throws: AccountChangeError.self) { try await replica.engine.unrevoked(of: alice) }
        }
    }

    @Test func `for an account that never lost tokens no waiting tokens are looked up`() async throws {
        try await self.house.put(.valid().with { $0.tokens = nil })
        self.house.kills.takeNothing()
        try await self.house.withReplica(self.provider) { replica in
            let outcomes = try await replica.engine.forget(alice)
            #expect(outcomes.isEmpty)
        }
    }

    @Test func `a removal that finds no tokens fails if it can't learn which ones wait`() async throws {
        try await self.house.put(.valid().with { $0.take() })
        self.house.kills.takeNothing()
        try await self.house.withReplica(self.provider) { replica in
            let error = await #expect(throws: AccountChangeError.self) {
                try await replica.engine.forget(alice)
            }
            #expect(error?.code == .storeLost)
        }
    }
}

extension AccountRecord {
    /// Removes the tokens like a sweep.
    fileprivate mutating func take() {
        self.rememberKilled()
        self.tokens = nil
    }
}
