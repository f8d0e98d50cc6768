import KillSwitch
import OAuth
import Simulation
import TestKit
import Testing
import TokenModel
import TokenStorage

/// Kills with one replica and with several.
@Suite(.simulated) struct KillSwitchTests {
    private let house = ReplicaGroup()
    private let alice = KillScope.account(AccountID("alice"))

    @Test func `with one replica, a kill is complete once that is fenced, and the tokens are revoked`() async throws {
        let one = self.house.replica("a")
        try await self.house.put("alice")
        try await self.house.put("bob")
        try await self.house.run([one]) {
            let report = try await one.kills.kill(self.alice, reason: "drill", streams: .abort, wait: .seconds(5))
            #expect(report.state == .complete)
            #expect(report.replicas == [KillReport.Replica(name: "a", state: .acknowledged)])
            // Fenced at once by the order, then by the log.
            #expect(one.fence.fenced == [.start, Epoch(1)])
            try await until("both tokens to be revoked") {
                try await one.kills.report(on: report.id).tokens.revoked == 2
            }
            #expect(Set(self.house.provider.asked) == ["rt-alice", "at-alice"])
            let record = try await self.house.vault.read(AccountID("alice"))?.record
            #expect(record?.tokens == nil)
            #expect(try await self.house.vault.read(AccountID("bob"))?.record.tokens != nil)
        }
    }

    @Test func `with two replicas, a kill is complete when both are fenced`() async throws {
        let (one, other) = (self.house.replica("a"), self.house.replica("b"))
        try await self.house.run([one, other]) {
            let report = try await one.kills.kill(.all, reason: "drill", streams: .abort, wait: .seconds(5))
            #expect(report.state == .complete)
            #expect(other.fence.fenced == [Epoch(1)])
            #expect(Set(report.replicas.map(\.state)) == [.acknowledged])
            #expect(report.replicas.count == 2)
            // And the other one reports it too
            let seen = try await other.kills.report(on: report.id)
            #expect(seen.state == .complete && seen.reason == "drill")
            #expect(try await other.kills.reports().map(\.id) == [report.id])
        }
    }

    @Test func `a kill names a stuck replica as pending and completes only after that replica's lease`()
        async throws
    {
        let (one, stuck) = (self.house.replica("a"), self.house.replica("stuck", lease: .seconds(20)))
        try await stuck.kills.start()
        try await self.house.run([one]) {
            let raisedAt = self.house.clock.now
            let report = try await one.kills.kill(.all, reason: "drill", streams: .abort, wait: .seconds(20))
            #expect(report.state == .pending)
            #expect(report.replicas.first { $0.state == .pending }?.name == "stuck")
            #expect(report.replicas.first { $0.state == .pending }?.until != nil)
            try await until("the kill to be complete", within: .seconds(2)) {
                try await one.kills.report(on: report.id).state == .complete
            }
            let end = try await one.kills.report(on: report.id)
            #expect(end.replicas.first { $0.name == "stuck" }?.state == .leaseExpired)
            // A lease of 20 s plus a hundredth, and one second.
            #expect(raisedAt.duration(to: self.house.clock.now) >= .milliseconds(21_200))
        }
    }

    @Test func `I4_a kill waits for a replica that joins while the kill is written`() async throws {
        let one = self.house.replica("a")
        let vault = ReplicaVault(self.house.records)
        let newcomer = ReplicaRecord(
            incarnation: .random(),
            name: "late",
            lease: .seconds(20),
            joinedAt: self.house.clock.wall
        )
        // The replica has joined and read the log before the kill was stored. It never writes again.
        self.house.store.afterWrite(at: .kill(1)) {
            _ = try? await vault.write(newcomer, for: .random(), expecting: nil)
        }
        try await self.house.run([one]) {
            let report = try await one.kills.kill(.all, reason: "drill", streams: .abort, wait: .zero)
            #expect(report.state == .pending)
            #expect(report.replicas.first { $0.state == .pending }?.name == "late")
            try await until("the kill to be complete", within: .seconds(60)) {
                try await one.kills.report(on: report.id).state == .complete
            }
            let end = try await one.kills.report(on: report.id)
            #expect(end.replicas.first { $0.name == "late" }?.state == .leaseExpired)
        }
    }

