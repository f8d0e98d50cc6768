import KillSwitch
import Simulation
import Synchronization
import TestKit
import Testing
import TokenModel
import TokenStorage

/// Replicas that go over to another store.
@Suite(.simulated) struct MovingReplicaTests {
    private let house = ReplicaGroup()
    private let keys = GivenKeyRing(KeyRing(current: .random()), name: "the tests")
    private let previous = FaultyTokenStore(StoreGuarantees(reach: .network, failover: .losesSuffix))
    private let current = FaultyTokenStore(StoreGuarantees(reach: .network, failover: .losesSuffix))

    /// A replica that goes from one store to the other, with a handle of its own.
    ///
    /// - Parameters:
    ///   - connection: its connection to the first store, if it has one of its own.
    ///   - mayLosePlaces: a failover may still lose what names the two stores.
    private func mover(
        _ name: String,
        back: Bool = false,
        connection: FaultyTokenStore? = nil,
        mayLosePlaces: Bool = false
    ) async throws -> (replica: Replica, store: MigratingTokenStore) {
        _ = try await OpenedStore.open(self.previous, keys: self.keys)
        let previous = connection ?? self.previous
        let (first, second) = back ? (self.current, previous) : (previous, self.current)
        let migration = try await StoreMigration(to: second, from: first, keys: self.keys)
        let store = MigratingTokenStore(migration, timepiece: self.house.clock.timepiece)
        let records = try await OpenedStore.open(store, keys: self.keys).records
        if !mayLosePlaces { await self.house.clock.pass(.seconds(10)) }
        return (self.house.replica(name, records: records, lease: .seconds(10), move: store), store)
    }

    /// A replica that stays at a store.
    private func settler(_ name: String, at store: FaultyTokenStore) async throws -> Replica {
        let opened = try await OpenedStore.open(store, keys: self.keys)
        return self.house.replica(name, records: opened.records, place: try await opened.wholePlace())
    }

    @Test func `all replicas go over together, and a kill before it holds after it`() async throws {
        let (a, b) = (try await self.mover("a"), try await self.mover("b"))
        try await self.house.run([a.replica, b.replica]) {
            let kill = try await a.replica.kills.kill(.all, reason: "drill", streams: .abort, wait: .seconds(60))

            try await until("both to go over", within: .seconds(5)) { [a, b].allSatisfy { $0.store.phase == .after } }
            try await until("both to hold a lease again") { [a, b].allSatisfy { $0.replica.kills.holdsLease } }

            #expect(b.replica.kills.killedScopes == [.all])
            try await until("the kill to be complete") {
                try await b.replica.kills.report(on: kill.id).state == .complete
            }
            #expect(try await ReplicaVault(self.records(in: self.current)).list().entries.count == 2)
            let later = try await b.replica.kill(.account(AccountID("x")), wait: .seconds(60))
            #expect(later.state == .complete)
            #expect(later.replicas.count == 2)
            #expect(await a.replica.kills.listing().reports.map(\.id) == [later.id, kill.id])
        }
    }

    private func records(in store: any TokenStore) async throws -> SealedRecords {
        try await OpenedStore.openExisting(store, keys: self.keys).records
    }

    @Test func `nobody goes over while a replica is not configured for it`() async throws {
        let staying = try await self.settler("staying", at: self.previous)
        let a = try await self.mover("a")
        try await self.house.run([staying, a.replica]) {
            await self.house.clock.pass(.seconds(30))
            #expect(a.store.phase == .before)
            #expect(staying.kills.holdsLease)
            #expect(self.house.log.lines.contains { $0.contains("begins when these replicas are configured") })

            staying.kills.stop()
            try await until("the other to go over", within: .seconds(2)) {
                a.store.phase == .after && a.replica.kills.holdsLease
            }
        }
    }

    @Test func `a replica that was not configured for the move stops, and says why`() async throws {
        let a = try await self.mover("a")
        try await self.house.run([a.replica]) {
            try await until("it to go over", within: .seconds(1)) { a.store.phase == .after }
        }
        // It was opened before the move, when the store had no place yet.
        let records = try await self.records(in: self.previous)
        let staying = self.house.replica("staying", records: records, place: nil)

        await #expect(throws: StoreError(.moved, "")) { try await staying.kills.start() }
        #expect(!staying.kills.holdsLease)
        await #expect(throws: StoreError(.moved, "")) { try await self.settler("late", at: self.previous) }
    }

    @Test func `a replica whose move was begun anew after a loss says once what to do`() async throws {
        let a = try await self.mover("a")
        // The target loses what it was for, and is prepared again.
        self.current.lose(self.current.history.count)
        let other = try await self.mover("other")
        #expect(other.store.target != a.store.target)

        try await self.house.run([a.replica]) {
            await self.house.clock.pass(.seconds(30))
            #expect(a.store.phase == .before)
        }
        let told = self.house.log.lines.filter { $0.contains("the move to another store waits") }
        #expect(told.count == 1)
        #expect(told.first?.contains("restart this one") == true)
    }

