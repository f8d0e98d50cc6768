import KillSwitch
import OAuth
import Simulation
import TestKit
import Testing
import TokenModel
import TokenStorage

/// Kills where there are many accounts.
@Suite(.simulated) struct ManyAccountsTests {
    private let house = ReplicaGroup()

    private func put(_ count: Int) async throws {
        for number in 0..<count { try await self.house.put("account-\(number)") }
    }

    private func killAll(_ one: Replica) async throws -> KillReport {
        try await one.kills.kill(.all, reason: "drill", streams: .abort, wait: .seconds(1))
    }

    private func calls(_ operation: FaultyTokenStore.Operation, _ place: String) -> Int {
        self.house.store.calls.count { $0.operation == operation && $0.place.hasPrefix(place) }
    }

    @Test func `a provider is asked no more often than its revoke_rate, and about refresh tokens first`() async throws {
        // Given 30 accounts, and a provider that is asked 5 times a second after the first 20
        let one = self.house.replica("a")
        try await self.put(30)
        self.house.provider.limit(to: RequestRate(perSecond: 5, burst: 20))
        try await self.house.run([one]) {
            let before = self.house.clock.now
            let report = try await self.killAll(one)
            try await until("all to be revoked", within: .seconds(20)) {
                try await one.kills.report(on: report.id).tokens.revoked == 60
            }
            // Then 40 of the 60 tokens took 8 s
            #expect(before.duration(to: self.house.clock.now) >= .seconds(8))
            // And no access token went before a refresh token
            let asked = self.house.provider.asked
            #expect(asked.prefix(30).allSatisfy { $0.hasPrefix("rt-") })
            #expect(Set(asked).count == 60 && asked.count == 60)
        }
    }

    @Test func `a provider that does not respond holds up no other`() async throws {
        let one = self.house.replica("a")
        try await self.put(40)
        try await self.house.put("other", provider: "gone")
        self.house.provider.hold()
        try await self.house.run([one]) {
            defer { self.house.provider.release() }
            let report = try await self.killAll(one)
            try await until("the other provider's to have had their turn") {
                try await one.kills.report(on: report.id).tokens.unreachable == 2
            }
            #expect(try await one.kills.report(on: report.id).tokens.revoked == 0)
        }
    }

    @Test func `an account whose tokens can't be stored for revocation is swept again`() async throws {
        let one = self.house.replica("a")
        try await self.put(3)
        try await self.house.run([one]) {
            await self.house.clock.pass(.seconds(70))
            // Given a store that does not take the first token
            self.house.store.fail(.full, [.write], under: .revocations, times: 1)
            let report = try await self.killAll(one)
            try await until("all to be revoked", within: .seconds(120)) {
                try await one.kills.report(on: report.id).tokens.revoked == 6
            }
            #expect(self.house.store.failedWrites == 1)
        }
    }

    @Test func `a provider that can't be reached is not asked about each token`() async throws {
        let one = self.house.replica("a")
        try await self.put(40)
        self.house.provider.answer(.unreachable(.connectFailed))
        try await self.house.run([one]) {
            let report = try await self.killAll(one)
            try await until("the provider to be left alone") {
                try await one.kills.report(on: report.id).tokens.nextTryAt != nil
            }
            // Requests that were under way, besides the 16 that tell.
            #expect(self.house.provider.asked.count < 60)
            #expect(try await one.kills.report(on: report.id).tokens.estimatedEnd == nil)
        }
    }

    @Test func `no token is given up before its provider was asked about it`() async throws {
        // Given more tokens than a provider was asked about that could not be reached for a day
        let one = self.house.replica("a")
        try await self.put(400)
        self.house.provider.answer(.unreachable(.connectFailed))
        try await self.house.run([one]) {
            let report = try await self.killAll(one)
            await self.house.clock.pass(.seconds(400))
            #expect(Set(self.house.provider.asked).count < 800)

            // When it can be reached again
            self.house.provider.answer(.revoked)
            self.house.clock.jumpWall(by: .seconds(25 * 3_600))

            // Then it is asked about each of the others
            try await until("all to be settled", within: .seconds(60)) {
                let tokens = try await one.kills.report(on: report.id).tokens
                return tokens.revoked + tokens.givenUp == 800
            }
            #expect(Set(self.house.provider.asked).count == 800)
        }
    }

