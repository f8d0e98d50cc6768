import KillSwitch
import OAuth
import TestKit
import Testing
import TokenModel
import TokenStorage

/// Claims on killed accounts and on tokens that are being revoked.
@Suite struct RevocationClaimTests {
    private let house = ReplicaGroup()
    private let alice = AccountID("alice")
    private let claim = AccountRecord.Claim(incarnation: .random(), id: .random(), standsFor: .seconds(12))

    /// The keys of the tokens that wait to be revoked.
    private func waiting() async throws -> [RecordKey] {
        try await self.house.store.records(under: .revocations, after: nil, limit: 9).map(\.key)
    }

    /// Puts `claim` on a waiting token, as another replica does.
    private func put(_ claim: AccountRecord.Claim, on key: RecordKey) async throws {
        try await eventually("a claim to stand") {
            let stored = try #require(try await self.house.records.read(key))
            var record = try RevocationRecord(decoding: stored.plaintext)
            record.claim = claim
            do throws(StoreError) {
                _ = try await self.house.records.write(record.encoded(), at: key, expecting: stored.version)
                return true
            } catch {
                return false
            }
        }
    }

    @Test func `with two replicas and a slow provider, each token is sent to the provider once`() async throws {
        let (one, other) = (self.house.replica("a"), self.house.replica("b"))
        try await self.house.put("alice")
        self.house.provider.hold()
        try await self.house.runByHand([one, other]) {
            defer { self.house.provider.release() }
            let report = try await one.kills.kill(.all, reason: "drill", streams: .abort, wait: .zero)
            let clock = self.house.clock
            // A replica that finds the other one at a record tries again after a while.
            try await clock.advance(bySleepersWithin: .seconds(5), until: "the provider to be asked") {
                self.house.provider.asked.count == 2
            }
            let later = clock.now.advanced(by: .seconds(20))
            try await clock.advance(bySleepersWithin: .seconds(1), until: "20 s to pass") {
                other.kills.lookForKilledTokens(of: AccountID("alice"))
                one.kills.lookForKilledTokens(of: AccountID("alice"))
                return clock.now > later
            }
            #expect(Set(self.house.provider.asked) == ["rt-alice", "at-alice"])
            #expect(self.house.provider.asked.count == 2)

            self.house.provider.release()
            try await eventually("both to be revoked") {
                try await one.kills.report(on: report.id).tokens.revoked == 2
            }
            #expect(self.house.provider.asked.count == 2)
        }
    }

    /// Kills an account at an unreachable provider, and puts another replica's claim on one of its tokens.
    private func whenClaimed(
        by one: Replica,
        _ claim: AccountRecord.Claim,
        _ body: @escaping @Sendable (RecordKey, KillID) async throws -> Void
    ) async throws {
        try await self.house.put("alice")
        self.house.provider.answer(.unreachable(.noKnownReason))
        try await self.house.runByHand([one]) {
            let report = try await one.kills.kill(.all, reason: "drill", streams: .abort, wait: .zero)
            try await eventually("both to have been asked about") {
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
            try await self.house.clock.advance(bySleepersWithin: .seconds(2), until: "the other to be revoked") {
                try await one.kills.report(on: kill).tokens.revoked == 1
            }
            #expect(try await self.waiting() == [key])
            try await self.house.clock.advance(bySleepersWithin: .seconds(2), until: "this one to be revoked") {
                try await self.waiting().isEmpty
            }
            #expect(claimedAt.duration(to: self.house.clock.now) >= .seconds(12))
        }
    }

    @Test func `a claim of a process that has certainly ended is broken at once`() async throws {
        let endless = AccountRecord.Claim(incarnation: .random(), id: .random(), standsFor: .seconds(86_400_000))
        let one = self.house.replica("a", witness: AllDeadWitness())
        try await self.whenClaimed(by: one, endless) { _, _ in
            try await self.house.clock.advance(bySleepersWithin: .seconds(2), until: "both to be revoked") {
                try await self.waiting().isEmpty
            }
        }
    }

    @Test func `a kill does not break the claim of a refresh until the claim is no longer renewed`()
        async throws
    {
        let one = self.house.replica("a", lease: .seconds(36_000))
        try await self.house.put("alice", claim: self.claim)
        try await self.house.runByHand([one]) {
            _ = try await one.kills.kill(.all, reason: "drill", streams: .abort, wait: .zero)
            try await eventually("the tokens to be taken") {
                try await self.house.vault.read(self.alice)?.record.tokens == nil
            }
            var renewedAt = self.house.clock.now
            let start = renewedAt
            while start.duration(to: self.house.clock.now) < .seconds(30) {
                try await self.house.passTime(untilRead: .account("alice"))
                let entry = try #require(try await self.house.vault.read(self.alice))
                try #require(entry.record.claim == self.claim)
                guard renewedAt.duration(to: self.house.clock.now) >= .seconds(4) else { continue }
                _ = try await self.house.vault.write(entry.record, for: self.alice, expecting: entry.version)
                renewedAt = self.house.clock.now
            }
            while try await self.house.vault.read(self.alice)?.record.claim != nil {
                try await self.house.passTime(untilRead: .account("alice"))
            }
            #expect(renewedAt.duration(to: self.house.clock.now) >= .seconds(12))
        }
    }

    @Test func `after a process was stopped, its wait for a claim counts from the end of the stop`() async throws {
        let one = self.house.replica("a", lease: .seconds(36_000))
        try await self.house.put("alice", claim: self.claim)
        try await self.house.runByHand([one]) {
            _ = try await one.kills.kill(.all, reason: "drill", streams: .abort, wait: .zero)
            for _ in 0..<3 { try await self.house.passTime(untilRead: .account("alice")) }

            self.house.clock.advance(by: .seconds(60))
            let stoppedUntil = self.house.clock.now
            while try await self.house.vault.read(self.alice)?.record.claim != nil {
                try await self.house.passTime(untilRead: .account("alice"))
            }
            #expect(stoppedUntil.duration(to: self.house.clock.now) >= .seconds(12))
        }
    }
}
