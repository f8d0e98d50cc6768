import KillSwitch
import Simulation
import TestKit
import Testing
import TokenModel
import TokenStorage

/// Locks of all replicas, which the log carries.
@Suite(.simulated) struct LockOrderTests {
    private let house = ReplicaGroup()

    private func kinds() async throws -> [KillEntry.Kind] {
        try await KillLog(self.house.records).contents().numbered().map(\.entry.kind)
    }

    /// Locks all replicas of the store, which then stop.
    private func lockAll() async throws {
        let one = self.house.replica("locker")
        try await self.house.run([one]) { _ = try await one.kills.orderLock(reason: "stolen", wait: .seconds(5)) }
    }

    // MARK: - Lock

    @Test func `a lock is complete when every replica has locked, and each is told why and by whom`() async throws {
        let replicas = ["a", "b", "c"].map { self.house.replica($0) }
        try await self.house.run(replicas) {
            let report = try await replicas[0].kills.orderLock(reason: "stolen", wait: .seconds(60), by: "ops@10.0.0.7")

            #expect(report.state == .complete)
            #expect(report.replicas.map(\.state) == [.acknowledged, .acknowledged, .acknowledged])
            for replica in replicas {
                #expect(replica.fence.locks == [report.id])
                var orders = replica.kills.lockOrders.makeAsyncIterator()
                let order = await orders.next()
                #expect(order?.id == report.id && order?.reason == "stolen" && order?.requester == "ops@10.0.0.7")
                #expect(await replica.kills.lockReport()?.state == .complete)
            }
        }
        let entry = try await KillSwitch.standingLock(self.house.records)
        #expect(entry?.reason == "stolen")
    }

    @Test func `a replica acknowledges a lock only after it has locked`() async throws {
        let (one, slow) = (self.house.replica("a"), self.house.replica("slow", lease: .seconds(36_000)))
        try await self.house.run([one, slow]) {
            // Given a replica that takes its time to lock
            slow.fence.stick(at: .lock)
            let report = try await one.kills.orderLock(reason: "stolen", wait: .seconds(30))
            try await until("it to be about to lock") { slow.fence.isWaitedFor }

            // Then the lock waits for it
            #expect(report.state == .pending)
            #expect(report.replicas.first { $0.name == "slow" }?.state == .pending)

            // Until it has locked
            slow.fence.release()
            try await until("the lock to be complete", within: .seconds(1)) {
                await one.kills.lockReport()?.state == .complete
            }
            #expect(slow.fence.locks == [report.id])
        }
    }

