import OAuth
import Simulation
import TestKit
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// Pages of accounts, and all accounts at a glance.
@Suite(.simulated) struct AccountListingTests {
    private let house = Cluster()
    private let provider: FamilyTokenEndpoint
    private let other = ProviderID("other")
    private let orphan = AccountID("former")

    init() { self.provider = FamilyTokenEndpoint(self.house.clock) }

    /// Two accounts with names of their own, 30 members of a family, one that was removed, and one of nobody.
    private func run(_ body: (Replica) async throws -> Void) async throws {
        for number in 0..<30 {
            let account = AccountID.customer(number)
            let record = AccountRecord.member(account, isValid: number.isMultiple(of: 2)).with {
                if number == 28 { $0.failureRecord = .sample(dead: true, reason: "invalid_grant") }
                if number == 29 { ($0.tokens, $0.killed) = (nil, [TokenDigest(of: Secret("rt"))]) }
            }
            try await self.house.put(record, for: account)
        }
        let removed = AccountRecord.member(.customer(99)).with { ($0.tokens, $0.isRemoved) = (nil, true) }
        try await self.house.put(removed, for: .customer(99))
        try await self.house.put(.member(self.orphan).with { $0.binding.provider = self.other }, for: self.orphan)
        try await self.house.put(.valid(), for: alice)
        let named = [alice, AccountID("zoe")].map {
            AccountConfiguration(account: $0, provider: $0 == alice ? acme : self.other, endpoint: self.provider)
        }
        try await self.house.withFamily(.customers(at: self.provider, max: 100), named: named, body)
    }

    private func pages(_ filter: AccountFilter, _ limit: Int, _ replica: Replica) async -> [[AccountStatus]] {
        var pages: [[AccountStatus]] = []
        var after: AccountID?
        repeat {
            let page = await replica.engine.accounts(filter, after: after, limit: limit)
            #expect(page.next == nil || page.next == page.accounts.last?.account)
            pages.append(page.accounts)
            after = page.next
        } while after != nil && pages.count < 100
        return pages
    }

    private var all: [AccountID] {
        ([alice, AccountID("zoe"), self.orphan] + (0..<30).map { .customer($0) }).sorted()
    }

    @Test(arguments: [1, 7, 33, 34, 1_000])
    func `the pages have each account once, sorted by name`(limit: Int) async throws {
        try await self.run { replica in
            let pages = await self.pages(AccountFilter(), limit, replica)
            #expect(pages.flatMap { $0 }.map(\.account) == self.all)
            #expect(pages.dropLast().allSatisfy { $0.count == limit })
            #expect(pages.count == (33 + limit - 1) / limit)
        }
    }

    @Test(arguments: [
        (AccountFilter(prefix: "customer-1"), 11), (AccountFilter(prefix: "customer"), 30),
        (AccountFilter(prefix: "x"), 0),
        (AccountFilter(provider: ProviderID("other")), 2), (AccountFilter(provider: acme), 31),
        (AccountFilter(states: [.valid]), 15), (AccountFilter(states: [.expired]), 15),
        (AccountFilter(states: [.valid, .expired]), 30), (AccountFilter(states: [.reauthorizationRequired]), 1),
        (AccountFilter(states: [.empty]), 2), (AccountFilter(states: [.refreshing]), 0),
        (AccountFilter(prefix: "customer-2", provider: acme, states: [.empty, .valid]), 6),
        (AccountFilter(prefix: "customer-", provider: ProviderID("other")), 0), (AccountFilter(states: [.killed]), 0),
    ])
    func `a filter leaves the same accounts, whatever the limit`(filter: AccountFilter, count: Int) async throws {
        try await self.run { replica in
            for limit in [1, 5, 1_000] {
                let found = await self.pages(filter, limit, replica).flatMap { $0 }
                #expect(found.count == count, "\(found.map { "\($0.account) \($0.state)" })")
                #expect(found.allSatisfy { filter.covers($0) })
                #expect(found.map(\.account) == found.map(\.account).sorted())
            }
        }
    }