    @Test func `the tokens of a kill are not counted as all while accounts are still looked through`() async throws {
        // Given a kill whose sweep is stuck at one account, after another's tokens were revoked
        let one = self.house.replica("a")
        try await self.put(2)
        try await self.house.run([one]) {
            await self.house.clock.pass(.seconds(70))
            self.house.store.fail(.stalled, [.write], at: .account("account-1"))
            defer { self.house.store.recover() }
            let report = try await self.killAll(one)
            try await until("the sweep to be stuck") { self.house.store.isStalled }
            // What is dropped meanwhile has the provider asked about all that waits.
            let dropped = try #require(try await self.house.vault.read(AccountID("account-1"))?.record)
            try await one.kills.storeForRevocation(dropped: dropped, AccountID("dropped"))
            try await until("what was found to be revoked") { self.house.provider.asked.count == 6 }

            // When minutes pass
            await self.house.clock.pass(.seconds(180))

            // Then the report does not say that all were found, until the sweep is over
            #expect(try await one.kills.report(on: report.id).tokens.isCollected == false)
            self.house.store.recover()
            try await until("all to be found") {
                let tokens = try await one.kills.report(on: report.id).tokens
                return tokens.isCollected && tokens.revoked == 6
            }
        }
    }

    @Test func `a kill is swept for from the moment at which a report knows it`() async throws {
        // Given a kill that this process has applied, and an entry before it that still tells a slow fence
        let one = self.house.replica("a")
        try await self.put(1)
        try await self.house.run([one]) {
            await self.house.clock.pass(.seconds(70))
            one.fence.stick(at: .replaced)
            defer { one.fence.release() }
            let log = KillLog(self.house.records)
            let entries = [
                KillEntry(
                    .replaced,
                    .account(AccountID("other")),
                    replacements: [KillEntry.Replacement(account: AccountID("other"), grant: .random())],
                    at: self.house.clock.wall
                ), KillEntry(.kill, .all, reason: "drill", streams: .abort, at: self.house.clock.wall),
            ]
            var last = one.kills.epochs.last
            for entry in entries { last = try await log.append(entry, behind: last) }
            try await until("the fence to be stuck") { one.fence.isWaitedFor }

            // When the sweep of each minute comes
            // Then it looks for the kill's tokens
            try await until("the tokens to be revoked", within: .seconds(120)) { self.house.provider.asked.count == 2 }
        }
    }

    @Test func `a kill is counted while another provider can't be reached`() async throws {
        // Given a kill whose count could not be written, so that only counting once more makes it right
        let one = self.house.replica("a")
        try await self.house.put("good")
        try await self.house.put("lost", provider: "gone")
        var kills: [KillReport] = []
        self.house.store.fail(.full, at: .killTally(1))
        try await self.house.run([one]) {
            for account in ["good", "lost"] {
                kills.append(try await one.kill(.account(AccountID(account))))
            }
            try await until("its tokens to be revoked") { self.house.provider.asked.count == 2 }
            try await until("only the other's to wait") {
                try await self.house.store.records(under: .revocations, after: nil, limit: 9).count == 2
            }
        }
        self.house.store.recover()
        let kill = try #require(kills.first)

        // When another process takes over while the other provider's tokens wait
        let next = self.house.replica("b")
        try await self.house.run([next]) {
            // Then it counts
            try await until("it to count") {
                try await next.kills.report(on: kill.id).tokens.revoked == 2
            }
        }
    }

    @Test func `the estimate for a kill counts the tokens of other kills that the provider may revoke first`()
        async throws
    {
        let one = self.house.replica("a")
        try await self.put(300)
        try await self.house.run([one]) {
            let first = try await self.killAll(one)
            try await until("the first to be revoked, and all to be found") {
                let tokens = try await one.kills.report(on: first.id).tokens
                return tokens.isCollected && tokens.revoked >= 150 && tokens.total == 600
            }
            try await self.house.put("late", observedEpoch: one.kills.epochs.last.rawValue)
            let late = KillScope.account(AccountID("late"))
            let second = try await one.kills.kill(late, reason: "drill", streams: .abort, wait: .seconds(1))
            try await until("its tokens to be found") {
                try await one.kills.report(on: second.id).tokens.waiting == 2
            }
            let (before, end) = (
                try #require(try await one.kills.report(on: first.id).tokens.estimatedEnd),
                try #require(try await one.kills.report(on: second.id).tokens.estimatedEnd)
            )
            #expect(self.house.clock.wall.duration(to: end) > .seconds(7))
            #expect(before == end)
        }
    }

    @Test func `while tokens are revoked, the report has an estimate`() async throws {
        let one = self.house.replica("a")
        try await self.put(30)
        self.house.provider.limit(to: RequestRate(perSecond: 5, burst: 20))
        try await self.house.run([one]) {
            let report = try await self.killAll(one)
            try await until("the first to be revoked, and all to be found") {
                let tokens = try await one.kills.report(on: report.id).tokens
                return tokens.isCollected && tokens.revoked == 20 && tokens.total == 60
            }
            let tokens = try await one.kills.report(on: report.id).tokens
            let end = try #require(tokens.estimatedEnd)
            #expect(tokens.perSecond == 5)
            let expected = Duration.seconds(tokens.waiting) / 5
            #expect(self.house.clock.wall.duration(to: end) == expected)
        }
    }

