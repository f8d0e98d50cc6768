import KillSwitch
import OAuth
import Simulation
import TestKit
import Testing
import TokenModel
import TokenStorage

/// The names of tokens that wait to be revoked are derived from the tokens themselves.
@Suite(.simulated) struct NamedTokensTests {
    private let house = ReplicaGroup()
    private let alice = AccountID("alice")

    private func record(_ tokens: String, grant: GrantID = .random(), observedEpoch: UInt64 = 0) -> AccountRecord {
        AccountRecord(
            grant: grant,
            generation: Generation(1),
            tokens: TokenSet(
                accessToken: Secret("at-\(tokens)"),
                refreshToken: Secret("rt-\(tokens)"),
                receivedAt: self.house.clock.wall,
                lifetime: .seconds(3_600)
            ),
            observedEpoch: Epoch(observedEpoch),
            binding: AccountRecord.Binding(
                provider: ProviderID("acme"),
                issuer: .tokenEndpoint("https://login.example/token"),
                clientID: "my-app"
            )
        )
    }

    @Test func `all tokens of two token sets of one generation are revoked, as after a broken claim`()
        async throws
    {
        let one = self.house.replica("a")
        let grant = GrantID.random()
        let (stored, dropped) = (self.record("stored", grant: grant), self.record("dropped", grant: grant))
        _ = try await self.house.vault.write(stored, for: self.alice, expecting: nil)
        try await self.house.run([one]) {
            let report = try await one.kills.kill(.all, reason: "drill", streams: .abort, wait: .seconds(1))
            try await one.kills.storeForRevocation(tokensOf: dropped, self.alice)
            try await one.kills.storeForRevocation(tokensOf: dropped, self.alice)
            try await until("all to be revoked") {
                try await one.kills.report(on: report.id).tokens.revoked == 4
            }
            #expect(Set(self.house.provider.asked) == ["rt-stored", "at-stored", "rt-dropped", "at-dropped"])
        }
    }

    @Test func `tokens in records with names of an earlier version are revoked and counted once`()
        async throws
    {
        let one = self.house.replica("a")
        let record = self.record("alice")
        let grant = record.grant
        _ = try await self.house.vault.write(record, for: self.alice, expecting: nil)
        // The sweep writes the tokens down but can't remove them from the account.
        self.house.store.fail(.full, at: .account("alice"))
        self.house.provider.answer(.unreachable(.noKnownReason))
        try await self.house.run([one]) {
            let report = try await one.kills.kill(.all, reason: "drill", streams: .abort, wait: .seconds(1))
            try await until("them to be written down") { try await self.keys().count == 2 }
            for key in try await self.keys() { try await self.rename(key, of: grant) }
            let tokens = try await one.kills.report(on: report.id).tokens
            #expect(tokens.total == 2)

            self.house.provider.answer(.revoked)
            try await until("them to be settled", within: .seconds(2)) { try await self.keys().isEmpty }
            let revoked = try await one.kills.revocations(of: report.id).records
            #expect(revoked.count { $0.outcome == .revoked } >= 2)
        }
    }

    @Test func `a token of an earlier version whose process ended while it asked is revoked`() async throws {
        // Given waiting tokens under earlier names, with claims
        let one = self.house.replica("a")
        try await self.house.put("alice")
        self.house.provider.answer(.unreachable(.noKnownReason))
        try await self.house.run([one]) {
            _ = try await one.kills.kill(.all, reason: "drill", streams: .abort, wait: .seconds(1))
            try await until("both to be asked about") { Set(self.house.provider.asked).count == 2 }
        }
        let claim = AccountRecord.Claim(incarnation: .random(), id: .random(), standsFor: .seconds(12))
        for key in try await self.keys() { try await self.rename(key, of: .random(), claim) }

        // When another replica starts, it revokes them when the claims have lapsed
        self.house.provider.answer(.revoked)
        let (next, before, asked) = (self.house.replica("b"), self.house.clock.now, self.house.provider.asked.count)
        try await self.house.run([next]) {
            try await until("them to be revoked", within: .seconds(20)) { try await self.keys().isEmpty }
        }
        #expect(self.house.provider.asked.count == asked + 2)
        #expect(before.duration(to: self.house.clock.now) >= .seconds(12))
    }

    /// Gives a waiting token the name that an earlier version gives it, and a claim.
    private func rename(_ key: RecordKey, of grant: GrantID, _ claim: AccountRecord.Claim? = nil) async throws {
        let stored = try #require(try await self.house.records.read(key))
        var record = try RevocationRecord(decoding: stored.plaintext)
        record.claim = claim
        let old = RecordKey.revocation("\(grant)-1-\(record.kind.rawValue)")
        _ = try await self.house.records.write(record.encoded(), at: old, expecting: nil)
        try await self.house.store.remove(key, expecting: stored.version)
    }

