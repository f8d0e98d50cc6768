import KillSwitch
import Simulation
import TestKit
import Testing
import TokenModel
import TokenStorage

/// Stores that have lost entries, and the copy of the kill log that reveals the loss.
@Suite(.simulated) struct KillCopyTests {
    private let house = ReplicaGroup()
    private let directory: TemporaryDirectory
    private let alice = KillScope.account(AccountID("alice"))

    init() throws { self.directory = try TemporaryDirectory() }

    /// The copy as a newly started process opens it.
    private var copy: KillLogFile { KillLogFile(in: self.directory.path, of: "store") }

    private func kill(_ replica: Replica, _ scope: KillScope) async throws {
        _ = try await replica.kills.kill(scope, reason: "drill", streams: .abort, wait: .seconds(1))
    }

    /// Kills alice and bob with a gateway that then stops.
    private func killTwo() async throws {
        let one = self.house.replica("a", copy: self.copy)
        try await self.house.run([one]) {
            try await self.kill(one, self.alice)
            try await self.kill(one, .account(AccountID("bob")))
        }
    }

    @Test func `a kill lost by a running store is written back before the lease is renewed`()
        async throws
    {
        let one = self.house.replica("a", copy: self.copy)
        try await self.house.run([one]) {
            try await self.kill(one, self.alice)
            try await self.kill(one, .account(AccountID("bob")))
            self.house.store.erase(.kill(1))
            self.house.store.erase(.kill(2))
            try await one.kills.renew()
            let log = KillLog(self.house.records)
            #expect(try await log.contents().entries.map(\.scope) == [self.alice, .account(AccountID("bob"))])
            #expect(one.fence.until > self.house.clock.now)
            #expect(self.house.log.text.contains("had lost entries of the kill log"))
        }
    }

    @Test func `a replica whose store was restored and then written by others uses no token`()
        async throws
    {
        let one = self.house.replica("a", copy: self.copy)
        try await self.house.run([one]) {
            try await self.kill(one, self.alice)
            let other = KillEntry(.kill, .account(AccountID("bob")), at: self.house.clock.wall)
            // In one write, because the replica regularly polls and would restore a missing entry.
            let stored = try await self.house.records.read(.kill(1))
            let version = try #require(stored).version
            _ = try await self.house.records.write(other.encoded(), at: .kill(1), expecting: version)
            await #expect(throws: StoreError(.outdated, "")) { try await one.kills.read() }
            #expect(one.kills.epochs.isKilled(self.alice))
            try await until("the lease to lapse") { !one.kills.holdsLease }
        }
    }

    @Test func `a start on a store that lacks kills is refused and leaves no replica record`() async throws {
        try await self.killTwo()
        self.house.store.erase(.kill(2))
        let one = self.house.replica("a", copy: self.copy)
        await #expect(throws: StoreError(.outdated, "")) { try await one.kills.start() }
        #expect(one.fence.until == .distantPast)
        #expect(self.house.log.text.contains("--accept-older-store"))
        #expect(try await ReplicaVault(self.house.records).list().entries.isEmpty)
    }

    @Test
    func `a start that accepts an older store writes the missing kills back, and killed tokens stay dead`()
        async throws
    {
        try await self.killTwo()
        self.house.store.erase(.kill(1))
        self.house.store.erase(.kill(2))
        let one = self.house.replica("a", copy: self.copy)
        let missing = try await one.kills.missingInStore()
        #expect(missing?.count == 2)
        #expect(missing?.last == Epoch(2))
        try await self.house.run([one], acceptsOlderStore: true) {
            #expect(one.kills.killedScopes == [self.alice, .account(AccountID("bob"))])
            #expect(one.kills.epochs.last == Epoch(2))
            #expect(one.fence.epochs.isKilled(self.alice))
        }
        // From then on the store is no longer older.
        let next = self.house.replica("a", copy: self.copy)
        let missingThen = try await next.kills.missingInStore()
        #expect(missingThen == nil)
        try await self.house.run([next]) {}
    }

