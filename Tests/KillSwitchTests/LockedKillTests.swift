import KillSwitch
import Simulation
import TestKit
import Testing
import TokenModel
import TokenStorage

/// Kills that are given to a locked replica.
@Suite(.simulated) struct LockedKillTests {
    private let house = ReplicaGroup()
    private let directory: TemporaryDirectory
    private let alice = KillScope.account(AccountID("alice"))

    init() throws { self.directory = try TemporaryDirectory() }

    private var copy: KillLogFile { KillLogFile(in: self.directory.path, of: "store") }
    private var orders: LockedOrders { LockedOrders(in: self.directory.path) }

    /// Gives a kill of alice to a locked replica.
    private func kill(by requester: String? = "ops@10.0.0.7") async throws -> KillReport {
        let entry = KillEntry(.kill, self.alice, reason: "stolen", streams: .drain, at: self.house.clock.wall)
        return try await KillSwitch.keep(entry, by: requester, in: self.orders, others: ["web-2", "web-3"])
    }

    @Test func `a kill given to a locked replica is pending, and its report names the replicas that can do it`()
        async throws
    {
        let report = try await self.kill()
        #expect(report.state == .pending)
        #expect(report.store == .locked)
        #expect(report.epoch == .start)
        #expect(report.scope == self.alice && report.reason == "stolen" && report.streams == .drain)
        #expect(report.wasKept)
        #expect(report.canDoItNow == ["web-2", "web-3"])
        #expect(report.replicas.isEmpty)
    }

    @Test func `a kept kill holds from the unlock on, before the store is asked, and goes into the log`() async throws {
        // Given a kill for a locked replica
        let report = try await self.kill()

        // When the replica is unlocked, and does not reach the log
        let one = self.house.replica("a", copy: self.copy)
        try await one.kills.takeOver(self.orders)
        self.house.store.fail(.away)
        await #expect(throws: StoreError(.unreachable, "")) { try await one.kills.start() }

        // Then it is fenced
        #expect(one.fence.epochs.isKilled(self.alice))

        // And when it reaches the log, the kill is written, and is to be recorded with who ordered it
        self.house.store.recover()
        try await self.house.run([one]) {
            #expect(try await one.kills.report(on: report.id).epoch == Epoch(1))
            var kept = one.kills.keptKills.makeAsyncIterator()
            let told = try #require(await kept.next())
            #expect(told.id == report.id && told.isOwn && told.requester == "ops@10.0.0.7")
            #expect(told.requestedAt == report.startedAt)
            await one.kills.recorded(told)
        }
        #expect(try await self.copy.pendingKills().isEmpty)
        #expect(try await self.orders.kills().isEmpty)
        #expect(try await KillLog(self.house.records).contents().entries.map(\.id) == [report.id])
    }

    @Test func `a process that ends after the unlock leaves the kill to the next one`() async throws {
        let report = try await self.kill()
        try await self.house.replica("a", copy: self.copy).kills.takeOver(self.orders)

        let next = self.house.replica("b", copy: self.copy)
        try await self.house.run([next]) {
            let epoch = try await next.kills.report(on: report.id).epoch
            #expect(epoch == Epoch(1))
        }
    }

    @Test func `a damaged kill keeps a replica from being unlocked, and the others are taken over`() async throws {
        _ = try await self.kill()
        try self.directory.write(Array("no kill".utf8), to: "locked-orders/kill-0")

        let one = self.house.replica("a", copy: self.copy)
        let error = await #expect(throws: StoreError(.unreadable, "")) { try await one.kills.takeOver(self.orders) }
        #expect(error?.message.contains("kill-0") == true)
        #expect(try await self.copy.pendingKills().count == 1)
        #expect(try await self.orders.kills().count == 1)

        try self.directory.remove("locked-orders/kill-0")
        try await one.kills.takeOver(self.orders)
    }

    @Test func `a kill that can't be taken over stays where it is`() async throws {
        _ = try await self.kill()
        // A replica without a state_dir
        let one = self.house.replica("a")
        await #expect(throws: StoreError(.unwritable, "")) { try await one.kills.takeOver(self.orders) }
        #expect(try await self.orders.kills().count == 1)
    }

    @Test func `a kill that can't be kept has no effect, and that is said`() async throws {
        try self.directory.write([], to: "locked-orders")
        let error = await #expect(throws: KillSwitchError(.storeLost, "")) { try await self.kill() }
        #expect(error?.message.contains("give it to another replica") == true)
    }
}
