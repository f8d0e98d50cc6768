import OAuth
import Simulation
import TestKit
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// Problems that are shown as an issue beside a healthy state of the account.
@Suite(.simulated) struct AccountIssueTests {
    private let house = Cluster()
    private let provider = ScriptedTokenEndpoint()
    private let bob = AccountID("bob")

    @Test func `a refused client is an issue of all the provider's accounts beside valid tokens, until it is accepted`()
        async throws
    {
        try await self.house.put(.valid())
        try await self.house.put(.valid(), for: self.bob)
        self.provider.answer(.config(.code("invalid_client")))
        try await self.house.withReplica(self.provider, accounts: [alice, self.bob]) { replica in
            let before = await replica.engine.status(of: alice)
            #expect(before?.issue == nil)
            let since = self.house.clock.wall

            _ = await replica.engine.refreshNow(alice)
            await self.house.clock.pass(.seconds(20))
            let tried = await replica.engine.status(of: alice)
            let other = await replica.engine.status(of: self.bob)

            #expect(tried?.state == .valid)
            #expect(tried?.issue?.kind == .clientRefused)
            #expect(tried?.issue?.reason == "config.invalid_client")
            #expect(tried?.issue?.knownSince == since)
            #expect(other?.state == .valid)
            #expect(other?.lastError == nil)
            #expect(other?.issue?.kind == .clientRefused)
            #expect(other?.issue?.reason == "provider_config")
            #expect(other?.issue?.knownSince == since)

            _ = await replica.engine.refreshNow(alice)
            let statuses = await replica.engine.overview().named
            #expect(statuses.map(\.state) == [.valid, .valid])
            #expect(statuses.map(\.issue) == [nil, nil])
        }
    }

    @Test func `a valid token that an API refused and that can't be replaced is an issue`() async throws {
        try await self.house.put(.valid())
        self.provider.answer(.config(.code("invalid_client")))
        try await self.house.withReplica(self.provider) { replica in
            _ = try await replica.engine.credential(for: alice)
            let since = self.house.clock.wall
            let refused = await replica.ask(refused: Generation(1)).value
            let status = await replica.engine.status(of: alice)
            #expect(refused == .error(.providerConfig))
            #expect(status?.state == .valid)
            #expect(status?.issue?.kind == .tokenRefused)
            #expect(status?.issue?.reason == "config.invalid_client")
            #expect(status?.issue?.knownSince == since)

            try await replica.engine.importTokens(Secret("rt-9"), accessToken: Secret("at-9"), for: alice)
            let imported = await replica.engine.status(of: alice)
            // The provider is still held. The new token is valid, but its refresh is in doubt.
            #expect(imported?.issue?.kind == .clientRefused)
        }
    }

    @Test func `a 401 whose refresh is in progress or has brought another token is no issue, and hinders nobody else`()
        async throws
    {
        try await self.house.put(.valid())
        self.provider.hold()
        try await self.house.withReplica(self.provider) { replica in
            _ = try await replica.engine.credential(for: alice)
            let refused = replica.ask(refused: Generation(1))
            try await until("the use") { self.provider.heldCount == 1 }
            let meanwhile = await replica.engine.status(of: alice)
            #expect(await replica.ask().value.generation == Generation(1))
            self.provider.release()
            let served = await refused.value
            let after = await replica.engine.status(of: alice)
            #expect(meanwhile?.state == .refreshing)
            #expect(meanwhile?.issue == nil)
            #expect(served.generation == Generation(2))
            #expect(after?.issue == nil)
        }
    }

    @Test func `an API that refuses every token is not shown as a failing refresh`() async throws {
        try await self.house.put(.valid())
        try await self.house.withReplica(self.provider) { replica in
            _ = try await replica.engine.credential(for: alice)
            let next = try await replica.engine.credential(for: alice, refused: Generation(1))
            replica.engine.refusedAgain(TokenVersion(next), for: alice)
            _ = try await replica.engine.credential(for: alice, refused: next.generation)
            let status = await replica.engine.status(of: alice)
            #expect(status?.state == .valid)
            #expect(status?.issue == nil)
        }
    }