    private func keys() async throws -> [RecordKey] {
        try await self.house.store.records(under: .revocations, after: nil, limit: 9).map(\.key)
    }

    @Test func `the name of a token reveals nothing about it and differs between stores`() {
        let (token, store) = (Secret("rt-alice"), StoreID.random())
        let name = store.name(of: token)
        #expect(name == StoreID(rawValue: store.rawValue).name(of: Secret("rt-alice")))
        #expect(name != store.name(of: Secret("rt-bob")))
        #expect(name != StoreID.random().name(of: token))
        #expect(name != TokenDigest(of: token).rawValue)
        #expect(name.utf8.count == 64)
        #expect(!name.contains("alice"))
    }

    @Test func `a kill of a former provider revokes adopted tokens at their current provider`()
        async throws
    {
        let one = self.house.replica("a")
        let before = ProviderID("before")
        try await self.house.put("alice", formerProviders: [before])
        try await self.house.put("bob")
        try await self.house.run([one]) {
            let report = try await one.kill(.provider(before))
            try await until("both tokens to be revoked") {
                try await one.kills.report(on: report.id).tokens.revoked == 2
            }
            #expect(Set(self.house.provider.asked) == ["rt-alice", "at-alice"])
            #expect(try await self.house.vault.read(self.alice)?.record.tokens == nil)
            #expect(try await self.house.vault.read(AccountID("bob"))?.record.tokens != nil)
            let waiting = try await one.kills.tokensToRevoke(of: self.alice)
            #expect(waiting.isEmpty)
        }
    }

    @Test(arguments: [KillEntry.Kind.removed, .kill, .replaced])
    func `killed tokens in a dead incarnation's journal are revoked, even if the account has another grant`(
        kind: KillEntry.Kind
    ) async throws {
        // Given an incarnation that ended with tokens in its journal, and whose account has another grant since
        let directory = try TemporaryDirectory()
        let ring = GivenKeyRing(KeyRing(current: .random()), name: "test")
        let opened = try await OpenedStore.open(self.house.store, keys: ring)
        let records = opened.records
        func register() throws -> IncarnationRegistry {
            try IncarnationRegistry(.random(), in: directory.path, opened, journal: .least) {
                record,
                account throws(StoreError) in
                try await KillSwitch.storeForRevocation(orphanOf: account, record, in: records)
            }
        }
        let dead = try register()
        _ = await dead.keep(self.record("late"), for: self.alice)
        await dead.close()
        let entry = KillEntry(kind, .account(self.alice), reason: "drill", streams: .abort, at: self.house.clock.wall)
        _ = try await KillLog(records).append(entry, behind: .start)
        _ = try await opened.accounts.write(self.record("new", observedEpoch: 1), for: self.alice, expecting: nil)

        // When the next incarnation inherits the journal
        let inherited = try await register().inheritAll()

        // Then killed tokens wait to be revoked, and tokens that were only replaced do not
        #expect(inherited.dropped == 1)
        #expect(try await self.keys().count == (kind == .replaced ? 0 : 2))
        let one = self.house.replica("a", records: records)
        try await self.house.run([one]) {
            try await until("them to be revoked") { try await self.keys().isEmpty }
        }
        #expect(Set(self.house.provider.asked) == (kind == .replaced ? [] : ["rt-late", "at-late"]))
    }

    @Test func `tokens that are not revoked yet are listed for their account until they are revoked`()
        async throws
    {
        // Given killed tokens of an unreachable provider, and of one that is no longer configured
        let one = self.house.replica("a")
        let (alice, bob) = (AccountID("alice"), AccountID("bob"))
        try await self.house.put("alice")
        try await self.house.put("bob", provider: "gone")
        self.house.provider.answer(.unreachable(.connectFailed))
        try await self.house.run([one]) {
            _ = try await one.kills.kill(.all, reason: "drill", streams: .abort, wait: .seconds(1))
            try await until("all to wait") {
                let waiting = try await one.kills.tokensToRevoke(of: alice)
                let gone = try await one.kills.tokensToRevoke(of: bob)
                return waiting.count == 2 && gone.count == 2
            }

            // When the waiting tokens are listed
            let waiting = try await one.kills.tokensToRevoke(of: alice)
            let gone = try await one.kills.tokensToRevoke(of: bob)

            // Then each has the reason for its wait
            #expect(waiting.map(\.kind) == [.refreshToken, .accessToken])
            #expect(waiting.map(\.reason) == [.waiting, .waiting])
            #expect(gone.map(\.reason) == [.notConfigured, .notConfigured])

            // And they are no longer listed after the provider is back
            self.house.provider.answer(.revoked)
            try await until("those of the provider that is back to be revoked", within: .seconds(2)) {
                try await one.kills.tokensToRevoke(of: alice).isEmpty
            }
        }
    }
}
