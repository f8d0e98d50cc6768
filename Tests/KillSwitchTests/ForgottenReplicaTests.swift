import KillSwitch
import Simulation
import TestKit
import Testing
import TokenModel
import TokenStorage

/// Replicas that kills no longer wait for, and replicas whose records can't be opened.
@Suite(.simulated) struct ForgottenReplicaTests {
    private let house = ReplicaGroup()

    @Test func `a lost replica is marked first and removed when its lease is over`() async throws {
        let (one, lost) = (self.house.replica("a"), self.house.replica("lost", lease: .seconds(36_000)))
        try await lost.kills.start()
        try await self.house.run([one]) {
            let expulsion = try await one.kills.forget("lost")
            #expect(expulsion.name == "lost")
            #expect(expulsion.until != nil)
            let marked = try await one.kills.listReplicas().first { $0.record.name == "lost" }
            #expect(marked?.record.isExpelled == true)
            // The lease, a hundredth of it, and one second.
            await self.house.clock.pass(.seconds(36_361) - .milliseconds(1))
            #expect(try await one.kills.listReplicas().count == 2)
            await self.house.clock.pass(.milliseconds(1))
            #expect(try await one.kills.listReplicas().map(\.record.name) == ["a"])
        }
    }

    @Test func `a forgotten replica that still runs stops and joins again`() async throws {
        let (one, other) = (self.house.replica("a"), self.house.replica("b", lease: .seconds(36_000)))
        try await self.house.run([one, other]) {
            let before = try await one.kills.listReplicas().first { $0.record.name == "b" }?.id
            _ = try await one.kills.forget("b")
            try await other.kills.renew()
            let there = try await one.kills.listReplicas().filter { $0.record.name == "b" && !$0.record.isExpelled }
            #expect(there.count == 1)
            #expect(there.first?.id != before)
            #expect(self.house.log.text.contains("was removed from the replica list"))
            #expect(other.kills.holdsLease)
        }
    }

    @Test func `a replica whose process has certainly ended is forgotten at once`() async throws {
        let one = self.house.replica("a", witness: AllDeadWitness())
        let dead = self.house.replica("dead")
        // Neither runs, so nobody else finds it dead.
        for replica in [one, dead] { try await replica.kills.start() }
        #expect(try await one.kills.forget("dead").until == nil)
        #expect(try await one.kills.listReplicas().map(\.record.name) == ["a"])
    }

    @Test func `a replica does not expel itself, an unknown name or an ambiguous name`()
        async throws
    {
        let replicas = [self.house.replica("a"), self.house.replica("b"), self.house.replica("b")]
        try await self.house.run(replicas) {
            let one = replicas[0]
            await #expect(throws: KillSwitchError(.ownReplica, "")) { try await one.kills.forget("a") }
            await #expect(throws: KillSwitchError(.noSuchReplica, "")) { try await one.kills.forget("nobody") }
            await #expect(throws: KillSwitchError(.ambiguousReplica, "")) { try await one.kills.forget("b") }
            let incarnation = replicas[2].kills.incarnation.rawValue
            let meant = try await one.kills.listReplicas().first { $0.record.incarnation.rawValue == incarnation }?.id
            let expulsion = try await one.kills.forget(String(incarnation.prefix(10)))
            #expect(expulsion.id == meant)
        }
    }

    @Test func `a kill stays pending on a replica whose record can't be opened, until the replica is forgotten`()
        async throws
    {
        let one = self.house.replica("a")
        let odd = self.house.replica("odd")
        try await odd.kills.start()
        let entries = try await ReplicaVault(self.house.records).list().entries
        let id = try #require(entries.first).id
        self.house.store.fail(.spoiled, at: .replica(id.rawValue))
        try await self.house.run([one]) {
            let report = try await one.kills.kill(.all, reason: "drill", streams: .abort, wait: .seconds(120))
            #expect(report.state == .pending)
            let named = try #require(report.replicas.first { $0.state == .pending })
            #expect(named.name.contains("does not open"))
            #expect(named.name.contains(id.rawValue.prefix(8)))
            #expect(named.until == nil)
            #expect(try await one.kills.replicaListing().unreadable == [id])

            let expulsion = try await one.kills.forget(id.rawValue)
            #expect(expulsion.until != nil)
            try await until("the kill to be complete", within: .seconds(600)) {
                try await one.kills.report(on: report.id).state == .complete
            }
        }
    }

    @Test func `expelling a record that can't be opened does not report the replica as gone`()
        async throws
    {
        let odd = self.house.replica("odd")
        try await odd.kills.start()
        let vault = ReplicaVault(self.house.records)
        let watched = try #require(try await vault.list().entries.first)
        _ = try await vault.write(watched.record, for: watched.id, expecting: watched.version)
        self.house.store.fail(.spoiled, at: .replica(watched.id.rawValue))
        let outcome = await vault.expel(watched)
        guard case .failed(let error) = outcome else {
            Issue.record("it was taken for gone: \(outcome)")
            return
        }
        #expect(error.code == .unreadable)
    }
}
