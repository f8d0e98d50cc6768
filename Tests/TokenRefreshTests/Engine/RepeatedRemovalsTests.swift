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

    @Test func `a removal that finds no tokens does not hide that a kill took them`() async throws {
        // Given an account whose tokens a kill took, and that was revived
        try await self.house.put(.valid().with { $0.take() })
        try await self.house.withReplica(self.provider) { replica in
            replica.engine.follow(
                self.house.kills.change { epochs in
                    epochs.raise(.account(alice), at: epochs.last.next, holds: true)
                    epochs.lift(.account(alice), at: epochs.last.next)
                }
            )

            // When its tokens are removed
            _ = try await replica.engine.forget(alice)

            // Then no replica is told of a removal, and what took them stays what it was
            #expect(self.house.kills.changed.isEmpty)
            replica.engine.follow(self.house.kills.change { _ in })
            let status = await replica.engine.status(of: alice)
            #expect(status?.state == .empty)
            #expect(status?.lastError == "tokens_killed")
        }
    }

    @Test func `what still waits is told without a removal, unless the store does not say`() async throws {
        // Given an account whose tokens were taken away, and are not revoked yet
        try await self.house.put(.valid().with { $0.take() })
        self.house.kills.keep(self.left, of: alice)
        try await self.house.withReplica(self.provider) { replica in
            // When it is asked what waits
            let waiting = await replica.engine.unrevokedTokens(of: alice)

            // Then that is told, and no replica of a removal
            #expect(waiting == self.left)
            #expect(self.house.kills.changed.isEmpty)
            // And it does not look as if nothing waited where that is not known
            self.house.kills.takeNothing()
            let unknown = await replica.engine.unrevokedTokens(of: alice)
            #expect(unknown == nil)
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