    @Test func `a kill does not wait for a replica that stopped in order`() async throws {
        let (one, other) = (self.house.replica("a"), self.house.replica("b"))
        try await self.house.run([other]) {}
        #expect(other.kills.hasLeft)
        try await self.house.run([one]) {
            let report = try await one.kills.kill(.all, reason: "drill", streams: .abort, wait: .seconds(5))
            #expect(report.state == .complete)
            #expect(report.replicas.map(\.name) == ["a"])
        }
    }

    @Test func `a replica that stops while the store is unreachable knows that it stays listed`() async throws {
        let one = self.house.replica("a")
        try await self.house.run([one]) { self.house.store.fail(.away) }
        #expect(!one.kills.hasLeft)
        #expect(self.house.log.lines.contains { $0.contains("stays listed") })
    }

    @Test func `a kill does not wait for a replica whose process has certainly ended`() async throws {
        let one = self.house.replica("a", witness: AllDeadWitness())
        let dead = self.house.replica("dead")
        try await dead.kills.start()
        try await self.house.run([one]) {
            let report = try await one.kills.kill(.all, reason: "drill", streams: .abort, wait: .seconds(5))
            #expect(report.state == .complete)
            #expect(report.replicas.map(\.name) == ["a"])
            #expect(try await one.kills.listReplicas().map(\.record.name) == ["a"])
        }
    }

    @Test func `a replica that starts after a kill is fenced before it has a lease`() async throws {
        let (one, late) = (self.house.replica("a"), self.house.replica("late"))
        try await self.house.run([one]) {
            _ = try await one.kills.kill(self.alice, reason: "drill", streams: .abort, wait: .seconds(1))
        }
        #expect(late.fence.until == .distantPast)
        try await self.house.run([late]) {
            #expect(late.fence.fenced == [Epoch(1)])
            #expect(late.kills.epochs.isKilled(self.alice))
            #expect(late.fence.until > self.house.clock.now)
        }
    }

    @Test func `a revival allows new tokens and leaves the old ones dead`() async throws {
        let one = self.house.replica("a")
        try await self.house.run([one]) {
            _ = try await one.kills.kill(self.alice, reason: "drill", streams: .abort, wait: .seconds(1))
            try await one.kills.revive(self.alice, reason: "over")
            let epochs = one.kills.epochs
            let (alice, acme) = (AccountID("alice"), ProviderID("acme"))
            #expect(epochs.verdict(on: .start, of: alice, at: acme) == .dead)
            #expect(epochs.verdict(on: epochs.last, of: alice, at: acme) == .live)
            #expect(one.kills.killedScopes.isEmpty)
        }
    }

