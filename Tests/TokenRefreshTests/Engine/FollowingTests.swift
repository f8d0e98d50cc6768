import OAuth
import Simulation
import TestKit
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// Reloads of the configuration while the engine runs.
@Suite(.simulated) struct FollowingTests {
    private let house = Cluster()
    private let provider = ScriptedTokenEndpoint()
    private let bob = AccountID("bob")

    private func plan(
        _ account: AccountID = alice,
        at endpoint: ScriptedTokenEndpoint? = nil,
        of provider: ProviderID = acme,
        grant: AccountGrant = .refreshToken,
        scopes: [String] = []
    ) -> AccountConfiguration {
        let endpoint = endpoint ?? self.provider
        return AccountConfiguration(
            account: account,
            provider: provider,
            grant: grant,
            endpoint: endpoint,
            endpointID: ObjectIdentifier(endpoint),
            scopes: scopes
        )
    }

    private func apply(_ replica: Replica, _ plans: AccountConfiguration..., waiters: Int = 100) {
        replica.engine.reload(plans, waiters: waiters)
    }

    @Test func `an added account is served, and its record is read before anybody asks`() async throws {
        try await self.house.put(.valid(), for: self.bob)
        try await self.house.withReplica(self.provider) { replica in
            await #expect(throws: CredentialError.any(.accountEmpty)) {
                try await replica.engine.credential(for: self.bob)
            }

            self.apply(replica, self.plan(), self.plan(self.bob))

            await self.house.clock.settle()
            #expect(replica.events.count == 1)
            #expect(await replica.ask(self.bob).value.generation == Generation(1))
            #expect(await replica.engine.overview().named.map(\.isConfigured) == [true, true])
        }
    }

    @Test func `an account that leaves the configuration has no credential, but its record stays`() async throws {
        try await self.house.put(.valid())
        try await self.house.withReplica(self.provider) { replica in
            let credential = try await replica.engine.credential(for: alice)

            self.apply(replica, self.plan(self.bob))

            await #expect(throws: CredentialError.any(.accountEmpty)) {
                try await replica.engine.credential(for: alice)
            }
            // The first read of the account at the start of the replica may still be in progress.
            try await until("the account's end") { replica.events == [.installed(credential), .retired(alice)] }
            #expect(try await self.house.record()?.tokens == .sample(0))
            #expect(await replica.engine.status(of: alice)?.isConfigured == false)
            let listed = await replica.engine.overview().named
            #expect(listed.map(\.account) == [alice, self.bob])
            #expect(listed.map(\.isConfigured) == [false, true])
            #expect(await replica.engine.refreshNow(alice) == nil)
            // The account is not kept alive any more.
            await self.house.clock.pass(.seconds(200_000))
            self.apply(replica, self.plan(self.bob))
            #expect(self.provider.spent.isEmpty)

            self.apply(replica, self.plan())
            #expect(try await replica.engine.credential(for: alice).generation > Generation(0))
        }
    }

    @Test func `I2_the flight of an account that was unconfigured still commits and serves its waiters`() async throws {
        try await self.house.put(.expired())
        self.provider.hold()
        try await self.house.withReplica(self.provider) { replica in
            let waiting = replica.ask()
            try await until("the refresh to reach the provider") { self.provider.heldCount == 1 }

            self.apply(replica)
            #expect(await replica.ask().value == .error(.accountEmpty))
            self.provider.release()

            guard case .credential(let credential) = await waiting.value else {
                Issue.record("nobody served it")
                return
            }
            #expect(credential.generation == Generation(2))
            #expect(try await self.house.record()?.tokens?.refreshToken == Secret("rt-1"))
            try await until("the account's end") { replica.events == [.installed(credential), .retired(alice)] }
            #expect(replica.engine.waiterCount == 0)
        }
    }

    @Test func `an account that leaves and returns during its flight goes on with that flight`() async throws {
        try await self.house.put(.expired())
        self.provider.hold()
        try await self.house.withReplica(self.provider) { replica in
            let first = replica.ask()
            try await until("the refresh to reach the provider") { self.provider.heldCount == 1 }
            self.apply(replica)
            self.apply(replica, self.plan())
            let second = replica.ask()
            try await until("both to wait") { replica.engine.waiterCount == 2 }
            self.provider.release()

            let answers = [await first.value, await second.value]
            #expect(answers.map(\.generation) == [Generation(2), Generation(2)])
            #expect(self.provider.spent == ["rt-0"])
            #expect(!replica.events.contains(.retired(alice)))
        }
    }

    @Test func `a flight ends at the endpoint where it began, and the next one uses the new endpoint`() async throws {
        try await self.house.put(.expired())
        self.provider.hold()
        let other = ScriptedTokenEndpoint()
        other.answer(.success(.sample(9)))
        try await self.house.withReplica([self.plan()], of: [self.provider, other]) { replica in
            let waiting = replica.ask()
            try await until("the refresh to reach the provider") { self.provider.heldCount == 1 }
            // The account moves to another endpoint, which accepts the same tokens.
            self.apply(replica, self.plan(at: other))
            self.provider.release()
            #expect(await waiting.value.generation == Generation(2))

            #expect(await replica.ask(refused: Generation(2)).value.generation == Generation(3))
            #expect(self.provider.spent == ["rt-0"])
            #expect(other.spent == ["rt-1"])
        }
    }

    @Test func `tokens of the former client are withdrawn when the client changes`() async throws {
        try await self.house.put(.valid())
        let other = ScriptedTokenEndpoint(clientID: "another-app")
        try await self.house.withReplica([self.plan()], of: [self.provider, other]) { replica in
            let credential = try await replica.engine.credential(for: alice)
            self.apply(replica, self.plan(at: other))
            #expect(replica.events == [.installed(credential), .dropped(alice)])
            #expect(await replica.ask().value == .error(.reauthorizationRequired))
            #expect(other.spent.isEmpty)

            self.apply(replica, self.plan())
            #expect(replica.events.last == .installed(credential))
        }
    }

    @Test func `an account may change its provider while its errands are in progress`() async throws {
        try await self.house.put(.expired())
        let other = ProviderID("other")
        self.provider.hold()
        try await self.house.withReplica([self.plan()], of: [self.provider]) { replica in
            let waiting = replica.ask()
            try await until("the refresh to reach the provider") { self.provider.heldCount == 1 }
            for _ in 1...20 {
                self.apply(replica, self.plan(of: other))
                self.apply(replica, self.plan())
            }
            self.provider.release()
            #expect(await waiting.value.generation == Generation(2))
        }
    }

    @Test func `a held provider is tried at once after a reload`() async throws {
        try await self.house.put(.expired())
        self.provider.answer(.config(.code("invalid_client")))
        try await self.house.withReplica(self.provider) { replica in
            #expect(await replica.ask().value == .error(.providerConfig))
            await self.house.clock.pass(.seconds(2))
            #expect(await replica.ask().value == .error(.providerConfig))
            #expect(self.provider.spent.count == 1)

            self.apply(replica, self.plan())

            #expect(await replica.ask().value.generation == Generation(2))
        }
    }

    @Test func `a refused client is tried at once after a reload corrects it, even if nobody needs a token`()
        async throws
    {
        try await self.house.put(.valid())
        self.provider.answer(.config(.code("invalid_client")))
        let repaired = ScriptedTokenEndpoint()
        try await self.house.withReplica([self.plan()], of: [self.provider, repaired]) { replica in
            let refused = await replica.engine.refreshNow(alice)
            #expect(refused?.issue?.kind == .clientRefused)

            self.apply(replica, self.plan(at: repaired))

            await self.house.clock.settle()
            let status = await replica.engine.status(of: alice)
            #expect(status?.generation == Generation(2))
            #expect(status?.state == .valid)
            #expect(status?.issue == nil)
            #expect(repaired.spent == ["rt-0"])
            #expect(self.provider.spent == ["rt-0"])
        }
    }

    @Test func `a refused client is not tried after a reload that leaves the requests unchanged`() async throws {
        try await self.house.put(.valid())
        try await self.house.put(.valid(), for: self.bob)
        self.provider.answerAll(with: .config(.code("invalid_client")))
        let repaired = ScriptedTokenEndpoint()
        let plans = [self.plan(), self.plan(self.bob)]
        try await self.house.withReplica(plans, of: [self.provider, repaired]) { replica in
            // Given two accounts whose client is refused
            _ = await replica.engine.refreshNow(self.bob)
            _ = await replica.engine.refreshNow(alice)
            let spent = self.provider.spent

            // When a reload corrects the client for one of them
            self.apply(replica, self.plan(), self.plan(self.bob, at: repaired))

            // Then the provider is asked for that account only
            await self.house.clock.settle()
            #expect(repaired.spent == ["rt-0"])
            // If the other account had only left the first try to this one, it would be tried after its rest.
            await self.house.clock.pass(.seconds(301))
            _ = await replica.engine.refreshNow(self.bob)
            await self.house.clock.settle()
            #expect(self.provider.spent == spent)
        }
    }

    @Test func `refused scopes are tried again after a reload corrects them, without any caller`() async throws {
        try await self.house.put(.valid())
        self.provider.answer(.accountConfig(.code("invalid_scope")))
        try await self.house.withReplica([self.plan(scopes: ["raed"])], of: [self.provider]) { replica in
            let refused = await replica.engine.refreshNow(alice)
            #expect(refused?.issue?.kind == .clientRefused)

            self.apply(replica, self.plan(scopes: ["read"]))

            await self.house.clock.settle()
            #expect(await replica.engine.status(of: alice)?.generation == Generation(2))
            #expect(self.provider.spent == ["rt-0", "rt-0"])
        }
    }

    @Test func `given a store that rejects the claim of such a try, the try is repeated later`() async throws {
        try await self.house.put(.valid())
        self.provider.answer(.config(.code("invalid_client")))
        let repaired = ScriptedTokenEndpoint()
        try await self.house.withReplica([self.plan()], of: [self.provider, repaired]) { replica in
            _ = await replica.engine.refreshNow(alice)
            self.house.store.fail(.full)
            self.apply(replica, self.plan(at: repaired))
            try await until("the store to refuse the claim") { self.house.store.failedWrites > 0 }
            try await until("the try to end") { await replica.engine.status(of: alice)?.state != .refreshing }
            #expect(repaired.spent.isEmpty)

            self.house.store.recover()
            await self.house.clock.pass(.seconds(300))
            try await until("the provider to be asked") { repaired.spent == ["rt-0"] }
        }
    }

    @Test func `a refused mint is tried at once after a reload`() async throws {
        self.provider.answer(.refused(.code("access_denied")))
        try await self.house.withReplica([self.plan(grant: .clientCredentials)], of: [self.provider]) { replica in
            guard case .error = await replica.ask().value else {
                Issue.record("it was minted")
                return
            }
            self.apply(replica, self.plan(grant: .clientCredentials))
            #expect(await replica.ask().value.generation == Generation(1))
        }
    }

    @Test func `a reload does not shorten the backoff of a refresh token`() async throws {
        try await self.house.put(.expired())
        self.provider.answer(.throttled(retryAfter: .seconds(60)))
        try await self.house.withReplica(self.provider) { replica in
            #expect(await replica.ask().value == .error(.refreshFailed))
            self.apply(replica, self.plan())
            #expect(await replica.ask().value == .error(.refreshFailed))
            #expect(self.provider.spent == ["rt-0"])
        }
    }

    @Test func `a reload changes the limit of waiters`() async throws {
        try await self.house.put(.expired())
        self.provider.hold()
        try await self.house.withReplica(self.provider) { replica in
            let waiting = replica.ask()
            // The request is sent by then. Otherwise it would be withdrawn, since the reload changes the endpoint.
            try await until("one to wait for the provider") {
                replica.engine.waiterCount == 1 && self.provider.heldCount == 1
            }
            self.apply(replica, self.plan(), waiters: 1)
            #expect(await replica.ask().value == .error(.overloaded))
            self.provider.release()
            #expect(await waiting.value.generation == Generation(2))
        }
    }
}
