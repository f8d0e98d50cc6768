import OAuth
import TestKit
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// Removals of what is removed already.
@Suite struct RepeatedRemovalsTests {
    private let house = House()
    private let provider = ScriptedTokenEndpoint()
    private let left = [ForgottenToken(kind: .refreshToken, verdict: .unreachable(.waiting), endsAt: nil)]

    @Test func `a removal that finds no tokens tells of those that still wait to be revoked`() async throws {
        // Given a removal that broke off, after which a sweep has taken the tokens to be revoked
        try await self.house.put(.valid().with { $0.take() })
        self.house.kills.keep(self.left, of: alice)
        try await self.house.withReplica(self.provider) { replica in
            // When it is asked for again
            let outcomes = try await replica.engine.forget(alice)

            // Then it does not look as if all were revoked, and the provider is asked by nobody twice
            #expect(outcomes == self.left)
            #expect(self.provider.revoked.isEmpty)
            // And it is over when nothing waits any more
            self.house.kills.keep([], of: alice)
            #expect(try await replica.engine.forget(alice).isEmpty)
        }
    }

    @Test func `a removal that finds tokens tells of these, and of those from before that still wait`() async throws {
        // Given tokens that came after others were taken away
        var record = AccountRecord.valid().with { $0.take() }
        record.tokens = AccountRecord.valid().tokens
        try await self.house.put(record)
        self.house.kills.keep(self.left, of: alice)
        try await self.house.withReplica(self.provider) { replica in
            let outcomes = try await replica.engine.forget(alice)
            #expect(outcomes.map(\.verdict) == [.revoked, .revoked, .unreachable(.waiting)])
            // And what a sweep may still ask of, of those that are revoked, is no matter of waiting
            #expect(self.house.kills.settled == [Secret("rt-0"), Secret("at-0")])
        }
    }

    @Test func `what can't be revoked is named once, though it waits from then on`() async throws {
        var record = AccountRecord.valid().with { $0.take() }
        record.tokens = AccountRecord.valid().tokens
        try await self.house.put(record)
        self.house.kills.keep(self.left, of: alice)
        self.provider.answerRevocations(.unreachable(.connectFailed))
        try await self.house.withReplica(self.provider) { replica in
            let outcomes = try await replica.engine.forget(alice)
            #expect(outcomes.map(\.verdict) == [.unreachable(.connectFailed), .unreachable(.connectFailed)])
        }
    }

    @Test func `a removal that was done is no failure because it can't know what else waits`() async throws {
        var record = AccountRecord.valid().with { $0.take() }
        record.tokens = AccountRecord.valid().tokens
        try await self.house.put(record)
        self.house.kills.takeNothing()
        try await self.house.withReplica(self.provider) { replica in
            let outcomes = try await replica.engine.forget(alice)
            #expect(outcomes.map(\.verdict) == [.revoked, .revoked])
        }
    }

    @Test func `what still waits is told without a removal, unless the store does not say`() async throws {
        // Given an account whose tokens were taken away, and are not revoked yet
        try await self.house.put(.valid().with { $0.take() })
        self.house.kills.keep(self.left, of: alice)
        try await self.house.withReplica(self.provider) { replica in
            // When it is asked what waits
            let waiting = try await replica.engine.unrevoked(of: alice)

            // Then that is told, and no replica of a removal
            #expect(waiting == self.left)
            #expect(self.house.kills.changed.isEmpty)
            // And it does not look as if nothing waited where that is not known
            self.house.kills.takeNothing()
            await #expect(throws: AccountChangeError.self) { try await replica.engine.unrevoked(of: alice) }
        }
    }

    @Test func `of an account that nothing was taken from nothing is looked for`() async throws {
        try await self.house.put(.valid().with { $0.tokens = nil })
        self.house.kills.takeNothing()
        try await self.house.withReplica(self.provider) { replica in
            let outcomes = try await replica.engine.forget(alice)
            #expect(outcomes.isEmpty)
        }
    }

    @Test func `a removal that can't know whether anything waits fails`() async throws {
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
    /// As a sweep leaves it.
    fileprivate mutating func take() {
        self.rememberKilled()
        self.tokens = nil
    }
}