    @Test func `a move begins once no failover can take what names the two stores`() async throws {
        let a = try await self.mover("a", mayLosePlaces: true)
        try await self.house.run([a.replica]) {
            await self.house.clock.pass(.seconds(9))
            #expect(a.store.phase == .before)
            #expect(self.house.log.lines.contains { $0.contains("a failover may still lose what names") })

            // When one has, and the record was put back
            self.current.lose(self.current.history.count)
            await self.house.clock.pass(.seconds(9))
            #expect(a.store.phase == .before)

            try await until("it to go over", within: .seconds(3)) { a.store.phase == .after }
        }
    }

    @Test func `a process that starts keeps the others from going over until it has joined`() async throws {
        let (a, late) = (try await self.mover("a"), try await self.mover("late"))
        let arrival = try await KillSwitch.announceArrival(
            self.records(in: self.previous),
            late.replica.kills.incarnation,
            name: "late",
            lease: .seconds(10),
            at: self.house.clock.wall
        )
        try await self.house.run([a.replica]) {
            await self.house.clock.pass(.seconds(20))
            #expect(a.store.phase == .before)

            try await late.replica.kills.start(arrival: arrival)
            async let running: Void = late.replica.kills.run()
            try await until("both to go over", within: .seconds(5)) {
                [a, late].allSatisfy { $0.store.phase == .after }
            }
            try await until("both to hold a lease") { [a, late].allSatisfy { $0.replica.kills.holdsLease } }
            late.replica.kills.stop()
            await running
        }
    }

    @Test func `a replica that starts while the others have gone over goes over before it serves`() async throws {
        let (a, late) = (try await self.mover("a"), try await self.mover("late"))
        try await self.house.run([a.replica]) {
            try await until("the first to go over", within: .seconds(1)) { a.store.phase == .after }
            try await late.replica.kills.start()
            #expect(late.store.phase == .after)
            #expect(late.replica.kills.holdsLease)
        }
    }

    @Test func `I4_nobody uses the other store while a replica may still use the first`() async throws {
        let again = try await self.mover("again")
        try await self.addSilent(beside: again.store)
        let begin = self.house.clock.now
        try await self.house.run([again.replica]) {
            try await until("it to leave the first store") { again.store.phase == .leaving }
            #expect(!again.replica.kills.holdsLease)
            try await until("it to go over", within: .seconds(10)) {
                again.store.phase == .after && again.replica.kills.holdsLease
            }
            #expect(begin.duration(to: self.house.clock.now) >= .seconds(3))
        }
    }

    /// Adds a replica that has joined with its target, and never reads again.
    private func addSilent(beside store: MigratingTokenStore) async throws {
        let silent = ReplicaRecord(
            incarnation: .random(),
            name: "silent",
            lease: .seconds(3),
            target: store.target,
            joinedAt: self.house.clock.wall
        )
        _ = try await ReplicaVault(self.records(in: self.previous)).write(silent, for: .random(), expecting: nil)
    }

    @Test func `a start that is cancelled while the replicas go over ends at once`() async throws {
        let (a, late) = (try await self.mover("a"), try await self.mover("late"))
        try await self.addSilent(beside: a.store)
        try await self.house.run([a.replica]) {
            try await until("it to leave the first store") { a.store.phase == .leaving }
            let start = Task(executorPreference: Simulation.running) { try await late.replica.kills.start() }
            await self.house.clock.pass(.milliseconds(100))
            #expect(a.store.phase == .leaving)

            start.cancel()

            await #expect(throws: StoreError.self) { try await start.value }
            #expect(a.store.phase == .leaving)
        }
    }

