import KillSwitch
import TestKit
import Testing
import TokenModel
import TokenStorage

/// A poll and a wait on a store that several hosts reach and that may lose its last writes, step by step.
@Suite struct KillMachineTests {
    private typealias Action = KillMachine.PollAction
    private let incarnation = IncarnationID("own")
    private let start = Moment(boot: BootInstant(nanoseconds: 0), wall: WallTime(millisecondsSince1970: 0))
    private let kill = KillEntry(.kill, .all, reason: "", at: WallTime(millisecondsSince1970: 0))

    private func machine(_ failover: StoreGuarantees.Failover = .losesSuffix) -> KillMachine {
        KillMachine(
            incarnation: self.incarnation,
            name: "a",
            lease: .seconds(10),
            StoreGuarantees(reach: .network, failover: failover)
        )
    }

    /// The record that is to be written, and where.
    private func written(_ action: Action) throws -> ReplicaVault.Entry {
        guard case .writeReplica(let record, let id, let version, _) = action else { throw Unexpected(action: action) }
        return ReplicaVault.Entry(id: id, record: record, version: version)
    }

    private struct Unexpected: Error { let action: Action }

    /// Goes on from reading the log, up to the write that says what was read.
    private func read(_ machine: inout KillMachine, _ entries: [KillEntry]) throws -> ReplicaVault.Entry {
        try self.written(self.fence(&machine, .whole(KillLogContents(entries: entries))))
    }

    private func fence(_ machine: inout KillMachine, _ reading: KillLog.Reading) -> Action {
        let action = machine.didReadLog(.success(reading))
        guard case .fence(let contents) = action else { return action }
        let epochs = machine.log.fencing(by: contents)
        _ = machine.log.fenced(by: contents, epochs, draining: 0)
        return machine.didFence()
    }

    /// Joins, and reads the kill.
    ///
    /// - Returns: the heartbeat that is to be written then.
    private func join(_ machine: inout KillMachine) throws -> ReplicaVault.Entry {
        let joining = try self.written(machine.beginPoll(self.start))
        #expect(machine.didWriteReplica(.stands(joining.version)) == .readLog(behind: .start))
        return try self.read(&machine, [self.kill])
    }

    @Test func `I4_replicas are listed only once an own write with the kill's epoch stands`() throws {
        var machine = self.machine()
        let heartbeat = try self.join(&machine)
        #expect(machine.beginWait(for: Epoch(1)) == .lookForEnd)
        #expect(machine.leaseUntil == .distantPast)

        #expect(machine.didWriteReplica(.stands(heartbeat.version)) == .end(nil))

        #expect(heartbeat.record.acknowledged == Epoch(1))
        #expect(heartbeat.record.lastEntry == self.kill.id)
        #expect(machine.beginWait(for: Epoch(1)) == .list(self.kill.id))
        #expect(machine.leaseUntil > self.start.boot)
    }

    @Test func `I3_a joining whose answer was lost is written over, and the log read behind that`() throws {
        var machine = self.machine()
        let joining = try self.written(machine.beginPoll(self.start))

        let again = machine.didWriteReplica(.conflict(joining))

        let rewritten = try self.written(again)
        #expect(rewritten.id == joining.id && rewritten.version > joining.version)
        #expect(machine.didWriteReplica(.stands(rewritten.version)) == .readLog(behind: .start))
    }

    @Test func `I3_an own record at a version that is not known gives no lease before the log was read again`() throws {
        var machine = self.machine()
        let heartbeat = try self.join(&machine)
        var record = heartbeat.record
        record.acknowledged = .start
        let found = ReplicaVault.Entry(id: heartbeat.id, record: record, version: heartbeat.version)

        let again = try self.written(machine.didWriteReplica(.conflict(found)))

        #expect(machine.leaseUntil == .distantPast)
        #expect(machine.didWriteReplica(.stands(again.version)) == .readLog(behind: .start))
    }

    @Test func `I3_who was expelled, or taken out of the list, joins as another`() throws {
        for isExpelled in [true, false] {
            var machine = self.machine()
            let heartbeat = try self.join(&machine)
            var record = heartbeat.record
            record.isExpelled = true
            let found = ReplicaVault.Entry(id: heartbeat.id, record: record, version: heartbeat.version)

            let anew = try self.written(machine.didWriteReplica(.conflict(isExpelled ? found : nil)))

            #expect(anew.id != heartbeat.id)
            #expect(machine.takeNotices() == [.removedFromList])
        }
    }