    @Test func `a filter finds accounts by the state that they have now`() async throws {
        try await self.run { replica in
            // A refresh, a kill, the time and another process change states.
            _ = await replica.ask(.customer(1)).value
            try await replica.hasLanded()
            #expect(await self.pages(AccountFilter(states: [.valid]), 100, replica).joined().count == 16)
            self.house.apply(replica) { $0.raise(.account(.customer(3)), at: $0.last.next, holds: true) }
            let killed = await self.pages(AccountFilter(states: [.killed]), 100, replica)
            #expect(killed.joined().map(\.account) == [.customer(3)])
            try await self.house.put(.member(.customer(5), isValid: true), for: .customer(5))
            _ = await replica.engine.status(of: .customer(5))
            #expect(await self.pages(AccountFilter(states: [.valid]), 100, replica).joined().count == 17)
            await self.house.clock.pass(.seconds(3_601))
            #expect(await self.pages(AccountFilter(states: [.valid]), 100, replica).joined().isEmpty)
        }
    }

    @Test func `accounts whose record does not open are listed as unreadable`() async throws {
        try await self.run { replica in
            self.house.store.fail(.spoiled, at: .account("customer-4"))
            self.house.store.fail(.spoiled, at: .account("customer-6"))
            // One of them is in use, and the other is not.
            await self.house.clock.pass(.seconds(3_601))
            _ = await replica.ask(.customer(4)).value
            _ = await replica.engine.status(of: .customer(6))
            let found = await self.pages(AccountFilter(states: [.unreadable]), 10, replica).joined()
            #expect(found.map(\.account) == [.customer(4), .customer(6)])
        }
    }

    @Test func `while the store is away, the states are those that were known last`() async throws {
        try await self.run { replica in
            let known = await self.pages(AccountFilter(), 100, replica).joined()
            self.house.store.fail(.away)
            let away = await self.pages(AccountFilter(), 10, replica).joined()
            let expected = known.filter { $0.account != self.orphan }
            #expect(away.map(\.account) == expected.map(\.account))
            #expect(away.map(\.state) == expected.map(\.state))
            let overview = await replica.engine.overview()
            #expect(overview.families.map(\.accounts) == [30])
            await self.house.clock.pass(.seconds(3_601))
            #expect(await self.pages(AccountFilter(states: [.expired]), 10, replica).joined().count == 29)
        }
    }

    @Test func `the overview has families in numbers, the others one by one, and reads no member's record`()
        async throws
    {
        try await self.run { replica in
            let before = self.house.store.calls.count
            let overview = await replica.engine.overview()
            #expect(overview.named.map(\.account) == [alice, self.orphan, AccountID("zoe")])
            let family = try #require(overview.families.first)
            #expect(overview.families.count == 1)
            #expect(family.family.description == "customer-*")
            #expect([family.accounts, family.max] == [30, 100])
            let states = family.states.filter { $0.value > 0 }
            #expect(states == [.valid: 14, .expired: 14, .reauthorizationRequired: 1, .empty: 1])
            #expect(Set(family.states.keys) == Set(AccountStatus.State.allCases))
            let counts = await replica.engine.accountCounts()
            #expect(counts[acme]?.states[.valid] == 15)
            #expect(counts[self.other]?.states[.empty] == 1)
            #expect(!self.house.store.calls.dropFirst(before).contains { $0.place.hasPrefix("accounts/customer-") })
        }
    }

    @Test func `a store that is away at a reload is indexed when it is back`() async throws {
        try await self.house.put(.member(.customer(1)), for: .customer(1))
        let families = [try AccountFamilyConfiguration.customers(at: self.provider)]
        try await self.house.withReplica([], of: []) { replica in
            self.house.store.fail(.away)
            let calls = self.house.store.calls.count
            replica.engine.reload([], families: families, waiters: 100)
            try await until("a try") { self.house.store.calls.count > calls }
            #expect(!replica.engine.exists(.customer(1)))
            self.house.store.recover()
            await self.house.clock.pass(.seconds(1))
            #expect(replica.engine.exists(.customer(1)))
        }
    }
}