    @Test func `an issue is known since its first failure and ends when a refresh succeeds`() async throws {
        try await self.house.put(.valid())
        self.provider.answer(.notSent(.connectFailed), .throttled(retryAfter: .seconds(1)))
        try await self.house.withReplica(self.provider) { replica in
            let since = self.house.clock.wall
            let first = await replica.engine.refreshNow(alice)
            await self.house.clock.pass(.seconds(10))
            let second = await replica.engine.refreshNow(alice)
            let third = await replica.engine.refreshNow(alice)
            #expect(first?.issue?.knownSince == since)
            #expect(second?.issue?.knownSince == since)
            #expect(second?.issue?.reason == "throttled")
            #expect(third?.generation == Generation(2))
            #expect(third?.issue == nil)
        }
    }

    @Test func `a refresh that the gateway or the store holds back does not change an issue`() async throws {
        try await self.house.put(.valid())
        try await self.house.withReplica(self.provider) { replica in
            // As many refreshes as the limit allows. The provider refuses the last one; the store can't record that.
            for _ in 0..<4 { _ = await replica.engine.refreshNow(alice) }
            self.provider.answer(.accountConfig(.code("invalid_scope")))
            self.provider.hold()
            let since = self.house.clock.wall
            let asked = Task(executorPreference: Simulation.running) { await replica.engine.refreshNow(alice) }
            try await until("the provider to be asked") { self.provider.heldCount == 1 }
            self.house.store.fail(.full)
            self.provider.release()
            let refused = await asked.value
            #expect(refused?.issue?.kind == .clientRefused)
            #expect(refused?.issue?.knownSince == since)

            await self.house.clock.pass(.seconds(5))
            self.house.store.recover()
            let restrained = await replica.engine.refreshNow(alice)
            #expect(restrained?.lastError == "refresh_limit")
            #expect(restrained?.issue?.kind == .clientRefused)
            #expect(restrained?.issue?.knownSince == since)

            await self.house.clock.pass(.seconds(30))
            self.house.store.fail(.full)
            let unwritten = await replica.engine.refreshNow(alice)
            #expect(unwritten?.lastError == "store_lost")
            #expect(unwritten?.issue?.kind == .clientRefused)
            #expect(unwritten?.issue?.knownSince == since)

            self.house.store.recover()
            let refreshed = await replica.engine.refreshNow(alice)
            #expect(refreshed?.generation == Generation(6))
            #expect(refreshed?.issue == nil)
        }
    }

    @Test(
        arguments: [
            (.valid(), nil, nil),
            (.valid().with { $0.failureRecord = .sample() }, .refreshFailing, "not_sent.connect_failed"),
            (
                .valid().with { $0.failureRecord = .sample(retryIn: .seconds(5)) }, .refreshFailing,
                "not_sent.connect_failed"
            ),
            (.expired().with { $0.failureRecord = .sample() }, .refreshFailing, "not_sent.connect_failed"),
            (
                .valid().with { $0.failureRecord = .sample(reason: "account_config.invalid_scope") },
                .clientRefused, "account_config.invalid_scope"
            ),
            (.valid().with { $0.tokens?.refreshToken = nil }, .refreshFailing, "no_refresh_token"),
            (
                .valid().with { $0.failureRecord = .sample(dead: true, reason: "invalid_grant") },
                .refreshFailing, "invalid_grant"
            ),
            (
                .valid().with { $0.tokens?.receivedAt = Moment.start.wall.advanced(by: .seconds(-172_800)) },
                .refreshOverdue, "unused_too_long"
            ),
            // The state itself shows these problems.
            (.valid().with { $0.binding.clientID = "other" }, nil, nil),
            (.valid().with { $0.tokens = nil }, nil, nil),
        ] as [(AccountRecord, AccountIssue.Kind?, String?)]
    )
    func `any process derives the issue from the record that it reads`(
        record: AccountRecord,
        kind: AccountIssue.Kind?,
        reason: String?
    ) async throws {
        try await self.house.put(record)
        try await self.house.withReplica(self.provider) { replica in
            let status = await replica.engine.status(of: alice)
            #expect(status?.issue?.kind == kind)
            #expect(status?.issue?.reason == reason)
        }
    }
}
