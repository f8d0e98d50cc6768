import OAuth
import Simulation
import TestKit
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// Whether a member of a family exists, and what a request for it gets and costs.
@Suite(.simulated) struct MemberExistenceTests {
    private let house = Cluster()
    private let provider: FamilyTokenEndpoint
    private let member = AccountID.customer(1)

    init() { self.provider = FamilyTokenEndpoint(self.house.clock) }

    private func seal(_ account: AccountID, _ replica: Replica) async -> [ImportOutcome] {
        await replica.engine.importTokens([.first(of: account)], existing: .fail)
    }

    @Test func `10,000 names that nobody knows are empty, and cost neither a store call nor memory`() async throws {
        try await self.house.put(.member(self.member), for: self.member)
        try await self.house.withFamily(.customers(at: self.provider)) { replica in
            let before = self.house.store.calls.count
            for number in 2..<10_002 {
                #expect(!replica.engine.exists(.customer(number)))
                await #expect(throws: CredentialError.any(.accountEmpty)) {
                    try await replica.engine.credential(for: .customer(number))
                }
            }
            #expect(self.house.store.calls.count == before)
            #expect(replica.engine.index.count == 1)
            #expect(replica.engine.waiterCount == 0)
            #expect(replica.events.isEmpty)
            let family = try #require(await replica.engine.overview().families.first)
            #expect(family.accounts == 1)
        }
    }

    @Test func `an order for a name that nobody knows leaves nothing behind`() async throws {
        try await self.house.withFamily(.customers(at: self.provider)) { replica in
            _ = try? await replica.engine.forget(self.member)
            _ = try? await replica.engine.adopt(self.member)
            #expect(await replica.engine.status(of: self.member) == nil)
            #expect(replica.engine.index.count == 0)
        }
    }

    @Test(arguments: ["customer-", "customer-a b", "customer-ä", "customer", "other-1", "*"])
    func `a name outside the family is not configured`(name: String) async throws {
        try await self.house.withFamily(.customers(at: self.provider)) { replica in
            let account = AccountID(name)
            #expect(await self.seal(account, replica) == [.refused(.any(.notConfigured))])
            #expect(!replica.engine.exists(account))
            #expect(!replica.engine.isConfigured(account))
            #expect(await replica.engine.status(of: account) == nil)
        }
    }

    @Test func `an account exists from its import to its removal, and again from the next import`() async throws {
        try await self.house.withFamily(.customers(at: self.provider)) { replica in
            #expect(await self.seal(self.member, replica) == [.imported])
            #expect(replica.engine.exists(self.member))
            // The hint of its import is read before the removal.
            await self.house.clock.settle()

            // It is removed before anybody has used it.
            let forgotten = try await replica.engine.forget(self.member)
            #expect(forgotten.map(\.verdict) == [.revoked])
            #expect(!replica.engine.exists(self.member))
            #expect(await replica.ask(self.member).value == .error(.accountEmpty))
            // The removed token does not come back, another one does.
            #expect(await self.seal(self.member, replica) == [.refused(.any(.killed))])
            #expect(!replica.engine.exists(self.member))
            let other = AccountImport(self.member, refreshToken: Secret("rt-other"), accessToken: Secret("at-other"))
            #expect(await replica.engine.importTokens([other], existing: .fail) == [.imported])
            #expect(replica.engine.exists(self.member))
            #expect(await replica.ask(self.member).value.generation == Generation(1))
        }
    }

    @Test func `an account in use that is removed does not exist any more, and leaves nothing behind`() async throws {
        try await self.house.put(.member(self.member, isValid: true), for: self.member)
        try await self.house.withFamily(.customers(at: self.provider)) { replica in
            let credential = try await replica.engine.credential(for: self.member)
            replica.engine.used(TokenVersion(credential), of: self.member)
            try await replica.hasLanded()

            _ = try await replica.engine.forget(self.member)
            replica.engine.apply(try await self.house.kills.read())
            #expect(!replica.engine.exists(self.member))
            #expect(await replica.ask(self.member).value == .error(.accountEmpty))

            // Its state goes soon, although somebody asks for it again and again.
            try await until("its end", within: .seconds(20)) {
                _ = await replica.ask(self.member).value
                await self.house.clock.pass(.seconds(1))
                return replica.events.last == .retired(self.member)
            }
            let calls = self.house.calls(of: self.member)
            #expect(await replica.ask(self.member).value == .error(.accountEmpty))
            #expect(self.house.calls(of: self.member) == calls)
        }
    }

    @Test func `an account that another process imports exists here as soon as the hint comes`() async throws {
        try await self.house.withFamily(.customers(at: self.provider)) { replica in
            try await self.house.withFamily(.customers(at: self.provider)) { other in
                #expect(await self.seal(self.member, other) == [.imported])
                await self.house.clock.settle()
                #expect(replica.engine.exists(self.member))
                // The record was not read for that.
                #expect(replica.engine.index[self.member]?.content == .unread)
                #expect(await replica.ask(self.member).value.generation == Generation(1))

                _ = try await other.engine.forget(self.member)
                replica.engine.apply(try await self.house.kills.read())
                await self.house.clock.settle()
                #expect(!replica.engine.exists(self.member))
            }
        }
    }

    @Test func `the hint is read within five minutes, so that a removal elsewhere is known too`() async throws {
        try await self.house.put(.member(self.member), for: self.member)
        try await self.house.withFamily(.customers(at: self.provider)) { replica in
            #expect(replica.engine.exists(self.member))
            try await self.house.put(
                .member(self.member).with { ($0.tokens, $0.isRemoved) = (nil, true) },
                for: self.member
            )
            await self.house.clock.pass(.seconds(300))
            #expect(!replica.engine.exists(self.member))
            #expect(replica.engine.index[self.member]?.content == .removed)
        }
    }

    @Test func `an account that the kill log says was imported again exists, and is not read at once`() async throws {
        let house = Cluster(store: FaultyTokenStore(hints: false))
        let provider = FamilyTokenEndpoint(house.clock)
        let removed = AccountRecord.member(self.member).with { ($0.tokens, $0.isRemoved) = (nil, true) }
        try await house.put(removed, for: self.member)
        try await house.withFamily(.customers(at: provider)) { replica in
            try await house.put(.member(self.member), for: self.member)
            let calls = house.store.calls.count
            await replica.engine.reread(self.member)
            #expect(replica.engine.exists(self.member))
            #expect(house.store.calls.count == calls)
            #expect(await replica.ask(self.member).value.generation == Generation(2))

            // Requests carry its tokens by now, so that other tokens count at once.
            try await house.put(AccountRecord.valid(grant: GrantID("new"), generation: 7), for: self.member)
            await replica.engine.reread(self.member)
            #expect(await replica.ask(self.member).value.generation == Generation(7))
        }
    }

    @Test func `given a lost hint, an import elsewhere is known after ten minutes`() async throws {
        let house = Cluster(store: FaultyTokenStore(hints: false))
        let provider = FamilyTokenEndpoint(house.clock)
        let limits = RefreshLimits(rereadInterval: .seconds(60))
        try await house.withFamily(.customers(at: provider), limits: limits) { replica in
            // Given the comparison that comes first
            await house.clock.pass(.seconds(61))
            try await house.put(.member(self.member), for: self.member)
            // When ten minutes pass
            await house.clock.pass(.seconds(400))
            #expect(!replica.engine.exists(self.member))
            #expect(await replica.ask(self.member).value == .error(.accountEmpty))
            try await until("the comparison", within: .seconds(300)) { replica.engine.exists(self.member) }
            // Then it exists
            #expect(await replica.ask(self.member).value.generation == Generation(2))
        }
    }

    @Test func `after a connection was lost and is back, all accounts are compared at once`() async throws {
        let (house, silent) = (self.house, FaultyTokenStore(hints: false))
        let records = SealedRecords(store: silent, keys: house.records.keys, storeID: house.records.storeID)
        try await house.withFamily(.customers(at: self.provider)) { replica in
            await house.clock.pass(.seconds(21))
            // Given an import of which nobody is told
            _ = try await AccountVault(records).write(.member(self.member), for: self.member, expecting: nil)
            house.store.history = silent.history
            #expect(!replica.engine.exists(self.member))
            // When the connection is back
            house.store.announceReconnect(toAnotherServer: false)
            // Then the account is known within seconds
            try await until("it", within: .seconds(10)) { replica.engine.exists(self.member) }
        }
    }

    @Test func `an import that finds an account of a lost hint makes it known`() async throws {
        let house = Cluster(store: FaultyTokenStore(hints: false))
        let provider = FamilyTokenEndpoint(house.clock)
        try await house.withFamily(.customers(at: provider)) { replica in
            try await house.put(.member(self.member), for: self.member)
            let outcomes = await replica.engine.importTokens([.first(of: self.member)], existing: .skip)
            #expect(outcomes == [.exists])
            #expect(replica.engine.exists(self.member))
        }
    }

    @Test func `a read that an import elsewhere has overtaken does not undo it`() async throws {
        try await self.house.withFamily(.customers(at: self.provider)) { replica in
            // Given a member that was removed, and a status that reads so
            #expect(await self.seal(self.member, replica) == [.imported])
            await self.house.clock.settle()
            _ = try await replica.engine.forget(self.member)
            let removed = try await self.house.vault.read(self.member)
            self.house.store.afterRead(of: .account(self.member.rawValue)) {
                // When another replica imports the member before the read returns
                _ = try? await self.house.vault.write(
                    .member(self.member),
                    for: self.member,
                    expecting: removed?.version
                )
                await self.house.clock.settle()
            }
            _ = await replica.engine.status(of: self.member)
            // Then the account exists
            #expect(replica.engine.exists(self.member))
        }
    }

    @Test func `a read that an import has overtaken does not undo it`() async throws {
        try await self.house.withFamily(.customers(at: self.provider)) { replica in
            // Given a status that reads that there is no record
            let (member, imported) = (self.member, Tally())
            self.house.store.afterRead(of: .account(member.rawValue)) {
                // When an import comes before the read returns
                let outcomes = await replica.engine.importTokens([.first(of: member)], existing: .fail)
                if outcomes == [.imported] { imported.add() }
            }
            _ = await replica.engine.status(of: member)
            #expect(imported.count == 1)
            // Then the account exists
            #expect(replica.engine.exists(self.member))
        }
    }

    @Test func `a killed account answers so, is empty after the revival, and exists all the time`() async throws {
        try await self.house.put(.member(self.member), for: self.member)
        let swept = AccountRecord.member(self.member).with {
            $0.rememberKilled()
            $0.tokens = nil
        }
        try await self.house.withFamily(.customers(at: self.provider)) { replica in
            self.house.apply(replica) { $0.raise(.account(self.member), at: $0.last.next, holds: true) }
            #expect(replica.engine.exists(self.member))
            #expect(await replica.ask(self.member).value == .error(.killed))
            #expect(await replica.engine.status(of: self.member)?.state == .killed)
            #expect(await self.seal(self.member, replica) == [.refused(.any(.killed))])

            try await self.house.put(swept, for: self.member)
            self.house.apply(replica) { $0.lift(.account(self.member), at: $0.last.next) }
            await self.house.clock.settle()
            #expect(await replica.ask(self.member).value == .error(.accountEmpty))
            #expect(await replica.engine.status(of: self.member)?.state == .empty)
            #expect(replica.engine.exists(self.member))
            #expect(self.provider.refreshed.isEmpty)
        }
    }

    @Test func `removed accounts do not come back with a kill of everything, and neither after a restart`() async throws
    {
        try await self.house.withFamily(.customers(at: self.provider, max: 1)) { replica in
            #expect(await self.seal(self.member, replica) == [.imported])
            _ = try await replica.engine.forget(self.member)
            self.house.apply(replica) { $0.raise(.all, at: $0.last.next, holds: true) }
            #expect(!replica.engine.exists(self.member))
            self.house.apply(replica) { $0.lift(.all, at: $0.last.next) }
        }
        try await self.house.withFamily(.customers(at: self.provider, max: 1)) { replica in
            #expect(!replica.engine.exists(self.member))
            #expect(await self.seal(.customer(2), replica) == [.imported])
        }
    }

    @Test func `the eleventh of ten accounts is refused, and a removal makes room`() async throws {
        try await self.house.withFamily(.customers(at: self.provider, max: 10)) { replica in
            for number in 0..<10 { #expect(await self.seal(.customer(number), replica) == [.imported]) }
            #expect(await self.seal(.customer(10), replica) == [.refused(.any(.familyFull))])
            #expect(!replica.engine.exists(.customer(10)))
            // An account that exists needs no further place.
            let again = AccountImport(.customer(3), refreshToken: Secret("rt-again"))
            #expect(await replica.engine.importTokens([again], existing: .replace) == [.replaced])

            _ = try await replica.engine.forget(.customer(4))
            #expect(await self.seal(.customer(10), replica) == [.imported])
            #expect(await self.seal(.customer(11), replica) == [.refused(.any(.familyFull))])
            let family = try #require(await replica.engine.overview().families.first)
            #expect([family.accounts, family.max] == [10, 10])
        }
    }

    @Test func `nobody begins to sign in where the family has no room`() async throws {
        try await self.house.withFamily(.customers(at: self.provider, max: 1)) { replica in
            _ = try await replica.engine.expectTokens(for: .customer(1))
            #expect(await self.seal(.customer(1), replica) == [.imported])
            await #expect(throws: AccountChangeError.any(.familyFull)) {
                _ = try await replica.engine.expectTokens(for: .customer(2))
            }
            _ = try await replica.engine.expectTokens(for: .customer(1))
        }
    }

    @Test func `imports at the same time fill the family up to its max and never beyond`() async throws {
        try await self.house.withFamily(.customers(at: self.provider, max: 100)) { replica in
            let outcomes = await withTaskGroup(of: [ImportOutcome].self) { group in
                for batch in 0..<4 {
                    let imports = (0..<50).map { AccountImport.first(of: .customer(batch * 50 + $0)) }
                    group.addTask { await replica.engine.importTokens(imports, existing: .skip) }
                }
                return await group.reduce(into: []) { $0 += $1 }
            }
            #expect(outcomes.count { $0 == .imported } == 100)
            #expect(outcomes.count { $0 == .refused(.any(.familyFull)) } == 100)
            let stored = try await self.house.vault.accounts()
            #expect(stored.count == 100)
        }
    }
}
