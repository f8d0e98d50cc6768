import KillSwitch
import OAuth
import Simulation
import TestKit
import Testing
import TokenModel
import TokenStorage

/// Claims on killed accounts and on tokens that are being revoked.
@Suite(.simulated) struct RevocationClaimTests {
    private let house = ReplicaGroup()
    private let alice = AccountID("alice")
    private let claim = AccountRecord.Claim(incarnation: .random(), id: .random(), standsFor: .seconds(12))

    /// The keys of the tokens that wait to be revoked.
    private func waiting() async throws -> [RecordKey] {
        try await self.house.store.records(under: .revocations, after: nil, limit: 9).map(\.key)
    }

    /// Puts `claim` on a waiting token, as another replica does.
    private func put(_ claim: AccountRecord.Claim, on key: RecordKey) async throws {
        let stored = try #require(try await self.house.records.read(key))
        var record = try RevocationRecord(decoding: stored.plaintext)
        record.claim = claim
        _ = try await self.house.records.write(record.encoded(), at: key, expecting: stored.version)
    }

    @Test func `with two replicas and a slow provider, each token is sent to the provider once`() async throws {
        let (one, other) = (self.house.replica("a"), self.house.replica("b"))
        try await self.house.put("alice")
        self.house.provider.hold()
        try await self.house.run([one, other]) {
            defer { self.house.provider.release() }
            let report = try await one.kills.kill(.all, reason: "drill", streams: .abort, wait: .zero)
            // A replica that finds the other one at a record tries again after a while.
            try await until("the provider to be asked") { self.house.provider.asked.count == 2 }
            for _ in 1...20 {
                for replica in [one, other] { replica.kills.lookForKilledTokens(of: self.alice) }
                await self.house.clock.pass(.seconds(1))
            }
            #expect(Set(self.house.provider.asked) == ["rt-alice", "at-alice"])
            #expect(self.house.provider.asked.count == 2)

            self.house.provider.release()
            try await until("both to be revoked") {
                try await one.kills.report(on: report.id).tokens.revoked == 2
            }
            #expect(self.house.provider.asked.count == 2)
        }
    }

    /// Kills an account at an unreachable provider, and puts another replica's claim on one of its tokens.
    private func whenClaimed(
        by one: Replica,
        _ claim: AccountRecord.Claim,
        _ body: (RecordKey, KillID) async throws -> Void
    ) async throws {
        try await self.house.put("alice")
        self.house.provider.answer(.unreachable(.noKnownReason))
        try await self.house.run([one]) {
            let report = try await one.kills.kill(.all, reason: "drill", streams: .abort, wait: .zero)
            try await until("both to have been asked about") {
                try await one.kills.report(on: report.id).tokens.unreachable == 2
            }
            let key = try #require(try await self.waiting().first)
            try await self.put(claim, on: key)
            self.house.provider.answer(.revoked)
            try await body(key, report.id)
        }
    }

    @Test func `no replica asks about a token with another replica's claim until the claim has lapsed`() async throws {
        let one = self.house.replica("a")
        try await self.whenClaimed(by: one, self.claim) { key, kill in
            let claimedAt = self.house.clock.now
            try await until("the other to be revoked", within: .seconds(2)) {
                try await one.kills.report(on: kill).tokens.revoked == 1
            }
            #expect(try await self.waiting() == [key])
            try await until("this one to be revoked", within: .seconds(20)) {
                try await self.waiting().isEmpty
            }
            #expect(claimedAt.duration(to: self.house.clock.now) >= .seconds(12))
        }
    }

    @Test func `a claim of a process that has certainly ended is broken at once`() async throws {
        let endless = AccountRecord.Claim(incarnation: .random(), id: .random(), standsFor: .seconds(86_400_000))
        let one = self.house.replica("a", witness: AllDeadWitness())
        try await self.whenClaimed(by: one, endless) { _, _ in
            try await until("both to be revoked", within: .seconds(2)) {
                try await self.waiting().isEmpty
            }
        }
    }

    @Test func `a kill does not break the claim of a refresh until the claim is no longer renewed`()
        async throws
    {
        let one = self.house.replica("a", lease: .seconds(36_000))
        try await self.house.put("alice", claim: self.claim)
        try await self.house.run([one]) {
            _ = try await one.kills.kill(.all, reason: "drill", streams: .abort, wait: .zero)
            try await until("the tokens to be taken") {
                try await self.house.vault.read(self.alice)?.record.tokens == nil
            }
            for _ in 1...8 {
                await self.house.clock.pass(.seconds(4))
                let entry = try #require(try await self.house.vault.read(self.alice))
                try #require(entry.record.claim == self.claim)
                _ = try await self.house.vault.write(entry.record, for: self.alice, expecting: entry.version)
            }
            let renewedAt = self.house.clock.now
            try await self.untilUnclaimed()
            #expect(renewedAt.duration(to: self.house.clock.now) >= .seconds(12))
        }
    }

    @Test func `after a process was stopped, its wait for a claim counts from the end of the stop`() async throws {
        let one = self.house.replica("a", lease: .seconds(36_000))
        try await self.house.put("alice", claim: self.claim)
        try await self.house.run([one]) {
            _ = try await one.kills.kill(.all, reason: "drill", streams: .abort, wait: .zero)
            await self.house.clock.pass(.seconds(3))

            self.house.clock.skip(.seconds(60))
            let stoppedUntil = self.house.clock.now
            try await self.untilUnclaimed()
            #expect(stoppedUntil.duration(to: self.house.clock.now) >= .seconds(12))
        }
    }

    private func untilUnclaimed() async throws {
        try await until("the claim to be broken", within: .seconds(20)) {
            try #require(try await self.house.vault.read(self.alice)).record.claim == nil
        }
    }
}
