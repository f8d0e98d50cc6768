import KillSwitch
import OAuth
import TestKit
import Testing
import TokenModel
import TokenStorage

/// What operators are shown of kills.
@Suite struct KillListingTests {
    private let house = Household()
    private let alice = KillScope.account(AccountID("alice"))

    @Test func `given a store that is away, a list of kills does not say that it is all`() async throws {
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

    @Test func `given a pending kill and a gateway that was started anew, its report names whom the list has`()
        async throws
    {
        let silent = self.house.replica("silent", lease: .seconds(36_000))
        try await silent.kills.start()
        let one = self.house.replica("a")
        try await self.house.run([one]) {
            _ = try await one.kills.kill(self.alice, reason: "drill", streams: .abort, wait: .seconds(1))
        }
        // It sees nothing through: that is not run.
        let next = self.house.replica("b")
        try await next.kills.start()

        let report = try #require(try await next.kills.reports().first)

        #expect(report.state == .pending)
        let pending = report.replicas.filter { $0.state == .pending }
        #expect(pending.map(\.name) == ["silent"])
        #expect(pending.allSatisfy { $0.until != nil })
    }

    @Test func `given a revival, the kill that it lifted says when, and no other`() async throws {
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

    @Test func `given a kill of another replica's, it is reported as soon as it stands`() async throws {
        let (one, other) = (
            self.house.replica("a", lease: .seconds(36_000)), self.house.replica("b", lease: .seconds(36_000))
        )
        try await self.house.run([one, other]) {
            for _ in 0..<20 {
                let kill = try await one.kills.kill(.all, reason: "drill", streams: .abort, wait: .zero)
                #expect(try await other.kills.report(on: kill.id).id == kill.id)
                _ = try await other.kills.revocations(of: kill.id)
            }
            await #expect(throws: KillSwitchError(.noSuchKill, "")) { try await other.kills.report(on: .random()) }
        }
    }

    @Test func `given what was said of a complete kill that does not open, it is complete, and hides no other`()
        async throws
    {
        let one = self.house.replica("a")
        try await self.house.run([one]) {
            let first = try await one.kills.kill(.all, reason: "drill", streams: .abort, wait: .seconds(36_000))
            #expect(first.state == .complete)
            self.house.store.fail(.spoiled, at: .killEnd(first.epoch.rawValue))
            let next = try await one.kills.kill(.all, reason: "drill", streams: .abort, wait: .seconds(36_000))
            let reports = try await one.kills.reports()
            #expect(reports.map(\.id) == [next.id, first.id])
            #expect(reports.allSatisfy { $0.state == .complete && $0.store == .reachable })
        }
    }

    @Test func `given tokens that are written down and have not left their account, the report counts each once`()
        async throws
    {
        let one = self.house.replica("a")
        try await self.house.put("alice")
        self.house.provider.answer(.unreachable(.noKnownReason))
        // The sweep writes them down, and can't empty the account.
        self.house.store.fail(.full, at: .account("alice"))
        try await self.house.run([one]) {
            let kill = try await one.kills.kill(self.alice, reason: "drill", streams: .abort, wait: .seconds(1))
            try await eventually("the tokens to be written down") {
                try await self.house.store.records(under: .revocations, after: nil, limit: 9).count == 2
            }
            let tokens = try await one.kills.report(on: kill.id).tokens
            #expect(tokens.waiting + tokens.unreachable == 2)
        }
    }

    @Test func `given such a record and a replica that has not stopped, the kill is pending all the same`() async throws
    {
        let silent = self.house.replica("silent", lease: .seconds(36_000))
        try await silent.kills.start()
        let key = RecordKey.killEnd(1)
        _ = try await self.house.records.write(Secret("what nobody has said"), at: key, expecting: nil)
        let one = self.house.replica("a")
        try await self.house.run([one]) {
            let kill = try await one.kills.kill(.all, reason: "drill", streams: .abort, wait: .seconds(5))
            #expect(kill.state == .pending)
        }
        // Nor does one that starts later believe it.
        let next = self.house.replica("b")
        try await next.kills.start()
        #expect(try await next.kills.reports().map(\.state) == [.pending])
    }
}
