import KillSwitch
import Testing
import TokenModel
import TokenStorage

/// The steps of a poll and of a wait, on a store that several hosts can reach and that may lose its last writes.
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

    /// The record to write, with its id and version.
    private func written(_ action: Action) throws -> ReplicaVault.Entry {
        guard case .writeReplica(let record, let id, let version, _) = action else { throw Unexpected(action: action) }
        return ReplicaVault.Entry(id: id, record: record, version: version)
    }

    private struct Unexpected: Error { let action: Action }

    /// Continues from reading the log to the write that acknowledges it.
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

    /// Joins and reads the kill.
    ///
    /// - Returns: the heartbeat to write next.
    private func join(_ machine: inout KillMachine) throws -> ReplicaVault.Entry {
        let joining = try self.written(machine.beginPoll(self.start))
        #expect(machine.didWriteReplica(.stands(joining.version)) == .readLog(behind: .start))
        return try self.read(&machine, [self.kill])
    }

    @Test func `I4_replicas are listed only after this replica's write of the kill's epoch is stored`() throws {
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

    /// Clocks of hosts may be slewed. Each replica counts as if its own were the slower one.
    @Test func `I6_on a shared store a replica stops an eighth of its lease before others may count it as lapsed`()
        throws
    {
        var machine = self.machine()
        let heartbeat = try self.join(&machine)

        _ = machine.didWriteReplica(.stands(heartbeat.version))

        #expect(self.start.boot.duration(to: machine.leaseUntil) == .milliseconds(8_800))
    }

    @Test func `I3_a joining whose acknowledgement was lost is overwritten, and the log is read after that`() throws {
        var machine = self.machine()
        let joining = try self.written(machine.beginPoll(self.start))

        let again = machine.didWriteReplica(.conflict(joining))

        let rewritten = try self.written(again)
        #expect(rewritten.id == joining.id && rewritten.version > joining.version)
        #expect(machine.didWriteReplica(.stands(rewritten.version)) == .readLog(behind: .start))
    }

    @Test func `I3_this replica's record at an unknown version gives no lease until the log is read`() throws {
        var machine = self.machine()
        let heartbeat = try self.join(&machine)
        var record = heartbeat.record
        record.acknowledged = .start
        let found = ReplicaVault.Entry(id: heartbeat.id, record: record, version: heartbeat.version)

        let again = try self.written(machine.didWriteReplica(.conflict(found)))

        #expect(machine.leaseUntil == .distantPast)
        #expect(machine.didWriteReplica(.stands(again.version)) == .readLog(behind: .start))
    }

    @Test func `I3_a replica that was expelled or removed from the list joins under a new id`() throws {
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

    @Test func `I4_a replica with another entry at that number has not acknowledged the kill`() throws {
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

    @Test func `I3_if a store may lose entries, each of the last known entries is checked`() throws {
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

    @Test func `an order that repeatedly loses its place to other writers does not cost the lease`() throws {
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

    @Test func `I4_an entry rewritten since the listing causes a new listing`() throws {
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
    func `versions are random if the store may lose writes or be restored from an older copy`(
        losing: StoreGuarantees
    ) {
        #expect(Set((0..<20).map { _ in losing.version(behind: nil) }).count > 1)
        #expect(Set((0..<20).map { _ in losing.version(behind: Version(7)) }).count > 1)
        #expect((0..<20).allSatisfy { _ in losing.version(behind: Version(7)) > Version(7) })
        #expect(losing.version(behind: Version(.max - 1)) == Version(.max))
    }

    @Test func `versions of a store that ends with its process are consecutive`() {
        let counting = StoreGuarantees(reach: .process)
        #expect(counting.version(behind: nil) == .first)
        #expect(counting.version(behind: Version(7)) == Version(8))
    }

    @Test(arguments: [nil, KillID.random()])
    func `a replica's record is decoded as it was encoded`(_ entry: KillID?) throws {
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
        // A version without last entries can read a record that has none.
        let format = record.encoded().withUnredacted { $0[0] }
        #expect(format == (entry == nil ? 1 : 2))
        var sharing = record
        sharing.keys = ["0011223344556677", "8899aabbccddeeff"]
        #expect(try ReplicaRecord(decoding: sharing.encoded()) == sharing)
    }

    @Test(arguments: [StoreGuarantees.Reach.host, .network])
    func `a replica tells which sealing keys it has where each host has a file of its own`(
        _ reach: StoreGuarantees.Reach
    ) throws {
        var machine = KillMachine(
            incarnation: self.incarnation,
            name: "a",
            lease: .seconds(10),
            StoreGuarantees(reach: reach)
        )
        let key = SealingKey.random().id
        let joining = try self.written(machine.beginPoll(self.start, keys: [key]))
        #expect(joining.record.keys == (reach == .network ? [key.description] : []))
    }
}
