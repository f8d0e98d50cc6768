import OAuth
import ProviderClient
import Simulation
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// Reloads of the configuration with families.
@Suite(.simulated) struct FamilyReloadTests {
    private let house = Cluster()
    private let provider: FamilyTokenEndpoint
    private let member = AccountID.customer(1)

    init() { self.provider = FamilyTokenEndpoint(self.house.clock) }

    private func named(_ account: AccountID) -> AccountConfiguration {
        AccountConfiguration(account: account, provider: acme, endpoint: self.provider)
    }

    private func customers() throws -> AccountFamilyConfiguration { try .customers(at: self.provider) }

    private func state(_ replica: Replica) async -> AccountStatus.State? {
        await replica.engine.status(of: self.member)?.state
    }

    @Test func `a family that is added serves the accounts that are stored already`() async throws {
        try await self.house.put(.member(self.member), for: self.member)
        try await self.house.withReplica([self.named(alice)], of: []) { replica in
            #expect(await replica.ask(self.member).value == .error(.accountEmpty))
            let outcomes = await replica.engine.importTokens([.first(of: .customer(2))], existing: .skip)
            #expect(outcomes == [.refused(.any(.notConfigured))])

            replica.engine.reload([self.named(alice)], families: [try self.customers()], waiters: 100)

            await self.house.clock.settle()
            #expect(replica.engine.exists(self.member))
            #expect(await replica.ask(self.member).value.generation == Generation(2))
            #expect(await replica.engine.importTokens([.first(of: .customer(2))], existing: .skip) == [.imported])
        }
    }

