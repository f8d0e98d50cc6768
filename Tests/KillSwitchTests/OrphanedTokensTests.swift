import KillSwitch
import OAuth
import Simulation
import TestKit
import Testing
import TokenModel

/// Killed tokens whose provider, or the client they were made for, is not configured any more.
@Suite(.simulated) struct OrphanedTokensTests {
    private let house = ReplicaGroup()
    private let alice = KillScope.account(AccountID("alice"))

    @Test func `no provider is asked for tokens of an unconfigured provider, and the log says so once`()
        async throws
    {
        // Given tokens whose provider is no longer configured
        let one = self.house.replica("a")
        try await self.house.put("alice", provider: "gone")
        try await self.house.run([one]) {
            // When they are killed and several sweeps are over
            let report = try await one.kills.kill(self.alice, reason: "drill", streams: .abort, wait: .seconds(1))
            await self.house.clock.pass(.seconds(300))
            let tokens = try await one.kills.revocations(of: report.id).records
            #expect(tokens.count == 2)
            // Then what their records say was written once
            #expect(tokens.allSatisfy { $0.tries == 1 && $0.outcome == .unreachable })

            // And the log does not claim that they were sent anywhere, and has one warning per token
            #expect(self.house.provider.asked.isEmpty)
            let lines = self.house.log.lines
            #expect(!lines.contains { $0.contains("was taken to its provider") })
            let told = lines.filter { $0.hasPrefix("warning nobody was asked to revoke a killed token") }
            #expect(told.count == 2)
            #expect(told.allSatisfy { $0.contains("provider.name=gone") })
            #expect(told.allSatisfy { $0.contains("revocation.reason=not_configured") })
        }
    }

    @Test func `tokens of an unconfigured provider are given up after a day`() async throws {
        let one = self.house.replica("a")
        try await self.house.put("alice", provider: "gone")
        try await self.house.run([one]) {
            let report = try await one.kills.kill(self.alice, reason: "drill", streams: .abort, wait: .seconds(1))
            try await until("both to be told") {
                try await one.kills.report(on: report.id).tokens.unreachable == 2
            }
            self.house.clock.jumpWall(by: .seconds(25 * 3_600))
            let jumpedAt = self.house.clock.now
            try await until("both to be given up", within: .seconds(1_200)) {
                try await one.kills.report(on: report.id).tokens.givenUp == 2
            }
            // The wall clock alone may be wrong.
            #expect(jumpedAt.duration(to: self.house.clock.now) > .seconds(400))
        }
    }

    @Test func `removing an unreachable provider from the configuration is logged`() async throws {
        // Given killed tokens whose provider was asked without success
        let one = self.house.replica("a")
        try await self.house.put("alice")
        self.house.provider.answer(.unreachable(.connectFailed))
        try await self.house.run([one]) {
            let report = try await one.kills.kill(self.alice, reason: "drill", streams: .abort, wait: .seconds(1))
            try await until("it to have been asked twice for each", within: .seconds(2)) {
                let tokens = try await one.kills.revocations(of: report.id).records
                return tokens.count == 2 && tokens.allSatisfy { $0.tries > 1 }
            }

            // When the provider is removed from the configuration and several sweeps are over
            self.house.provider.goAway()
            await self.house.clock.pass(.seconds(300))

            // Then the log has one warning per token
            let told = self.house.log.lines.filter { $0.hasPrefix("warning nobody was asked to revoke a killed token") }
            #expect(told.count == 2)
        }
    }

    @Test func `tokens of a client that is not configured any more hold up no other of the provider`() async throws {
        let one = self.house.replica("a")
        for number in 0..<150 { try await self.house.put("old-\(number)", client: "old-app") }
        try await self.house.put("good")
        try await self.house.run([one]) {
            let report = try await one.kills.kill(.all, reason: "drill", streams: .abort, wait: .seconds(1))
            // They take no turn, and the provider is not left alone because of them.
            try await until("all to have had their turn", within: .zero) {
                let tokens = try await one.kills.report(on: report.id).tokens
                return tokens.revoked == 2 && tokens.unreachable == 300
            }
            #expect(Set(self.house.provider.asked) == ["rt-good", "at-good"])
        }
    }
}
