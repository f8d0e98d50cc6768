import OAuth
import Simulation
import TestKit
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

@Suite(.simulated) struct BulkImportTests {
    private let house = Cluster()
    private let provider: FamilyTokenEndpoint
    private let member = AccountID.customer(1)

    init() { self.provider = FamilyTokenEndpoint(self.house.clock) }

    /// Imports the first refresh token of each account.
    private func seal(
        _ replica: Replica,
        _ accounts: AccountID...,
        existing: ExistingAccounts = .skip
    ) async -> [ImportOutcome] {
        await replica.engine.importTokens(accounts.map { .first(of: $0) }, existing: existing)
    }

    @Test func `256 accounts cost two reads of the kill log, one write each and nothing in the log`() async throws {
        try await self.house.withFamily(.customers(at: self.provider)) { replica in
            let reads = self.house.kills.readCount
            let calls = self.house.store.calls.count
            let imports = (0..<RefreshEngine.largestImport).map { AccountImport.first(of: .customer($0)) }

            let outcomes = await replica.engine.importTokens(imports, existing: .skip)

            #expect(outcomes == Array(repeating: .imported, count: 256))
            #expect(self.house.kills.readCount - reads == 2)
            let made = self.house.store.calls.dropFirst(calls)
            #expect(made.count { $0.operation == .write } == 256)
            #expect(made.count { $0.operation == .read } == 0)
            #expect(self.house.kills.changed.isEmpty)
            // Nothing is in use, and nobody is told of a credential.
            #expect(replica.events.isEmpty)
            #expect(replica.engine.index.count == 256)
        }
    }

    @Test func `the outcomes come in the order of the imports, and one that is refused keeps none from the others`()
        async throws
    {
        try await self.house.put(.member(.customer(2)), for: .customer(2))
        try await self.house.withFamily(.customers(at: self.provider)) { replica in
            let imports = [
                AccountImport.first(of: .customer(1)), .first(of: .customer(2)), .first(of: AccountID("stranger")),
                AccountImport(.customer(3), refreshToken: Secret("r\nt")),
                AccountImport(.customer(4), refreshToken: Secret("rt"), accessToken: Secret("a\nt")),
                .first(of: .customer(5)),
            ]
            let outcomes = await replica.engine.importTokens(imports, existing: .skip)
            let expected: [ImportOutcome] = [
                .imported, .exists, .refused(.any(.notConfigured)), .refused(.any(.invalidTokens)),
                .refused(.any(.invalidTokens)), .imported,
            ]
            #expect(outcomes == expected)
        }
    }

    @Test(
        arguments: [
            (.skip, .exists), (.replace, .replaced), (.fail, .refused(.any(.exists))),
        ] as [(ExistingAccounts, ImportOutcome)]
    )
    func `an account that has other tokens is skipped, replaced or refused, as it is asked for`(
        existing: ExistingAccounts,
        outcome: ImportOutcome
    ) async throws {
        let record = AccountRecord.member(self.member, isValid: true)
        try await self.house.put(record, for: self.member)
        try await self.house.withFamily(.customers(at: self.provider)) { replica in
            let new = AccountImport(self.member, refreshToken: Secret("rt-new"))
            #expect(await replica.engine.importTokens([new], existing: existing) == [outcome])
            let stored = try #require(try await self.house.record(of: self.member))
            let isReplaced = outcome == .replaced
            #expect(stored.tokens?.refreshToken == (isReplaced ? Secret("rt-new") : record.tokens?.refreshToken))
            #expect(self.house.kills.changed == (isReplaced ? [self.member] : []))
            #expect(stored.hasImported(Secret("rt-customer-1-0")))
            #expect(stored.hasImported(Secret("rt-new")) == isReplaced)
        }
    }

    @Test func `a repeated import never puts a spent token over its successor`() async throws {
        try await self.house.withFamily(.customers(at: self.provider)) { replica in
            #expect(await self.seal(replica, self.member) == [.imported])
            #expect(await replica.ask(self.member).value.generation == Generation(1))
            try await replica.hasLanded()
            let rotated = try await self.house.record(of: self.member)

            #expect(await self.seal(replica, self.member, existing: .skip) == [.exists])
            #expect(await self.seal(replica, self.member, existing: .replace) == [.importedBefore])
            #expect(await self.seal(replica, self.member, existing: .fail) == [.refused(.any(.exists))])
            #expect(try await self.house.record(of: self.member) == rotated)

            // The same holds after other tokens have come between, and been rotated.
            let other = AccountImport(self.member, refreshToken: Secret("rt-x-0"))
            #expect(await replica.engine.importTokens([other], existing: .replace) == [.replaced])
            #expect(await self.seal(replica, self.member, existing: .replace) == [.importedBefore])
            #expect(self.provider.spentTwice.isEmpty)
        }
    }