    @Test func `a revival does not lift an unseen kill that another replica wrote meanwhile`() async throws {
        let (one, other) = (self.house.replica("a"), self.house.replica("b"))
        try await self.house.run([one, other]) {
            _ = try await one.kills.kill(self.alice, reason: "drill", streams: .abort, wait: .seconds(1))
            // When the revival is written, another kill already has its number.
            let log = KillLog(self.house.records)
            let unseen = KillEntry(.kill, self.alice, reason: "again", streams: .abort, at: self.house.clock.wall)
            self.house.store.beforeWrite(at: .kill(2)) { _ = try? await log.append(unseen, behind: Epoch(1)) }
            await #expect(throws: KillSwitchError(.killed, "")) {
                try await one.kills.revive(self.alice, reason: "over")
            }
            #expect(one.kills.epochs.isKilled(self.alice))
            try await one.kills.revive(self.alice, reason: "both are over")
            #expect(!one.kills.epochs.isKilled(self.alice))
        }
    }

    @Test func `an entry is not appended after a gap if the store has lost the end of the log`() async throws {
        let one = self.house.replica("a")
        try await self.house.run([one]) {
            _ = try await one.kills.kill(self.alice, reason: "drill", streams: .abort, wait: .seconds(1))
        }
        let log = KillLog(self.house.records)
        let entry = KillEntry(.revive, self.alice, reason: "over", streams: .abort, at: self.house.clock.wall)
        await #expect(throws: StoreError(.unreachable, "")) { _ = try await log.append(entry, behind: Epoch(7)) }
        #expect(try await log.contents().entries.count == 1)
    }

    @Test func `a revival of a scope that is not killed is refused`() async throws {
        let one = self.house.replica("a")
        try await self.house.run([one]) {
            await #expect(throws: KillSwitchError(.notKilled, "")) {
                try await one.kills.revive(self.alice, reason: "over")
            }
        }
    }

    @Test func `while the store is unreachable, no token is used after the lease`() async throws {
        let one = self.house.replica("a")
        try await self.house.run([one]) {
            self.house.store.fail(.away)
            // The lease minus a hundredth.
            let leaseUntil = self.house.clock.now.advanced(by: .milliseconds(9_900))
            await self.house.clock.pass(.milliseconds(9_899))
            #expect(one.kills.holdsLease)
            await self.house.clock.pass(.milliseconds(1))
            #expect(!one.kills.holdsLease)
            #expect(one.fence.until == leaseUntil)
            await #expect(throws: CredentialError(.storeLost, "")) { try await one.kills.renewIfLapsed() }
            self.house.store.recover()
            try await one.kills.renewIfLapsed()
            #expect(one.kills.holdsLease)
        }
    }

    @Test func `a caller waits at most a second for a lapsed lease while the store does not respond`()
        async throws
    {
        let one = self.house.replica("a")
        try await self.house.run([one]) {
            defer { self.house.store.recover() }
            self.house.store.fail(.stalled, [.read, .records])
            await self.house.clock.pass(.seconds(10))
            let begin = self.house.clock.now
            await #expect(throws: CredentialError(.storeLost, "")) { try await one.kills.renewIfLapsed() }
            // The last try ends after a second, and is followed by a pause.
            #expect(begin.duration(to: self.house.clock.now) <= .milliseconds(1_100))
        }
    }

    @Test func `a kill waits for the lease of a replica that can read but not write`() async throws {
        let one = self.house.replica("a")
        let other = self.house.replica("b", lease: .seconds(20))
        try await self.house.run([one, other]) {
            let mute = try await one.kills.listReplicas().first { $0.record.name == "b" }
            self.house.store.fail(.full, at: .replica(try #require(mute).id.rawValue))
            let report = try await one.kills.kill(.all, reason: "drill", streams: .abort, wait: .zero)
            #expect(report.state == .pending)
            try await until("the other to be fenced all the same", within: .seconds(5)) {
                other.fence.fenced == [Epoch(1)]
            }
            try await until("the kill to be complete", within: .seconds(30)) {
                try await one.kills.report(on: report.id).state == .complete
            }
            let end = try await one.kills.report(on: report.id)
            #expect(end.replicas.first { $0.name == "b" }?.state == .leaseExpired)
        }
    }

    @Test func `a replica whose joining was not acknowledged finds its record when it joins again`() async throws {
        let one = self.house.replica("a")
        self.house.store.fail(.unanswered, [.write], times: 1)
        await #expect(throws: StoreError.self) { try await one.kills.start() }
        try await self.house.run([one]) {
            let replicas = try await one.kills.listReplicas()
            #expect(replicas.count == 1)
        }
    }

    @Test func `accounts with refreshes in progress count as in flight until their claims are over`() async throws {
        let one = self.house.replica("a")
        let short = AccountRecord.Claim(incarnation: .random(), id: .random(), standsFor: .seconds(12))
        let endless = AccountRecord.Claim(incarnation: .random(), id: .random(), standsFor: .seconds(86_400_000))
        try await self.house.put("alice", claim: short)
        try await self.house.put("bob", claim: endless)
        try await self.house.run([one]) {
            let report = try await one.kills.kill(.all, reason: "drill", streams: .abort, wait: .seconds(1))
            try await until("what is known to be revoked, and one claim to be over", within: .seconds(20)) {
                let tokens = try await one.kills.report(on: report.id).tokens
                return tokens.revoked == 4 && tokens.waiting == 0 && tokens.inFlight == 1
            }
            #expect(try await self.house.vault.read(AccountID("alice"))?.record.claim == nil)
            #expect(try await self.house.vault.read(AccountID("bob"))?.record.claim == endless)
        }
    }

    @Test func `after an import, other replicas reread the account`() async throws {
        let (one, other) = (self.house.replica("a"), self.house.replica("b"))
        try await self.house.run([one, other]) {
            try await one.kills.replaced(AccountID("alice"), by: .random())
            try await until("the other to hear of it", within: .seconds(5)) {
                other.fence.replaced == [AccountID("alice")]
            }
            #expect(one.kills.killedScopes.isEmpty)
        }
    }

    @Test func `imports that wait for another entry are announced together by the next entry`()
        async throws
    {
        let (one, other) = (self.house.replica("a"), self.house.replica("b"))
        let names = (0..<100).map { AccountID("account-\($0)") }
        try await self.house.run([one, other]) {
            self.house.store.fail(.stalled, [.write], at: .kill(1))
            let first = Task(executorPreference: Simulation.running) {
                try await one.kills.replaced(AccountID("first"), by: .random())
            }
            try await until("the first to be written") { self.house.store.count(of: .write, at: .kill(1)) == 1 }
            let others = names.map { name in
                Task(executorPreference: Simulation.running) {
                    try await one.kills.replaced(name, by: GrantID("of \(name)"))
                }
            }
            try await until("all to wait") { one.kills.waitingImports == names.count }
            self.house.store.recover()
            for told in [first] + others { try await told.value }

            #expect(one.kills.epochs.last == Epoch(2))
            try await until("the other to hear of all") { Set(other.fence.replaced).isSuperset(of: names) }
            #expect(names.allSatisfy { other.kills.lastImport(of: $0)?.grant == GrantID("of \($0)") })
        }
    }

    @Test(arguments: [0, 1, 2, 1_000])
    func `an entry with imports is decoded as it was encoded, and a single import uses the old layout`(count: Int)
        throws
    {
        let replacements = (0..<count).map { number in
            KillEntry.Replacement(account: AccountID("account-\(number)"), grant: .random())
        }
        // Any of the waiting imports may write the entry, so the scope is arbitrary.
        let scope = KillScope.account(AccountID("account-1"))
        let entry = KillEntry(.replaced, scope, replacements: replacements, at: self.house.clock.wall)
        let bytes = entry.encoded()
        #expect(try KillEntry(decoding: bytes) == entry)
        #expect(bytes.withUnredacted { $0[0] } == (count > 1 ? 2 : 1))
        #expect(bytes.count <= SealedBytes.maximumCount - SealedBytes.overhead)
    }

    @Test(arguments: [KillEntry.Kind.locked, .unlocked], ["ops@10.0.0.7", nil])
    func `a lock and its end are decoded as they were encoded, in a layout that earlier versions refuse`(
        _ kind: KillEntry.Kind,
        _ requester: String?
    ) throws {
        let entry = KillEntry(kind, .all, requester: requester, reason: "stolen", at: self.house.clock.wall)
        let bytes = entry.encoded()
        #expect(try KillEntry(decoding: bytes) == entry)
        #expect(bytes.withUnredacted { $0[0] } == 5)
    }

    @Test(arguments: [(KillEntry.Kind.kill, 5 as UInt8), (.locked, 1)])
    func `a lock in another entry's layout is refused, and so is another entry in the layout of a lock`(
        _ kind: KillEntry.Kind,
        _ format: UInt8
    ) {
        let writer = FieldWriter(format: format)
        writer.write(kind.rawValue)
        writer.write(0 as UInt8)
        writer.write(false)
        for text in ["id", "reason", KillStreams.abort.rawValue] { writer.write(text) }
        writer.write(0 as Int64)
        if format == 5 { writer.write(false) }
        #expect(throws: StoreError(.unreadable, "")) { try KillEntry(decoding: writer.finish()) }
    }
}