    @Test func `without a kill no account is read, and a kill of one reads only that one`() async throws {
        let one = self.house.replica("a")
        try await self.put(20)
        try await self.house.run([one]) {
            await self.house.clock.pass(.seconds(300))
            #expect(self.calls(.records, "accounts/") == 0)
            let report = try await one.kill(.account(AccountID("account-7")))
            try await until("its tokens to be revoked") {
                try await one.kills.report(on: report.id).tokens.revoked == 2
            }
            #expect(self.calls(.records, "accounts/") == 0)
            #expect(self.calls(.read, "accounts/account-7") > 0)
            #expect(self.calls(.read, "accounts/account-8") == 0)
        }
    }

    @Test func `the report is right after a process ended before it had counted, and reads no token`() async throws {
        // Given a kill whose count could not be written
        let one = self.house.replica("a")
        try await self.put(10)
        var report: KillReport?
        self.house.store.fail(.full, at: .killTally(1))
        try await self.house.run([one]) {
            report = try await self.killAll(one)
            try await until("all to be revoked") { self.house.provider.asked.count == 20 }
            try await until("nothing to be left") {
                try await self.house.store.records(under: .revocations, after: nil, limit: 1).isEmpty
            }
        }
        self.house.store.recover()
        let kill = try #require(report)

        // When another process takes over
        let next = self.house.replica("b")
        try await self.house.run([next]) {
            try await until("it to count") {
                try await next.kills.report(on: kill.id).tokens.revoked == 20
            }
            let listings = self.calls(.records, "revoked/")
            let tokens = try await next.kills.report(on: kill.id).tokens
            #expect(tokens.total == 20 && tokens.isCollected && tokens.isCounted)

            // Then a report lists nothing, and minutes later nothing was counted again
            await self.house.clock.pass(.seconds(300))
            #expect(self.calls(.records, "revoked/") == listings)
        }
    }

    @Test func `what the store does not take of a count is added when it is back`() async throws {
        // Given that all tokens are revoked while the count can't be written
        let (one, other) = (self.house.replica("a"), self.house.replica("b"))
        try await self.put(10)
        self.house.store.fail(.away, at: .killTally(1))
        try await self.house.run([one, other]) {
            let kill = try await self.killAll(one)
            try await until("all to be revoked") { self.house.provider.asked.count == 20 }
            await self.house.clock.pass(.seconds(5))

            self.house.store.recover()

            try await until("the other replica to know", within: .seconds(90)) {
                try await other.kills.report(on: kill.id).tokens.revoked == 20
            }
        }
    }

    @Test func `the tokens of a kill come in pages, each once`() async throws {
        let one = self.house.replica("a")
        try await self.put(8)
        try await self.house.run([one]) {
            let report = try await self.killAll(one)
            try await until("all to be revoked") {
                try await one.kills.report(on: report.id).tokens.revoked == 16
            }
            var found: [String] = []
            var after: String?
            repeat {
                let page = try await one.kills.revocations(of: report.id, after: after, limit: 7)
                #expect(page.records.count <= 7)
                found += page.records.map { "\($0.account) \($0.kind.rawValue)" }
                after = page.next
            } while after != nil
            #expect(found.count == 16)
            #expect(Set(found).count == 16)
        }
    }

    @Test func `256 imports that read the log at once share its reads`() async throws {
        let one = self.house.replica("a")
        try await self.house.run([one]) {
            try await until("the start to be over") { one.kills.holdsLease }
            let before = self.calls(.records, "kills/") + self.calls(.read, "kills/")
            try await withThrowingDiscardingTaskGroup { tasks in
                for _ in 0..<256 { tasks.addTask { _ = try await one.kills.read() } }
            }
            let reads = self.calls(.records, "kills/") + self.calls(.read, "kills/") - before
            #expect(reads > 0 && reads < 30)
        }
    }

    @Test func `2,500 imports that replace tokens are three entries of the log`() async throws {
        let one = self.house.replica("a")
        try await self.house.run([one]) {
            let replacements = (0..<2_500).map { number in
                KillEntry.Replacement(account: AccountID("account-\(number)"), grant: .random())
            }
            try await one.kills.replaced(replacements)
            let entries = try await KillLog(self.house.records).contents().numbered().map(\.entry)
            #expect(entries.map(\.replacements.count) == [1_000, 1_000, 500])
            #expect(entries.flatMap(\.replacements) == replacements)
            #expect(one.kills.lastImport(of: AccountID("account-2499"))?.grant == replacements.last?.grant)
            #expect(Set(one.fence.replaced).count == 2_500)
        }
    }
}