    @Test func `a revival from before the restore does not lift a kill that others wrote after it`()
        async throws
    {
        let one = self.house.replica("a", copy: self.copy)
        try await self.house.run([one]) {
            try await self.kill(one, self.alice)
            try await one.kills.revive(self.alice, reason: "over")
        }
        self.house.store.erase(.kill(1))
        self.house.store.erase(.kill(2))
        let other = KillEntry(.kill, self.alice, reason: "theirs", at: self.house.clock.wall)
        _ = try await KillLog(self.house.records).append(other, behind: .start)
        let next = self.house.replica("a", copy: self.copy)
        try await self.house.run([next], acceptsOlderStore: true) {
            #expect(next.kills.epochs.isKilled(self.alice))
            #expect(next.kills.epochs.last == Epoch(3))
        }
        // The store now has all entries of the copy.
        try await self.house.run([self.house.replica("a", copy: self.copy)]) {}
    }

    @Test func `a start on an empty store, such as one in memory, has the earlier kills`() async throws {
        try await self.killTwo()
        let later = ReplicaGroup()
        let one = later.replica("a", copy: self.copy)
        try await later.run([one], acceptsOlderStore: true) {
            #expect(one.kills.epochs.isKilled(self.alice))
            let reasons = try await one.kills.reports().map(\.reason)
            #expect(reasons == ["drill", "drill"])
        }
    }

    @Test func `a store that lost a lock is refused, and is locked again when the lock is written back`() async throws {
        let one = self.house.replica("a", copy: self.copy)
        try await self.house.run([one]) {
            _ = try await one.kills.orderLock(reason: "stolen", wait: .seconds(1))
        }
        self.house.store.erase(.kill(1))
        let next = self.house.replica("b", copy: self.copy)
        await #expect(throws: StoreError(.outdated, "")) { try await next.kills.start() }
        await #expect(throws: StoreError(.locked, "")) { try await next.kills.start(acceptsOlderStore: true) }
        #expect(try await KillSwitch.standingLock(self.house.records)?.reason == "stolen")
    }

    @Test func `the end of a lock is not written back over what others have written since`() async throws {
        let one = self.house.replica("a", copy: self.copy)
        try await self.house.run([one]) {
            _ = try await one.kills.orderLock(reason: "stolen", wait: .seconds(1))
            try await self.kill(one, self.alice)
        }
        let unlocker = self.house.replica("b", copy: self.copy)
        try await unlocker.kills.start(overridesLock: true)
        try await unlocker.kills.orderUnlock()
        unlocker.kills.stop()
        await unlocker.kills.run()
        for number in 1...3 as ClosedRange<UInt64> { self.house.store.erase(.kill(number)) }
        let since = KillEntry(.kill, .account(AccountID("bob")), at: self.house.clock.wall)
        _ = try await KillLog(self.house.records).append(since, behind: .start)

        let next = self.house.replica("c", copy: self.copy)
        await #expect(throws: StoreError(.locked, "")) { try await next.kills.start(acceptsOlderStore: true) }
    }

    @Test func `a start with thousands of entries fences once`() async throws {
        let log = KillLog(self.house.records)
        for number in 0..<1_000 as Range<UInt64> {
            let scope = KillScope.account(AccountID("account-\(number)"))
            _ = try await log.append(KillEntry(.kill, scope, at: self.house.clock.wall), behind: Epoch(number))
        }
        let one = self.house.replica("a", copy: self.copy)
        try await self.house.run([one]) {
            #expect(one.fence.fenced == [Epoch(1_000)])
            #expect(one.fence.replaced.isEmpty)
        }
    }

    @Test func `a kill succeeds without a writable state_dir, and the failure is logged once`() async throws {
        try self.directory.write([], to: "kill-log")
        let nowhere = KillLogFile(in: "\(self.directory.path)/nowhere", of: "store")
        let one = self.house.replica("a", copy: nowhere)
        try await self.house.run([one]) {
            try await self.kill(one, self.alice)
            try await self.kill(one, .all)
            #expect(one.kills.killedScopes == [self.alice, .all])
            #expect(one.kills.holdsLease)
        }
        let complaints = self.house.log.text.split(separator: "\n").filter { $0.contains("could not be copied") }
        #expect(complaints.count == 1)
    }
}
