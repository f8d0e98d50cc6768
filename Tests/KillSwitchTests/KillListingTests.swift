import KillSwitch
import OAuth
import Simulation
import TestKit
import Testing
import TokenModel
import TokenStorage

/// The information about kills that operators see.
@Suite(.simulated) struct KillListingTests {
    private let house = ReplicaGroup()
    private let alice = KillScope.account(AccountID("alice"))

    @Test func `a list of kills is marked as incomplete while the store is unreachable`() async throws {
        let one = self.house.replica("a")
        try await self.house.run([one]) {
            let before = await one.kills.listing()
            #expect(before.isWhole && before.reports.isEmpty)
            self.house.store.fail(.away)
            let away = await one.kills.listing()
            #expect(!away.isWhole && away.reports.isEmpty)
            self.house.store.recover()
            let after = await one.kills.listing()
            #expect(after.isWhole)
        }
    }

    @Test func `after a restart, the report of a pending kill names the replicas in the list`()
        async throws
    {
        let silent = self.house.replica("silent", lease: .seconds(36_000))
        try await silent.kills.start()
        let one = self.house.replica("a")
        try await self.house.run([one]) {
            _ = try await one.kills.kill(self.alice, reason: "drill", streams: .abort, wait: .seconds(1))
        }
        // The next gateway only starts and does not run, so it does not complete the kill.
        let next = self.house.replica("b")
        try await next.kills.start()

        let report = try #require(try await next.kills.reports().first)

        #expect(report.state == .pending)
        let pending = report.replicas.filter { $0.state == .pending }
        #expect(pending.map(\.name) == ["silent"])
        #expect(pending.allSatisfy { $0.until != nil })
    }

    @Test func `only the kill that a revival lifted has the time of the revival`() async throws {
        let one = self.house.replica("a")
        try await self.house.run([one]) {
            for scope in [self.alice, .account(AccountID("bob"))] {
                _ = try await one.kills.kill(scope, reason: "drill", streams: .abort, wait: .seconds(1))
            }
            try await one.kills.revive(self.alice, reason: "over")
            _ = try await one.kills.kill(self.alice, reason: "again", streams: .abort, wait: .seconds(1))

            let reports = try await one.kills.reports()

            #expect(reports.map { $0.revivedAt != nil } == [false, false, true])
            #expect(reports.last?.scope == self.alice)
        }
    }

    @Test func `a kill of another replica is reported as soon as it is stored`() async throws {
        let (one, other) = (self.house.replica("a"), self.house.replica("b"))
        try await self.house.run([one, other]) {
            for _ in 0..<20 {
                let kill = try await one.kills.kill(.all, reason: "drill", streams: .abort, wait: .zero)
                #expect(try await other.kills.report(on: kill.id).id == kill.id)
                _ = try await other.kills.revocations(of: kill.id)
            }
            await #expect(throws: KillSwitchError(.noSuchKill, "")) { try await other.kills.report(on: .random()) }
        }
    }

    @Test func `a kill whose end record can't be opened is complete and hides no other kill`()
        async throws
    {
        let one = self.house.replica("a")
        try await self.house.run([one]) {
            let first = try await one.kills.kill(.all, reason: "drill", streams: .abort, wait: .seconds(5))
            #expect(first.state == .complete)
            self.house.store.fail(.spoiled, at: .killEnd(first.epoch.rawValue))
            let next = try await one.kills.kill(.all, reason: "drill", streams: .abort, wait: .seconds(5))
            let reports = try await one.kills.reports()
            #expect(reports.map(\.id) == [next.id, first.id])
            #expect(reports.allSatisfy { $0.state == .complete && $0.store == .reachable })
        }
    }

    @Test func `tokens that are written down but still in their account are counted once`()
        async throws
    {
        let one = self.house.replica("a")
        try await self.house.put("alice")
        self.house.provider.answer(.unreachable(.noKnownReason))
        // The sweep writes the tokens down but can't remove them from the account.
        self.house.store.fail(.full, at: .account("alice"))
        try await self.house.run([one]) {
            let kill = try await one.kills.kill(self.alice, reason: "drill", streams: .abort, wait: .seconds(1))
            try await until("the tokens to be written down") {
                try await self.house.store.records(under: .revocations, after: nil, limit: 9).count == 2
            }
            let tokens = try await one.kills.report(on: kill.id).tokens
            #expect(tokens.waiting + tokens.unreachable == 2)
        }
    }

    @Test func `a kill with an invalid end record and an unfenced replica stays pending`() async throws {
        let silent = self.house.replica("silent", lease: .seconds(36_000))
        try await silent.kills.start()
        let key = RecordKey.killEnd(1)
        _ = try await self.house.records.write(Secret("what nobody has said"), at: key, expecting: nil)
        let one = self.house.replica("a")
        try await self.house.run([one]) {
            let kill = try await one.kills.kill(.all, reason: "drill", streams: .abort, wait: .seconds(5))
            #expect(kill.state == .pending)
        }
        // A replica that starts later does not trust the record either.
        let next = self.house.replica("b")
        try await next.kills.start()
        #expect(try await next.kills.reports().map(\.state) == [.pending])
    }
}
