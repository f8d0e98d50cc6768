import OAuth
import TestKit
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// What is told of an account beside a state that sounds well.
@Suite struct AccountTroubleTests {
    private let house = House()
    private let provider = ScriptedTokenEndpoint()
    private let bob = AccountID("bob")

    @Test func `a refused client stands beside the valid tokens of all the provider's accounts`() async throws {
        try await self.house.put(.valid())
        try await self.house.put(.valid(), for: self.bob)
        self.provider.answer(.config(.code("invalid_client")))
        try await self.house.withReplica(self.provider, accounts: [alice, self.bob]) { replica in
            let before = await replica.engine.status(of: alice)
            #expect(before?.trouble == nil)
            let since = self.house.clock.wall

            _ = await replica.engine.refreshNow(alice)
            self.house.clock.advance(by: .seconds(20))
            let tried = await replica.engine.status(of: alice)
            let other = await replica.engine.status(of: self.bob)

            #expect(tried?.state == .valid)
            #expect(tried?.trouble?.kind == .clientRefused)
            #expect(tried?.trouble?.reason == "config.invalid_client")
            #expect(tried?.trouble?.knownSince == since)
            #expect(other?.state == .valid)
            #expect(other?.lastError == nil)
            #expect(other?.trouble?.kind == .clientRefused)
            #expect(other?.trouble?.reason == "provider_config")
            #expect(other?.trouble?.knownSince == since)
        }
    }

    @Test func `a provider that takes the client again ends the trouble of all its accounts`() async throws {
        try await self.house.put(.valid())
        try await self.house.put(.valid(), for: self.bob)
        self.provider.answer(.config(.code("invalid_client")))
        try await self.house.withReplica(self.provider, accounts: [alice, self.bob]) { replica in
            _ = await replica.engine.refreshNow(alice)
            _ = await replica.engine.refreshNow(alice)
            let statuses = await replica.engine.statuses()
            #expect(statuses.map(\.state) == [.valid, .valid])
            #expect(statuses.map(\.trouble) == [nil, nil])
        }
    }

    @Test func `a token that an API refused and that can't be replaced is told of although it is valid`() async throws {
        try await self.house.put(.valid())
        self.provider.answer(.config(.code("invalid_client")))
        try await self.house.withReplica(self.provider) { replica in
            _ = try await replica.engine.pass(for: alice)
            let since = self.house.clock.wall
            let refused = await replica.ask(refused: Generation(1)).value
            let status = await replica.engine.status(of: alice)
            #expect(refused == .error(.providerConfig))
            #expect(status?.state == .valid)
            #expect(status?.trouble?.kind == .tokenRefused)
            #expect(status?.trouble?.reason == "config.invalid_client")
            #expect(status?.trouble?.knownSince == since)

            try await replica.engine.importTokens(Secret("rt-9"), accessToken: Secret("at-9"), for: alice)
            let imported = await replica.engine.status(of: alice)
            // The provider is still held: the new token is good, and the next one in doubt.
            #expect(imported?.trouble?.kind == .clientRefused)
        }
    }

    @Test func `a 401 whose refresh is under way, or has brought another token, is no trouble`() async throws {
        try await self.house.withRefusedToken(self.provider) { replica, refused in
            let meanwhile = await replica.engine.status(of: alice)
            self.provider.release()
            let served = await refused.value
            let after = await replica.engine.status(of: alice)
            #expect(meanwhile?.state == .refreshing)
            #expect(meanwhile?.trouble == nil)
            #expect(served.generation == Generation(2))
            #expect(after?.trouble == nil)
        }
    }

    @Test func `an API that refuses every token is not taken for a refresh that fails`() async throws {
        try await self.house.put(.valid())
        try await self.house.withReplica(self.provider) { replica in
            _ = try await replica.engine.pass(for: alice)
            let next = try await replica.engine.pass(for: alice, refused: Generation(1))
            replica.engine.refusedAgain(TokenMark(next), for: alice)
            _ = try await replica.engine.pass(for: alice, refused: next.generation)
            let status = await replica.engine.status(of: alice)
            #expect(status?.state == .valid)
            #expect(status?.trouble == nil)
        }
    }