    @Test func `a family that is removed serves nobody, and its stored accounts show as not configured`() async throws {
        try await self.house.put(.member(self.member, isValid: true), for: self.member)
        try await self.house.put(.member(.customer(2), isValid: true), for: .customer(2))
        try await self.house.withFamily(self.customers()) { replica in
            // Given one account in use and one that is not
            let credential = try await replica.engine.credential(for: self.member)
            // When the family is removed
            replica.engine.reload([self.named(alice)], waiters: 100)
            // Then neither serves, and nothing keeps them alive
            #expect(replica.events == [.installed(credential), .retired(self.member)])
            for number in 1...2 { #expect(await replica.ask(.customer(number)).value == .error(.accountEmpty)) }
            let listed = await replica.engine.overview().named
            #expect(listed.map(\.account) == [alice, self.member, .customer(2)])
            #expect(listed.map(\.isConfigured) == [true, false, false])
            await self.house.clock.pass(.seconds(200_000))
            _ = await replica.ask(alice).value
            #expect(self.provider.refreshed.isEmpty)

            // And they are back with it
            replica.engine.reload([self.named(alice)], families: [try self.customers()], waiters: 100)
            #expect(await replica.ask(.customer(2)).value.generation != nil)
        }
    }

    @Test func `given another provider or client, the tokens of a family are dead, and they are not when it is back`()
        async throws
    {
        try await self.house.put(.member(self.member, isValid: true), for: self.member)
        try await self.house.put(.member(.customer(2), isValid: true), for: .customer(2))
        let other = ScriptedTokenEndpoint(clientID: "another-app")
        try await self.house.withReplica([], families: [self.customers()], of: [other]) { replica in
            _ = try await replica.engine.credential(for: .customer(2))
            let moves: [(any TokenEndpoint, ProviderID)] = [(other, acme), (self.provider, ProviderID("other"))]
            for (endpoint, provider) in moves {
                let families = [try AccountFamilyConfiguration.customers(at: endpoint, of: provider)]
                replica.engine.reload([], families: families, waiters: 100)

                await self.house.clock.settle()
                #expect(replica.engine.index[self.member]?.content == .deadGrant)
                for account in [self.member, .customer(2)] {
                    #expect(await replica.ask(account).value == .error(.reauthorizationRequired))
                }
                #expect(await self.state(replica) == .reauthorizationRequired)
                #expect(replica.engine.exists(self.member))
                let states = try #require(await replica.engine.overview().families.first).states
                #expect(states[.reauthorizationRequired] == 2)
            }
            replica.engine.reload([], families: [try self.customers()], waiters: 100)
            await self.house.clock.settle()
            #expect(replica.engine.index[self.member]?.content == .tokens)
            #expect(await replica.ask(self.member).value.generation == Generation(1))
            #expect(other.spent.isEmpty)
            #expect(self.provider.refreshed.isEmpty)
        }
    }

    @Test(arguments: [false, true])
    func `an account of a family may get a name of its own and lose it again`(isUsed: Bool) async throws {
        try await self.house.put(.member(self.member, isValid: true), for: self.member)
        try await self.house.withFamily(self.customers()) { replica in
            if isUsed { _ = try await replica.engine.credential(for: self.member) }
            for _ in 0..<2 {
                replica.engine.reload([self.named(self.member)], families: [try self.customers()], waiters: 100)
                #expect(replica.engine.exists(self.member))
                #expect(await replica.ask(self.member).value.generation == Generation(1))
                let named = await replica.engine.overview()
                #expect(named.named.map(\.account) == [self.member])
                #expect(named.families.map(\.accounts) == [0])
                #expect(await replica.engine.accountCounts()[acme]?.states[.valid] == 1)

                replica.engine.reload([], families: [try self.customers()], waiters: 100)
                #expect(replica.engine.exists(self.member))
                #expect(await replica.ask(self.member).value.generation == Generation(1))
                let again = await replica.engine.overview()
                #expect(again.named.isEmpty)
                #expect(again.families.map(\.accounts) == [1])
                #expect(await replica.engine.accountCounts()[acme]?.states[.valid] == 1)
            }
            #expect(!replica.events.contains(.retired(self.member)))
        }
    }

    @Test func `an account without tokens that loses its name does not exist any more`() async throws {
        try await self.house.withFamily(self.customers(), named: [self.named(self.member)]) { replica in
            #expect(await replica.ask(self.member).value == .error(.accountEmpty))
            #expect(replica.engine.exists(self.member))
            replica.engine.reload([], families: [try self.customers()], waiters: 100)
            #expect(!replica.engine.exists(self.member))
            #expect(await replica.ask(self.member).value == .error(.accountEmpty))
        }
    }

    @Test func `a longer prefix takes its accounts over, with its own max`() async throws {
        for number in 1...3 { try await self.house.put(.member(.customer(number)), for: .customer(number)) }
        let european = AccountID("customer-eu-1")
        try await self.house.put(.member(european), for: european)
        try await self.house.withFamily(self.customers()) { replica in
            let families = [
                try self.customers(), try .customers(at: self.provider, pattern: "customer-eu-*", max: 1),
            ]
            replica.engine.reload([], families: families, waiters: 100)
            let overview = await replica.engine.overview()
            #expect(overview.families.map(\.family.description) == ["customer-*", "customer-eu-*"])
            #expect(overview.families.map(\.accounts) == [3, 1])
            let second = AccountImport.first(of: AccountID("customer-eu-2"))
            #expect(await replica.engine.importTokens([second], existing: .skip) == [.refused(.any(.familyFull))])
            #expect(await replica.engine.importTokens([.first(of: .customer(4))], existing: .skip) == [.imported])
        }
    }

    @Test func `a smaller max lets no further account in, and those that exist stay`() async throws {
        for number in 1...5 { try await self.house.put(.member(.customer(number)), for: .customer(number)) }
        try await self.house.withFamily(self.customers()) { replica in
            replica.engine.reload([], families: [try .customers(at: self.provider, max: 3)], waiters: 100)
            let outcomes = await replica.engine.importTokens([.first(of: .customer(6))], existing: .skip)
            #expect(outcomes == [.refused(.any(.familyFull))])
            for number in 1...5 { #expect(await replica.ask(.customer(number)).value.generation == Generation(2)) }
        }
    }
}
