import KillSwitch
import Simulation
import TestKit
import Testing
import TokenModel
import TokenStorage

/// The conditions for a complete kill, and the duration of a lease.
@Suite(.simulated) struct KillCompletionTests {
    private let house = ReplicaGroup()
    private let acme = ProviderID("acme")

    /// A replica record that is never updated.
    private func putReplica(lease: Duration) async throws -> ReplicaVault.Entry {
        let record = ReplicaRecord(
            incarnation: .random(),
            name: "silent",
            lease: lease,
            joinedAt: self.house.clock.wall
        )
        return try await ReplicaVault(self.house.records).write(record, for: .random(), expecting: nil)
    }

    @Test func `I4_a kill waits for a replica that has read it but is not fenced yet`()
        async throws
    {
        let one = self.house.replica("a")
        let slow = self.house.replica("slow", lease: .seconds(36_000))
        try await self.house.run([one, slow]) {
            slow.fence.stick()
            defer { slow.fence.release() }
            let report = try await one.kills.kill(.all, reason: "drill", streams: .abort, wait: .zero)
            try await until("the other to fence itself", within: .seconds(5)) { slow.fence.isWaitedFor }
            await self.house.clock.pass(.seconds(5))

            let before = try await one.kills.listReplicas().first { $0.record.name == "slow" }
            #expect(before?.record.acknowledged == .start)
            #expect(try await one.kills.report(on: report.id).state == .pending)

            slow.fence.release()
            try await until("the kill to be complete", within: .seconds(1)) {
                try await one.kills.report(on: report.id).state == .complete
            }
            let end = try await one.kills.report(on: report.id)
            #expect(end.replicas.map(\.state) == [.acknowledged, .acknowledged])
        }
    }

    @Test func `I4_a kill is not completed by replicas that acknowledge another kill of its number`()
        async throws
    {
        let silent = try await self.putReplica(lease: .seconds(36_000))
        let one = self.house.replica("a")
        try await self.house.run([one]) {
            let report = try await one.kills.kill(.all, reason: "drill", streams: .abort, wait: .zero)
            #expect(report.state == .pending)

            // Stands for a store that lost the kill, and whose log others continued before this replica returned
            let other = KillEntry(.kill, .account(AccountID("bob")), reason: "b", streams: .abort, at: report.startedAt)
            let stood = try #require(try await self.house.records.read(.kill(1)))
            _ = try await self.house.records.write(other.encoded(), at: .kill(1), expecting: stood.version)
            var record = silent.record
            record.acknowledged = Epoch(1)
            _ = try await ReplicaVault(self.house.records).write(record, for: silent.id, expecting: silent.version)

            await self.house.clock.pass(.seconds(30))
            #expect(try await one.kills.report(on: report.id).state == .pending)
            #expect(try await self.house.records.read(.killEnd(1)) == nil)
        }
    }

    @Test func `a lease counts from when the read of the log was sent, even if the read is slow`() async throws {
        let one = self.house.replica("a", lease: .seconds(1_000))
        try await self.house.run([one]) {
            await self.house.clock.pass(.seconds(1))
            let (sentAt, before) = (self.house.clock.now, one.fence.untils.count)
            self.house.store.fail(.stalled, [.read, .records])
            let reading = Task(executorPreference: Simulation.running) { try await one.kills.renew() }
            try await until("the log to be read") { self.house.store.isStalled }
            await self.house.clock.pass(.seconds(100))
            self.house.store.recover()
            _ = try await reading.value

            // The lease minus a hundredth. Later reads may renew it further.
            #expect(one.fence.untils.dropFirst(before).first == sentAt.advanced(by: .seconds(990)))
        }
    }

    @Test func `after a process was stopped, silence from before the stop does not count`()
        async throws
    {
        _ = try await self.putReplica(lease: .seconds(10))
        let one = self.house.replica("a", lease: .seconds(36_000))
        try await self.house.run([one]) {
            let report = try await one.kills.kill(.all, reason: "drill", streams: .abort, wait: .zero)
            await self.house.clock.pass(.seconds(5))

            self.house.clock.skip(.seconds(60))
            let stoppedUntil = self.house.clock.now
            try await until("the kill to be complete", within: .seconds(20)) {
                try await one.kills.report(on: report.id).state == .complete
            }
            // A lease of 10 s plus a hundredth, and one second.
            #expect(stoppedUntil.duration(to: self.house.clock.now) >= .milliseconds(11_100))
        }
    }

    @Test func `a kill is complete and reported even if account records can't be read at the moment`()
        async throws
    {
        let one = self.house.replica("a")
        for account in ["alice", "bob"] { try await self.house.put(account) }
        try await self.house.run([one]) {
            self.house.store.fail(.stalled, [.read, .records], under: .accounts)
            defer { self.house.store.recover() }
            let report = try await one.kill(.all)
            #expect(report.state == .complete)
            #expect(!report.tokens.isCounted)

            self.house.store.recover()
            try await until("its tokens to be counted, and revoked") {
                let tokens = try await one.kills.report(on: report.id).tokens
                return tokens.isCounted && tokens.revoked == 4
            }
        }
    }
}
