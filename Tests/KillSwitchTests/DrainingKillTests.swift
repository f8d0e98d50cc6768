import KillSwitch
import Simulation
import TestKit
import Testing
import TokenModel
import TokenStorage

/// Kills that let requests in progress end.
@Suite(.simulated) struct DrainingKillTests {
    private let house = ReplicaGroup()
    private let alice = KillScope.account(AccountID("alice"))

    @Test func `an import or another kill during a draining kill does not cut the draining requests`() async throws {
        let one = self.house.replica("a")
        let (alice, bob, acme) = (AccountID("alice"), AccountID("bob"), ProviderID("acme"))
        try await self.house.run([one]) {
            _ = try await one.kills.kill(self.alice, reason: "drill", streams: .drain, wait: .seconds(1))
            try await one.kills.replaced(bob, by: .random())
            try await one.kills.revive(self.alice, reason: "over")
            _ = try await one.kills.kill(.account(bob), reason: "drill", streams: .abort, wait: .seconds(1))
            #expect(one.fence.epochs.verdict(on: .start, of: bob, at: acme) == .killed)
            #expect(!one.fence.epochs.mayEnd(with: .start, of: bob, at: acme))
            #expect(one.fence.all.allSatisfy { $0.mayEnd(with: .start, of: alice, at: acme) })

            _ = try await one.kills.kill(.all, reason: "drill", streams: .abort, wait: .seconds(1))
            #expect(!one.fence.epochs.mayEnd(with: .start, of: alice, at: acme))
        }
    }

    @Test func `a kept draining kill does not cut requests, neither here nor in the process that takes the kill over`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let copy = KillLogFile(in: directory.path, of: "store")
        let one = self.house.replica("a", copy: copy)
        let (alice, acme) = (AccountID("alice"), ProviderID("acme"))
        try await self.house.run([one]) {
            self.house.store.fail(.full)
            _ = try await one.kills.kill(self.alice, reason: "drill", streams: .drain, wait: .seconds(1))
            // The sweep of each minute looks for kept kills.
            await self.house.clock.pass(.seconds(60))
        }
        let next = self.house.replica("b", copy: copy)
        await #expect(throws: StoreError.self) { try await next.kills.start() }
        for replica in [one, next] {
            #expect(replica.fence.epochs.isKilled(self.alice))
            #expect(replica.fence.all.allSatisfy { $0.mayEnd(with: .start, of: alice, at: acme) })
        }
    }
}