    @Test func `a repeated import of one account is refused once a successor of its token stands`() async throws {
        try await self.house.withFamily(.customers(at: self.provider)) { replica in
            let token = Secret("rt-\(self.member)-0")
            try await replica.engine.importTokens(token, for: self.member)
            // Nobody has spent it yet, so that the answer may have been lost.
            try await replica.engine.importTokens(token, for: self.member)
            #expect(await replica.ask(self.member).value.generation == Generation(1))
            try await replica.hasLanded()
            let rotated = try await self.house.record(of: self.member)

            await #expect(throws: AccountChangeError.any(.exists)) {
                try await replica.engine.importTokens(token, for: self.member)
            }
            #expect(try await self.house.record(of: self.member) == rotated)
        }
    }

    @Test func `a spent token does not come back after a kill of its successor either`() async throws {
        try await self.house.withFamily(.customers(at: self.provider)) { replica in
            #expect(await self.seal(replica, self.member) == [.imported])
            #expect(await replica.ask(self.member).value.generation == Generation(1))
            try await replica.hasLanded()
            self.house.apply(replica) { $0.raise(.all, at: $0.last.next, holds: true) }
            #expect(await self.seal(replica, self.member) == [.refused(.any(.killed))])
            self.house.apply(replica) { $0.lift(.all, at: $0.last.next) }
            for existing in ExistingAccounts.allCases {
                #expect(await self.seal(replica, self.member, existing: existing) == [.refused(.any(.killed))])
            }

            let new = AccountImport(self.member, refreshToken: Secret("rt-new"))
            #expect(await replica.engine.importTokens([new], existing: .fail) == [.imported])
            // The killed tokens were written down to be revoked.
            #expect(self.house.kills.takenAway.compactMap(\.tokens?.refreshToken) == [Secret("rt-customer-1-1")])
        }
    }

    @Test func `256 replaced accounts are announced once each`() async throws {
        for number in 0..<256 { try await self.house.put(.member(.customer(number)), for: .customer(number)) }
        try await self.house.withFamily(.customers(at: self.provider)) { replica in
            let reads = self.house.kills.readCount
            let imports = (0..<256).map { AccountImport(.customer($0), refreshToken: Secret("rt-new-\($0)")) }
            let outcomes = await replica.engine.importTokens(imports, existing: .replace)
            #expect(outcomes == Array(repeating: .replaced, count: 256))
            #expect(Set(self.house.kills.changed) == Set((0..<256).map { .customer($0) }))
            #expect(self.house.kills.changed.count == 256)
            #expect(self.house.kills.readCount - reads == 2)
        }
    }

    @Test func `an account in use has its new tokens at once`() async throws {
        try await self.house.put(.member(self.member, isValid: true), for: self.member)
        try await self.house.withFamily(.customers(at: self.provider)) { replica in
            _ = try await replica.engine.credential(for: self.member)
            let new = AccountImport(self.member, refreshToken: Secret("rt-new"), accessToken: Secret("at-new"))
            #expect(await replica.engine.importTokens([new], existing: .replace) == [.replaced])
            #expect(try await replica.engine.credential(for: self.member).accessToken == Secret("at-new"))
            #expect(self.provider.refreshed.isEmpty)
        }
    }

    @Test func `an account that is configured by name may be imported with others`() async throws {
        let named = AccountConfiguration(account: alice, provider: acme, endpoint: self.provider)
        try await self.house.withFamily(.customers(at: self.provider), named: [named]) { replica in
            #expect(await self.seal(replica, alice, self.member) == [.imported, .imported])
            #expect(await self.seal(replica, alice, self.member) == [.exists, .exists])
            let stored = [try await self.house.record(of: alice), try await self.house.record(of: self.member)]
            #expect(stored.map { $0?.imported.count } == [1, 1])
            // A spent token does not come back here either.
            #expect(await replica.ask(alice).value.generation == Generation(1))
            try await replica.hasLanded()
            #expect(await self.seal(replica, alice, existing: .replace) == [.importedBefore])
        }
    }

    @Test func `an account that mints, and the client's secret, are refused`() async throws {
        let provider = FamilyTokenEndpoint(self.house.clock, clientSecret: Secret("s3cret"))
        let minted = AccountConfiguration(
            account: alice,
            provider: acme,
            grant: .clientCredentials,
            endpoint: ScriptedTokenEndpoint()
        )
        try await self.house.withFamily(.customers(at: provider), named: [minted]) { replica in
            let secret = AccountImport(self.member, refreshToken: Secret("s3cret"))
            let outcomes = await replica.engine.importTokens([.first(of: alice), secret], existing: .skip)
            #expect(outcomes == [.refused(.any(.minted)), .refused(.any(.invalidTokens))])
            let stored = try await self.house.vault.accounts()
            #expect(stored.isEmpty)
            #expect(!replica.engine.exists(self.member))
            #expect(!self.house.log.text.contains("s3cret"))
        }
    }

    @Test func `a kill between the first read of the log and the write refuses what was stored`() async throws {
        try await self.house.withFamily(.customers(at: self.provider)) { replica in
            self.house.kills.changeAfterNextRead {
                $0.raise(.account(.customer(1)), at: $0.last.next, holds: true)
            }
            let outcomes = await self.seal(replica, .customer(1), .customer(2))
            #expect(outcomes == [.refused(.any(.killed)), .imported])
            // The stored tokens get revoked.
            #expect(self.house.kills.storedDeadCount == 1)
            #expect(self.provider.refreshed.isEmpty)
        }
    }

    @Test func `without the kill log nothing is written`() async throws {
        try await self.house.withFamily(.customers(at: self.provider)) { replica in
            self.house.kills.failReads()
            let outcomes = await self.seal(replica, .customer(1), .customer(2))
            #expect(outcomes == [.refused(.any(.storeLost)), .refused(.any(.storeLost))])
            let stored = try await self.house.vault.accounts()
            #expect(stored.isEmpty)
            self.house.kills.failReads(false)
            #expect(await self.seal(replica, .customer(1), .customer(2)) == [.imported, .imported])
        }
    }

    @Test(arguments: [FaultyTokenStore.Fault.away, .full, .unanswered, .late(calls: 1)], [1, 2, 3, nil] as [Int?])
    func `given a store that fails, the import succeeds or is refused, and repeating it leaves each account once`(
        fault: FaultyTokenStore.Fault,
        times: Int?
    ) async throws {
        try await self.house.withFamily(.customers(at: self.provider, max: 3)) { replica in
            self.house.store.fail(fault, under: .accounts, times: times)
            let first = await self.seal(replica, .customer(1), .customer(2), .customer(3))
            #expect(first.allSatisfy { $0 == .imported || $0 == .refused(.any(.storeLost)) })
            self.house.store.recover()
            self.house.store.landLateWrites()

            let second = await self.seal(replica, .customer(1), .customer(2), .customer(3))
            // A refused import gave its place back.
            #expect(second.allSatisfy { $0 == .imported || $0 == .exists })
            for (before, after) in zip(first, second) where before == .imported { #expect(after == .exists) }
            for number in 1...3 {
                #expect(replica.engine.exists(.customer(number)))
                #expect(await replica.ask(.customer(number)).value.generation == Generation(1))
            }
            #expect(await self.seal(replica, .customer(4)) == [.refused(.any(.familyFull))])
            #expect(self.provider.spentTwice.isEmpty)
        }
    }

    @Test func `an import whose answers are lost for good says that it may be done`() async throws {
        try await self.house.withFamily(.customers(at: self.provider)) { replica in
            self.house.store.fail(.unanswered, under: .accounts)
            guard case .refused(let error) = await self.seal(replica, self.member).first else {
                Issue.record("it was not refused")
                return
            }
            #expect(error.code == .storeLost)
            #expect(error.mayBeDone)
        }
    }

    @Test func `an account that occurs twice gets the tokens of either`() async throws {
        try await self.house.withFamily(.customers(at: self.provider, max: 1)) { replica in
            let outcomes = await self.seal(replica, self.member, self.member)
            #expect(outcomes.contains(.imported))
            #expect(outcomes.allSatisfy { $0 == .imported || $0 == .exists })
            #expect(await replica.ask(self.member).value.generation == Generation(1))
            #expect(self.provider.spentTwice.isEmpty)
        }
    }

    @Test func `only the last eight imported tokens are remembered`() async throws {
        try await self.house.withFamily(.customers(at: self.provider)) { replica in
            for number in 0..<10 {
                let one = AccountImport(self.member, refreshToken: Secret("rt-\(number)"))
                _ = await replica.engine.importTokens([one], existing: .replace)
            }
            let record = try #require(try await self.house.record(of: self.member))
            #expect((0..<10).filter { record.hasImported(Secret("rt-\($0)")) } == Array(2..<10))
        }
    }
}

extension AccountChangeError {
    /// An error with this code. Errors are equal if their codes are.
    static func any(_ code: Code) -> AccountChangeError { AccountChangeError(code, "") }
}