    @Test func `a lock waits for a silent replica until its lease is over, and names it`() async throws {
        let silent = ReplicaRecord(
            incarnation: .random(),
            name: "silent",
            lease: .seconds(20),
            joinedAt: self.house.clock.wall
        )
        _ = try await ReplicaVault(self.house.records).write(silent, for: .random(), expecting: nil)
        let one = self.house.replica("a")
        try await self.house.run([one]) {
            let begin = self.house.clock.now
            let report = try await one.kills.orderLock(reason: "stolen", wait: .zero)
            #expect(report.state == .pending)
            #expect(report.replicas.first { $0.name == "silent" }?.state == .pending)

            try await until("the lock to be complete", within: .seconds(60)) {
                await one.kills.lockReport()?.state == .complete
            }
            // A lease of 20 s plus a hundredth, and one second.
            #expect(begin.duration(to: self.house.clock.now) >= .milliseconds(21_200))
            #expect(
                await one.kills.lockReport()?.replicas.first { $0.name == "silent" }?.state == .leaseExpired
            )
        }
    }

    @Test func `a lock that a replica has taken does not wait for it when it has stopped`() async throws {
        let (one, other) = (self.house.replica("a"), self.house.replica("b"))
        try await self.house.run([one, other]) {
            let id = try await one.kills.orderLock(reason: "stolen", wait: .zero).id
            var orders = other.kills.lockOrders.makeAsyncIterator()
            #expect(await orders.next()?.id == id)
            other.kills.stop()

            try await until("the lock to be complete", within: .seconds(1)) {
                await one.kills.lockReport()?.state == .complete
            }
            // The lock may be complete before the replica that was stopped has taken itself off the list.
            try await until("the other to be off the list") { await one.kills.otherReplicas().isEmpty }
        }
    }

    @Test func `a lock kills nothing, and is not among the kills`() async throws {
        let one = self.house.replica("a")
        try await self.house.run([one]) {
            let lock = try await one.kills.orderLock(reason: "stolen", wait: .seconds(5))
            #expect(one.kills.killedScopes.isEmpty)
            #expect(try await one.kills.reports().isEmpty)
            await #expect(throws: KillSwitchError(.noSuchKill, "")) { try await one.kills.report(on: lock.id) }
            #expect(one.kills.holdsLease)
        }
    }

    @Test(arguments: [FaultyTokenStore.Fault.unanswered, .forgotten])
    func `a lock whose write is not acknowledged, or is lost, is written once`(
        _ fault: FaultyTokenStore.Fault
    ) async throws {
        let one = self.house.replica("a")
        self.house.store.fail(fault, [.write], at: .kill(1), times: 1)
        try await self.house.run([one]) {
            let report = try await one.kills.orderLock(reason: "stolen", wait: .seconds(5))
            #expect(report.epoch == Epoch(1))
        }
        #expect(try await self.kinds() == [.locked])
    }

    @Test func `a lock that the store does not take is an error, and no replica locks`() async throws {
        let one = self.house.replica("a")
        try await self.house.run([one]) {
            self.house.store.fail(.full, at: .kill(1))
            await #expect(throws: KillSwitchError(.storeLost, "")) {
                try await one.kills.orderLock(reason: "stolen", wait: .zero)
            }
            #expect(one.fence.locks.isEmpty)
            #expect(await one.kills.lockReport() == nil)
        }
    }

    @Test func `the other replicas are listed by name, and none if the store does not say`() async throws {
        let replicas = ["b", "a", "c"].map { self.house.replica($0) }
        try await self.house.run(replicas) {
            #expect(await replicas[0].kills.otherReplicas() == ["a", "c"])
            self.house.store.fail(.away, under: .replicas)
            #expect(await replicas[0].kills.otherReplicas().isEmpty)
        }
    }

    // MARK: - Start

    @Test func `a replica does not start while a lock stands, and leaves no record`() async throws {
        try await self.lockAll()
        let late = self.house.replica("late")
        await #expect(throws: StoreError(.locked, "")) { try await late.kills.start() }
        #expect(late.fence.until == .distantPast)
        #expect(try await ReplicaVault(self.house.records).list().entries.isEmpty)
    }

    @Test func `a replica that overrides the lock starts, and is not locked by it again`() async throws {
        try await self.lockAll()
        let one = self.house.replica("a")
        try await self.house.run([one], overridesLock: true) {
            try await one.kills.renew()
            #expect(one.kills.holdsLease)
            #expect(one.fence.locks.isEmpty)
            #expect(await one.kills.lockReport() == nil)
        }
        var orders = one.kills.lockOrders.makeAsyncIterator()
        let order = await orders.next()
        #expect(order == nil)
    }

    @Test(arguments: [false, true])
    func `a lock that is ordered while a replica joins keeps it from starting, even if it overrides an older one`(
        _ isLockedBefore: Bool
    ) async throws {
        if isLockedBefore { try await self.lockAll() }
        let late = self.house.replica("late")
        // Given a lock that comes between the first read of the log and the record of the replica
        let log = KillLog(self.house.records)
        let lock = KillEntry(.locked, .all, reason: "now", at: self.house.clock.wall)
        self.house.store.before(listing: 1, of: .killEnds) {
            _ = try? await log.append(lock, behind: Epoch(isLockedBefore ? 1 : 0))
        }

        // When the replica starts
        await #expect(throws: StoreError(.locked, "")) { try await late.kills.start(overridesLock: isLockedBefore) }

        // Then it has locked, and is not listed any more
        #expect(late.fence.locks == [lock.id])
        #expect(late.fence.until == .distantPast)
        #expect(try await ReplicaVault(self.house.records).list().entries.isEmpty)
    }

    // MARK: - Unlock

    @Test func `when the lock is lifted, replicas start again, and a locked one stays locked`() async throws {
        try await self.lockAll()
        let (one, next) = (self.house.replica("a"), self.house.replica("b"))
        try await one.kills.start(overridesLock: true)
        #expect(try await one.kills.orderUnlock(by: "ops") == Epoch(2))
        try await next.kills.start()
        #expect(next.kills.holdsLease)
        #expect(try await self.kinds() == [.locked, .unlocked])
        #expect(try await KillSwitch.standingLock(self.house.records) == nil)
    }

    @Test func `nothing is written where no lock stands`() async throws {
        let one = self.house.replica("a")
        try await one.kills.start()
        #expect(try await one.kills.orderUnlock() == nil)
        #expect(try await self.kinds().isEmpty)
    }

    @Test func `a lock that was ordered since the start is not lifted by the unlock of an earlier one`() async throws {
        try await self.lockAll()
        let (one, other) = (self.house.replica("a"), self.house.replica("b"))
        try await one.kills.start(overridesLock: true)
        try await self.house.run([other], overridesLock: true) {
            let again = try await other.kills.orderLock(reason: "again", wait: .zero)
            #expect(try await one.kills.orderUnlock() == nil)
            #expect(one.fence.locks == [again.id])
        }
        #expect(try await self.kinds() == [.locked, .locked])
    }

    @Test func `an unlock that another entry comes before is written behind that`() async throws {
        try await self.lockAll()
        let one = self.house.replica("a")
        try await one.kills.start(overridesLock: true)
        let log = KillLog(self.house.records)
        let kill = KillEntry(.kill, .all, reason: "drill", at: self.house.clock.wall)
        self.house.store.beforeWrite(at: .kill(2)) { _ = try? await log.append(kill, behind: Epoch(1)) }

        #expect(try await one.kills.orderUnlock() == Epoch(3))
        #expect(one.kills.killedScopes == [.all])
    }
}