    @Test func `a trouble is known since its first failure, until a refresh succeeds`() async throws {
        try await self.house.put(.valid())
        self.provider.answer(.notSent(.connectFailed), .throttled(retryAfter: .seconds(1)))
        try await self.house.withReplica(self.provider) { replica in
            let since = self.house.clock.wall
            let first = await replica.engine.refreshNow(alice)
            self.house.clock.advance(by: .seconds(10))
            let second = await replica.engine.refreshNow(alice)
            let third = await replica.engine.refreshNow(alice)
            #expect(first?.trouble?.knownSince == since)
            #expect(second?.trouble?.knownSince == since)
            #expect(second?.trouble?.reason == "throttled")
            #expect(third?.generation == Generation(2))
            #expect(third?.trouble == nil)
        }
    }

    @Test func `a refresh that the gateway itself holds back, or the store, leaves a trouble as it was`() async throws {
        try await self.house.put(.valid())
        try await self.house.withReplica(self.provider) { replica in
            // As many as may be, the last of which is refused, and the store does not take that.
            for _ in 0..<4 { _ = await replica.engine.refreshNow(alice) }
            self.provider.answer(.accountConfig(.code("invalid_scope")))
            self.provider.hold()
            let since = self.house.clock.wall
            let asked = Task { await replica.engine.refreshNow(alice) }
            try await eventually("the provider to be asked") { self.provider.heldCount == 1 }
            self.house.store.fail(.full)
            self.provider.release()
            let refused = await asked.value
            #expect(refused?.trouble?.kind == .clientRefused)
            #expect(refused?.trouble?.knownSince == since)

            self.house.clock.advance(by: .seconds(5))
            self.house.store.recover()
            let restrained = await replica.engine.refreshNow(alice)
            #expect(restrained?.lastError == "refresh_limit")
            #expect(restrained?.trouble?.kind == .clientRefused)
            #expect(restrained?.trouble?.knownSince == since)

            self.house.clock.advance(by: .seconds(30))
            self.house.store.fail(.full)
            let unwritten = await replica.engine.refreshNow(alice)
            #expect(unwritten?.lastError == "store_lost")
            #expect(unwritten?.trouble?.kind == .clientRefused)
            #expect(unwritten?.trouble?.knownSince == since)

            self.house.store.recover()
            let refreshed = await replica.engine.refreshNow(alice)
            #expect(refreshed?.generation == Generation(6))
            #expect(refreshed?.trouble == nil)
        }
    }

    @Test(
        arguments: [
            (.valid(), nil, nil),
            (.valid().with { $0.trouble = .sample() }, .refreshFailing, "not_sent.connect_failed"),
            (.valid().with { $0.trouble = .sample(retryIn: .seconds(5)) }, .refreshFailing, "not_sent.connect_failed"),
            (.expired().with { $0.trouble = .sample() }, .refreshFailing, "not_sent.connect_failed"),
            (
                .valid().with { $0.trouble = .sample(reason: "account_config.invalid_scope") },
                .clientRefused, "account_config.invalid_scope"
            ),
            (.valid().with { $0.tokens?.refreshToken = nil }, .refreshFailing, "no_refresh_token"),
            (
                .valid().with { $0.trouble = .sample(dead: true, reason: "invalid_grant") },
                .refreshFailing, "invalid_grant"
            ),
            // Their state says it.
            (.valid().with { $0.binding.clientID = "other" }, nil, nil),
            (.valid().with { $0.tokens = nil }, nil, nil),
        ] as [(AccountRecord, AccountTrouble.Kind?, String?)]
    )
    func `what a record says is told by whoever reads it`(
        record: AccountRecord,
        kind: AccountTrouble.Kind?,
        reason: String?
    ) async throws {
        try await self.house.put(record)
        try await self.house.withReplica(self.provider) { replica in
            let status = await replica.engine.status(of: alice)
            #expect(status?.trouble?.kind == kind)
            #expect(status?.trouble?.reason == reason)
        }
    }
}