    @Test func `I4_who goes by another entry of that number has not taken the kill`() throws {
        var machine = self.machine()
        let heartbeat = try self.join(&machine)
        _ = machine.didWriteReplica(.stands(heartbeat.version))
        func other(_ id: String, _ entry: KillID?) -> ReplicaVault.Entry {
            let record = ReplicaRecord(
                incarnation: IncarnationID(id),
                name: id,
                lease: .seconds(10),
                acknowledged: Epoch(1),
                lastEntry: entry,
                joinedAt: self.start.wall
            )
            return ReplicaVault.Entry(id: ReplicaID(id), record: record, version: .first)
        }
        let listing = ReplicaVault.Listing(
            entries: [other("b", .random()), other("c", nil), other("d", self.kill.id)]
        )

        let action = machine.didList(listing, behind: .first, for: Epoch(1), at: self.start.boot)

        #expect(action == .lookForEnd)
        #expect(machine.log.kill(Epoch(1))?.watch?.pending == [ReplicaID("b"), ReplicaID("c")])
    }

    @Test func `I3_where entries may be lost, the last ones that are known are each looked for`() throws {
        var machine = self.machine()
        let heartbeat = try self.join(&machine)
        _ = machine.didWriteReplica(.stands(heartbeat.version))
        let entries = (0..<12).map { _ in KillEntry(.revive, .all, reason: "", at: self.start.wall) }
        #expect(machine.beginPoll(self.start) == .readLog(behind: .start))
        let second = try self.written(self.fence(&machine, .tail([self.kill] + entries)))
        _ = machine.didWriteReplica(.stands(second.version))

        #expect(machine.beginPoll(self.start) == .readLog(behind: Epoch(5)))
        var tail = Array(entries.suffix(8))
        tail[3] = KillEntry(.revive, .all, reason: "", at: self.start.wall)

        #expect(machine.didReadLog(.success(.tail(tail))) == .end(StoreError(.outdated, "")))
        #expect(machine.leaseUntil == .distantPast)
    }

    @Test func `an order that others are always faster than costs no lease`() throws {
        var machine = self.machine()
        let heartbeat = try self.join(&machine)
        _ = machine.didWriteReplica(.stands(heartbeat.version))
        var order = PendingKill(entry: KillEntry(.kill, .all, reason: "", at: self.start.wall))
        order.cause = .unreachable
        let isNew = machine.log.pendingKill(order)
        #expect(isNew)
        var action = machine.beginPoll(self.start)
        var entries = [self.kill]
        while case .readLog = action {
            entries.append(KillEntry(.revive, .all, reason: "", at: self.start.wall))
            action = machine.didReadLog(.success(.tail(entries)))
            guard case .place = action else { break }
            action = machine.didPlace(.success(.taken))
        }
        guard case .fence(let contents) = action else { throw Unexpected(action: action) }
        let epochs = machine.log.fencing(by: contents)
        _ = machine.log.fenced(by: contents, epochs, draining: 0)

        let second = try self.written(machine.didFence())

        #expect(second.record.acknowledged == contents.last)
        #expect(machine.didWriteReplica(.stands(second.version)) == .end(nil))
        #expect(machine.log.pendingKills.map(\.entry) == [order.entry])
    }

    @Test func `I4_an entry that was written anew since the listing has all listed again`() throws {
        var machine = self.machine()
        let heartbeat = try self.join(&machine)
        _ = machine.didWriteReplica(.stands(heartbeat.version))
        let listing = ReplicaVault.Listing(entries: [heartbeat])
        let action = machine.didList(listing, behind: Version(7), for: Epoch(1), at: self.start.boot)
        #expect(action == .check(self.kill.id, Version(7)))

        machine.entryWasRewritten(Epoch(1))

        #expect(machine.beginWait(for: Epoch(1)) == .list(self.kill.id))
    }

    @Test(arguments: [
        StoreGuarantees(reach: .host), StoreGuarantees(reach: .network),
        StoreGuarantees(reach: .network, failover: .losesSuffix),
        StoreGuarantees(reach: .process, failover: .losesSuffix),
    ])
    func `no version is written twice with other content where writes may be lost or an earlier copy put back`(
        losing: StoreGuarantees
    ) {
        #expect(Set((0..<20).map { _ in losing.version(behind: nil) }).count > 1)
        #expect(Set((0..<20).map { _ in losing.version(behind: Version(7)) }).count > 1)
        #expect((0..<20).allSatisfy { _ in losing.version(behind: Version(7)) > Version(7) })
        #expect(losing.version(behind: Version(.max - 1)) == Version(.max))
    }

    @Test func `versions of a store that ends with its process count up`() {
        let counting = StoreGuarantees(reach: .process)
        #expect(counting.version(behind: nil) == .first)
        #expect(counting.version(behind: Version(7)) == Version(8))
    }

    @Test(arguments: [nil, KillID.random()])
    func `a replica's record reads back as it was`(_ entry: KillID?) throws {
        let record = ReplicaRecord(
            incarnation: self.incarnation,
            name: "a",
            lease: .seconds(10),
            acknowledged: Epoch(4),
            lastEntry: entry,
            isExpelled: true,
            joinedAt: WallTime(millisecondsSince1970: 5)
        )
        #expect(try ReplicaRecord(decoding: record.encoded()) == record)
        // One of before there were last entries reads it.
        let format = record.encoded().withUnredacted { $0[0] }
        #expect(format == (entry == nil ? 1 : 2))
    }
}
