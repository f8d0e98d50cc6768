import OAuth
import Simulation
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// Flights that are in progress when the configuration changes.
@Suite(.simulated) struct FollowingFlightsTests {
    private let house = Cluster()
    private let before = ScriptedTokenEndpoint()
    private let after = ScriptedTokenEndpoint()

    private func plan(at endpoint: ScriptedTokenEndpoint, grant: AccountGrant = .refreshToken) -> AccountConfiguration {
        AccountConfiguration(
            account: alice,
            provider: acme,
            grant: grant,
            endpoint: endpoint,
            endpointID: ObjectIdentifier(endpoint)
        )
    }

    private func apply(_ replica: Replica, _ plans: AccountConfiguration...) {
        replica.engine.reload(plans, waiters: 100)
    }

    private func withReplica(grant: AccountGrant = .refreshToken, _ body: (Replica) async throws -> Void) async throws {
        try await self.house.withReplica(
            [self.plan(at: self.before, grant: grant)],
            of: [self.before, self.after],
            body
        )
    }

    /// Requests a credential, and returns when the flight has seen the other replica's claim and waits for it.
    private func askBehindAClaim(_ replica: Replica) async throws -> Asked {
        let waiting = replica.ask()
        for _ in 0..<3 { await self.house.clock.step() }
        return waiting
    }

    @Test func `a flight that waits for another replica's claim does not use the former endpoint`() async throws {
        try await self.house.put(.expired().with { $0.claim = FlightBench.othersShort })
        try await self.withReplica { replica in
            let waiting = try await self.askBehindAClaim(replica)

            self.apply(replica, self.plan(at: self.after))

            #expect(await waiting.value == .error(.refreshFailed))
            #expect(self.before.spent.isEmpty)
            #expect(try await self.house.record()?.claim == FlightBench.othersShort)
            await self.house.clock.pass(.seconds(1))
            #expect(await replica.ask().value.generation == Generation(2))
            #expect(self.before.spent.isEmpty)
            #expect(self.after.spent == ["rt-0"])
        }
    }

    @Test func `a flight that waits for a claim sends nothing once its account is unconfigured`() async throws {
        try await self.house.put(.expired().with { $0.claim = FlightBench.othersShort })
        try await self.withReplica { replica in
            let waiting = try await self.askBehindAClaim(replica)

            self.apply(replica)

            #expect(await waiting.value == .error(.accountEmpty))
            #expect(self.before.spent.isEmpty)
            try await until("the account's end") { replica.events.contains(.retired(alice)) }
        }
    }

    @Test(arguments: [AccountGrant.refreshToken, .clientCredentials])
    func `a claim whose request was not sent is removed`(_ grant: AccountGrant) async throws {
        if grant == .refreshToken { try await self.house.put(.expired()) }
        try await self.withReplica(grant: grant) { replica in
            let plan = self.plan(at: self.after, grant: grant)
            self.before.whileConnecting { replica.engine.reload([plan], waiters: 100) }

            #expect(await replica.ask().value == .error(.refreshFailed))

            #expect(self.before.spent.isEmpty && self.before.minted == 0)
            let record = try await self.house.record()
            #expect(record?.claim == nil)
            #expect(record?.failureRecord == nil)
            await self.house.clock.pass(.seconds(1))
            #expect(await replica.ask().value.generation == (grant == .refreshToken ? Generation(2) : Generation(1)))
        }
    }

    @Test func `the record says that a refresh token may be spent even if the second use is given up`() async throws {
        try await self.house.put(.expired())
        self.before.answer(.ambiguous(.timedOut))
        self.before.hold()
        try await self.withReplica { replica in
            let waiting = replica.ask()
            try await until("the first use") { self.before.heldCount == 1 }

            self.apply(replica, self.plan(at: self.after))
            self.before.release()

            #expect(await waiting.value == .error(.refreshFailed))
            #expect(self.before.spent == ["rt-0"])
            let record = try await self.house.record()
            #expect(record?.claim == nil)
            #expect(record?.failureRecord?.spent == .maybe)
        }
    }

    @Test func `no further flight starts for an account that has left the configuration`() async throws {
        try await self.house.put(.expired().with { $0.claim = FlightBench.others })
        try await self.withReplica { replica in
            let waiting = try await self.askBehindAClaim(replica)
            async let status = replica.engine.refreshNow(alice)
            try await until("the operator to wait") { replica.engine.waiterCount == 2 }

            self.apply(replica)
            try await self.house.put(.valid(generation: 2))

            #expect(await waiting.value.generation == Generation(2))
            _ = await status
            #expect(self.before.spent.isEmpty)
            try await until("the account's end") { replica.events.contains(.retired(alice)) }
        }
    }

    @Test func `an operator gets the error of a refresh even if its account was unconfigured by then`() async throws {
        // Given a valid token, and a refresh whose response the provider holds back
        try await self.house.put(.valid())
        self.before.answer(.config(.code("invalid_client")))
        self.before.hold()
        try await self.withReplica { replica in
            async let status = replica.engine.refreshNow(alice)
            try await until("the refresh to reach the provider") { self.before.heldCount == 1 }

            // When the account leaves the configuration before the response comes
            self.apply(replica)
            self.before.release()

            // Then the operator gets the error of that response
            let refreshed = await status
            #expect(refreshed?.refreshError == .providerConfig)
            #expect(refreshed?.isRefreshUnderWay == false)
            #expect(refreshed?.isConfigured == false)
        }
    }

    @Test func `a corrected provider is not held because of a response to the former client`() async throws {
        try await self.house.put(.expired())
        self.before.answer(.config(.code("invalid_client")))
        self.before.hold()
        try await self.withReplica { replica in
            let waiting = replica.ask()
            try await until("the refresh to reach the provider") { self.before.heldCount == 1 }

            self.apply(replica, self.plan(at: self.after))
            self.before.release()

            #expect(await waiting.value == .error(.providerConfig))
            await self.house.clock.pass(.seconds(1))
            #expect(await replica.ask().value.generation == Generation(2))
        }
    }

    @Test func `a provider whose probe is in progress at a reload is probed again`() async throws {
        try await self.house.put(.expired())
        self.before.answer(.config(.code("invalid_client")), .config(.code("invalid_client")))
        try await self.withReplica { replica in
            #expect(await replica.ask().value == .error(.providerConfig))
            self.before.hold()
            await self.house.clock.pass(.seconds(31))
            let probe = replica.ask()
            try await until("the probe") { self.before.heldCount == 1 }

            self.apply(replica, self.plan(at: self.after))
            self.before.release()

            #expect(await probe.value == .error(.providerConfig))
            await self.house.clock.pass(.seconds(1))
            #expect(await replica.ask().value.generation == Generation(2))
        }
    }
}
