import KillSwitch
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
            self.house.store.become(.away)
            let away = await one.kills.listing()
            #expect(!away.isWhole && away.reports.isEmpty)
            self.house.store.become(.good)
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
}
