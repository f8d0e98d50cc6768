import KillSwitch
import OAuth
import Simulation
import TestKit
import Testing
import TokenModel
import TokenStorage

/// Revocation of a killed grant's tokens at the provider.
@Suite(.simulated) struct KilledTokensTests {
    private let house = ReplicaGroup()
    private let alice = KillScope.account(AccountID("alice"))

    /// Runs `body` after an account was killed and the provider could not be reached for its two tokens.
    private func whenUnreached(_ body: (Replica, KillReport) async throws -> Void) async throws {
        let one = self.house.replica("a")
        try await self.house.put("alice")
        self.house.provider.answer(.unreachable(.noKnownReason))
        try await self.house.run([one]) {
            let report = try await one.kills.kill(self.alice, reason: "drill", streams: .abort, wait: .seconds(1))
            try await until("the provider to have been asked") {
                try await one.kills.report(on: report.id).tokens.unreachable == 2
            }
            try await body(one, report)
        }
    }

    @Test func `a revocation record that can't be opened does not stop the others or the report`() async throws {
        try await self.whenUnreached { one, report in
            let keys = try await self.house.store.records(under: .revocations, after: nil, limit: 9).map(\.key)
            self.house.store.fail(.spoiled, at: try #require(keys.first))
            // The record may have been read once more already.
            try await until("that one not to open", within: .seconds(2)) {
                self.house.log.lines.contains { $0.contains("could not be revoked now") }
            }
            self.house.provider.answer(.revoked)
            try await until("the other to be revoked", within: .seconds(5)) {
                try await one.kills.report(on: report.id).tokens.revoked == 1
            }
        }
    }

    @Test func `settled revocations are reported and removed from the pending list`() async throws {
        let one = self.house.replica("a")
        for account in ["alice", "bob"] { try await self.house.put(account) }
        try await self.house.run([one]) {
            func killAndRevoke(_ scope: KillScope) async throws -> KillReport {
                let report = try await one.kills.kill(scope, reason: "drill", streams: .abort, wait: .seconds(1))
                // Wait before the next kill, which would take over the tokens that are still in a record.
                try await until("the tokens of \(scope.text) to be revoked") {
                    try await one.kills.report(on: report.id).tokens.revoked == 2
                }
                return report
            }
            let report = try await killAndRevoke(self.alice)
            let other = try await killAndRevoke(.all)
            try await until("nothing to be left to be done") {
                try await self.house.store.records(under: .revocations, after: nil, limit: 9).isEmpty
            }
            for (kill, account) in [(report, "alice"), (other, "bob")] {
                let tokens = try await one.kills.revocations(of: kill.id).records
                #expect(tokens.map(\.account.rawValue) == [account, account])
                #expect(tokens.allSatisfy { $0.token == nil && $0.outcome == .revoked })
            }
            // Each token was revoked once, even while its record moved from one list to the other.
            #expect(self.house.provider.asked.count == 4)
        }
    }

    @Test func `an unreachable provider is asked again when the report says, until it responds`() async throws {
        try await self.whenUnreached { one, report in
            // Given tokens with several tries and a known next try
            var found: (at: WallTime, asked: Int)?
            try await until("the next try to be known", within: .seconds(20)) {
                found = try await self.nextTry(one)
                return found != nil
            }
            let (next, asked) = try #require(found)

            // Then the report has a time as well, and the provider is asked when that time has come
            try await until("the report to say so") {
                try await one.kills.report(on: report.id).tokens.nextTryAt != nil
            }
            try await until("somebody to be asked", within: .seconds(20)) { self.house.provider.asked.count > asked }
            #expect(self.house.clock.wall == next)

            // And no time is reported once nothing waits any more
            self.house.provider.answer(.revoked)
            try await until("both tokens to be revoked", within: .seconds(30)) {
                try await one.kills.report(on: report.id).tokens.revoked == 2
            }
            let settled = try await one.kills.report(on: report.id)
            #expect(settled.tokens.nextTryAt == nil)
        }
    }

    @Test
    func
        `given a provider that refuses the client, the log warns, the report says so, and it is asked until it does not`()
        async throws
    {
        // Given a client whose secret is wrong
        let one = self.house.replica("a")
        try await self.house.put("alice")
        self.house.provider.answer(.clientRefused(.noKnownReason))
        try await self.house.run([one]) {
            // When tokens are killed
            let report = try await one.kills.kill(self.alice, reason: "drill", streams: .abort, wait: .seconds(1))

            // Then the tokens are reported as refused, and not as unreachable
            try await until("both to be asked about twice", within: .seconds(2)) {
                let tokens = try await one.kills.revocations(of: report.id).records
                return tokens.count == 2 && tokens.allSatisfy { $0.tries > 1 && $0.token != nil }
            }
            let refused = try await one.kills.report(on: report.id).tokens
            #expect(refused.clientRefused == 2)
            #expect(refused.unreachable == 0)
            #expect(refused.total == 2)
            #expect(self.house.log.lines.count { $0.hasPrefix("warning a provider refuses the client") } == 2)

            // And the tokens are revoked when the secret is right
            self.house.provider.answer(.revoked)
            try await until("both to be revoked", within: .seconds(5)) {
                try await one.kills.report(on: report.id).tokens.revoked == 2
            }
        }
    }

    @Test func `killed tokens that no replica has written down yet count as tokens to revoke`() async throws {
        // Given a kill whose sweep is over, and tokens stored later that the kill log makes dead
        let one = self.house.replica("a")
        let bob = AccountID("bob")
        self.house.provider.answer(.unreachable(.noKnownReason))
        try await self.house.run([one]) {
            _ = try await one.kills.kill(.account(bob), reason: "drill", streams: .abort, wait: .seconds(1))
            try await self.house.put("bob")

            // Then the tokens wait, each once, before a sweep finds them, meanwhile and afterwards
            one.kills.lookForKilledTokens(of: bob)
            for _ in 0..<100 {
                let waiting = try await one.kills.tokensToRevoke(of: bob)
                #expect(waiting.count == 2 && Set(waiting.map(\.kind)) == [.refreshToken, .accessToken])
            }
            #expect(try await one.kills.tokensToRevoke(of: AccountID("alice")).isEmpty)
        }
    }

    /// The earlier next try of an account's two tokens, and the number of requests so far. `nil` while a request is in
    /// progress, or before more than six requests.
    private func nextTry(_ one: Replica) async throws -> (at: WallTime, asked: Int)? {
        let asked = self.house.provider.asked.count
        let times = try await one.kills.tokensToRevoke(of: AccountID("alice")).compactMap(\.nextTryAt)
        guard asked > 6, times.count == 2, let next = times.min(), self.house.clock.wall < next,
            self.house.provider.asked.count == asked
        else { return nil }
        return (next, asked)
    }

    @Test func `an unreachable provider is still asked after the wall clock jumps ahead by years`() async throws {
        try await self.whenUnreached { one, report in
            self.house.clock.jumpWall(by: .seconds(86_400 * 3_650))
            self.house.provider.answer(.revoked)
            try await until("both tokens to be revoked", within: .seconds(2)) {
                try await one.kills.report(on: report.id).tokens.revoked == 2
            }
        }
    }

    @Test func `a provider that is down for an hour is asked again when it is back`() async throws {
        try await self.whenUnreached { one, report in
            await self.house.clock.pass(.seconds(3_600))
            self.house.provider.answer(.revoked)
            try await until("both tokens to be revoked", within: .seconds(120)) {
                try await one.kills.report(on: report.id).tokens.revoked == 2
            }
        }
    }

    @Test func `tokens of a provider that stays unreachable are given up and reported as given up`() async throws {
        try await self.whenUnreached { one, report in
            // Given that the provider is still asked
            #expect(try await one.kills.report(on: report.id).tokens.givenUp == 0)

            // When a day has passed
            self.house.clock.jumpWall(by: .seconds(25 * 3_600))

            // Then the report counts each token once
            try await until("both tokens to be given up", within: .seconds(600)) {
                try await one.kills.report(on: report.id).tokens.givenUp == 2
            }
            // and the log names each token, for a person who can end its grant
            try await until("the log to say so") {
                self.house.log.lines.count { $0.hasPrefix("warning a killed token is given up") } == 2
            }
            let tokens = try await one.kills.report(on: report.id).tokens
            #expect(tokens.unreachable == 2 && tokens.total == 2)
            let revocations = try await one.kills.revocations(of: report.id).records
            #expect(revocations.allSatisfy { $0.token == nil })

            // And the provider is not asked again, although several sweeps pass
            try await until("nothing to be left to be done") {
                try await self.house.store.records(under: .revocations, after: nil, limit: 9).isEmpty
            }
            let asked = self.house.provider.asked.count
            await self.house.clock.pass(.seconds(180))
            #expect(self.house.provider.asked.count == asked)
            #expect(try await self.house.store.records(under: .revocations, after: nil, limit: 9).isEmpty)
        }
    }

    @Test(arguments: [
        (RevocationVerdict.revoked, "revoked"), (.refused(.noKnownReason), "refused"), (.unsupported, "unsupported"),
        (.unreachable(.noKnownReason), "unreachable"), (.clientRefused(.noKnownReason), "client_refused"),
    ])
    func `the report names each verdict of the provider`(_ verdict: RevocationVerdict, _ outcome: String)
        async throws
    {
        let one = self.house.replica("a")
        try await self.house.put("alice")
        self.house.provider.answer(verdict)
        try await self.house.run([one]) {
            let report = try await one.kills.kill(self.alice, reason: "drill", streams: .abort, wait: .seconds(1))
            try await until("both tokens to have an outcome") {
                let tokens = try await one.kills.revocations(of: report.id).records
                return tokens.count == 2 && tokens.allSatisfy { $0.outcome.rawValue == outcome }
            }
        }
    }

    @Test func `tokens stored after a kill was lifted are not touched`() async throws {
        let one = self.house.replica("a")
        try await self.house.run([one]) {
            let report = try await one.kills.kill(self.alice, reason: "drill", streams: .abort, wait: .seconds(1))
            try await one.kills.revive(self.alice, reason: "over")
            try await self.house.put("alice", observedEpoch: one.kills.epochs.last.rawValue)
            one.kills.lookForKilledTokens(of: AccountID("alice"))
            await self.house.clock.pass(.seconds(60))
            #expect(try await self.house.vault.read(AccountID("alice"))?.record.tokens != nil)
            #expect(try await one.kills.report(on: report.id).tokens.total == 0)
        }
    }

    @Test func `the log tells removed tokens from killed tokens`() async throws {
        // Given two accounts with tokens
        let one = self.house.replica("a")
        for account in ["alice", "bob"] { try await self.house.put(account) }
        try await self.house.run([one]) {
            // When the tokens of one are removed, and those of the other killed
            try await one.kills.removed(AccountID("alice"))
            one.kills.lookForKilledTokens(of: AccountID("alice"))
            try await one.kill(.account(AccountID("bob")))

            // Then the log tells which tokens are which
            try await until("all to have been taken there") {
                self.told("removed", of: "alice") == 2 && self.told("killed", of: "bob") == 2
            }
            #expect(self.told("killed", of: "alice") == 0)
        }
    }

    /// The number of an account's tokens that the log says were sent to their provider, with `taking` as the reason.
    private func told(_ taking: String, of account: String) -> Int {
        self.house.log.lines.count { line in
            line.contains("a \(taking) token was taken to its provider") && line.contains("account.name=\(account)")
        }
    }

    @Test func `if more tokens wait than are read at once, each is counted and listed for its account`()
        async throws
    {
        // Given many accounts at an unreachable provider
        let one = self.house.replica("a")
        let accounts = (0..<20).map { "account-\($0)" }
        for account in accounts { try await self.house.put(account) }
        self.house.provider.answer(.unreachable(.connectFailed))
        try await self.house.run([one]) {
            // When all accounts are killed
            let report = try await one.kills.kill(.all, reason: "drill", streams: .abort, wait: .seconds(1))

            // Then no token is missed
            try await until("all to be counted") {
                try await one.kills.report(on: report.id).tokens.unreachable == 40
            }
            for account in accounts {
                let waiting = try await one.kills.tokensToRevoke(of: AccountID(account))
                #expect(waiting.map(\.kind) == [.refreshToken, .accessToken], "\(account)")
            }
        }
    }
}