    @Test func `a kill that is ordered while the replicas go over holds in the other store`() async throws {
        let (a, b) = (try await self.mover("a"), try await self.mover("b"))
        let kill = Mutex<KillReport?>(nil)
        // Right after the move stands in the log.
        self.previous.afterWrite(at: .kill(1)) {
            let report = try? await b.replica.kills.kill(.all, reason: "drill", streams: .abort, wait: .seconds(60))
            kill.withLock { $0 = report }
        }
        try await self.house.run([a.replica, b.replica]) {
            try await until("the kill to be complete", within: .seconds(30)) {
                guard let id = kill.withLock({ $0?.id }) else { return false }
                return try await b.replica.kills.report(on: id).state == .complete
            }
            // The other one may go over after that, without a lease until it has read the kill there.
            try await until("both to go over", within: .seconds(1)) { [a, b].allSatisfy { $0.store.phase == .after } }
            try await until("both to hold a lease") { [a, b].allSatisfy { $0.replica.kills.holdsLease } }
            #expect(a.replica.kills.killedScopes == [.all])
            #expect(
                try await KillLog(self.records(in: self.current)).contents().numbered().map(\.entry.kind) == [
                    .moved, .kill,
                ]
            )
        }
    }

    @Test func `a lock that is ordered while the replicas go over stands in the other store`() async throws {
        let connection = self.previous.connect()
        let a = try await self.mover("a")
        let b = try await self.mover("b", connection: connection)
        let locking = Mutex<Task<KillReport, any Error>?>(nil)
        // Given a lock that is written into the first store behind the move, where no replica reads it: the one that
        // writes it does not begin the move, and does not see it before
        connection.fail(.away, [.write], at: .kill(1))
        self.previous.beforeWrite(at: .kill(1)) { connection.fail(.stalled, [.read, .records], under: .kills) }
        self.previous.afterWrite(at: .kill(1)) {
            connection.fail(.none, [.write], at: .kill(1))
            let task = Task(executorPreference: Simulation.running) {
                try await b.replica.kills.orderLock(reason: "stolen", wait: .seconds(60)) as KillReport
            }
            locking.withLock { $0 = task }
            try? await until("the lock to be written") { connection.count(of: .write, at: .kill(2)) > 0 }
            connection.recover()
        }
        try await self.house.run([a.replica, b.replica]) {
            try await until("the lock to be ordered") { locking.withLock { $0 } != nil }

            // Then it is written again into the other one, and all replicas lock
            let report = try await locking.withLock { $0 }?.value
            #expect(report?.state == .complete)
            // One that joins there after that has no lease until it has read the lock.
            try await until("both to be locked") {
                [a, b].allSatisfy { $0.replica.fence.locks == [report?.id] }
            }
        }
        #expect(try await KillSwitch.standingLock(self.records(in: self.current))?.reason == "stolen")
    }

    @Test func `a lock that stood before a move stands after it`() async throws {
        let (a, late) = (try await self.mover("a"), try await self.mover("late"))
        try await self.house.run([a.replica]) {
            _ = try await a.replica.kills.orderLock(reason: "stolen", wait: .seconds(60))
            try await until("it to go over", within: .seconds(2)) {
                a.store.phase == .after && a.replica.kills.holdsLease
            }
        }
        await #expect(throws: StoreError(.locked, "")) { try await late.replica.kills.start() }
    }

    @Test func `a copy of a store that was moved serves, and can be moved itself`() async throws {
        let a = try await self.mover("a")
        try await self.house.run([a.replica]) {
            _ = try await a.replica.kills.kill(.all, reason: "drill", streams: .abort, wait: .seconds(60))
            try await until("it to go over", within: .seconds(2)) {
                a.store.phase == .after && a.replica.kills.holdsLease
            }
        }
        let copy = FaultyTokenStore(StoreGuarantees(reach: .network, failover: .losesSuffix))
        let source = try await OpenedStore.openExisting(self.current, keys: self.keys)
        _ = try await StoreCopying(from: source, to: copy, keys: self.keys).run()
        let settler = try await self.settler("settler", at: copy)
        try await settler.kills.start()
        #expect(settler.kills.holdsLease)
        #expect(settler.kills.killedScopes == [.all])

        // When a move of the copy is begun and given up
        let migration = try await StoreMigration(to: MemoryTokenStore(), from: copy, keys: self.keys) {
            records throws(StoreError) in try await KillLog(records).contents().last.rawValue
        }
        #expect(!migration.isDone)

        // Then it still serves alone
        let again = try await self.settler("again", at: copy)
        try await again.kills.start()
        #expect(again.kills.holdsLease)
        #expect(again.kills.killedScopes == [.all])
    }

    @Test func `the records are moved back, and the replicas that stayed at the first store go on`() async throws {
        let a = try await self.mover("a")
        try await self.house.run([a.replica]) {
            _ = try await a.replica.kills.kill(.all, reason: "drill", streams: .abort, wait: .seconds(60))
            try await until("it to go over", within: .seconds(2)) {
                a.store.phase == .after && a.replica.kills.holdsLease
            }
        }
        let back = try await self.mover("back", back: true)
        try await self.house.run([back.replica]) {
            try await until("it to go back", within: .seconds(1)) {
                back.store.phase == .after && back.replica.kills.holdsLease
            }
            #expect(back.replica.kills.killedScopes == [.all])
        }
        let copying = Task(executorPreference: Simulation.running) { await back.store.run { _ in } }
        try await until("all to be moved") { back.store.progress.state == .done }
        copying.cancel()
        await copying.value
        let settler = try await self.settler("settler", at: self.previous)
        try await settler.kills.start()
        #expect(settler.kills.holdsLease)
        #expect(settler.kills.killedScopes == [.all])
    }
}
