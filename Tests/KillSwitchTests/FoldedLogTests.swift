import KillSwitch
import Simulation
import TestKit
import Testing
import TokenModel
import TokenStorage

/// A kill log whose beginning is replaced by a snapshot.
@Suite(.simulated) struct FoldedLogTests: LogSuite {
    let house = ReplicaGroup()

    @Test func `a folded log reads as what was folded, and its folded entries are removed`() async throws {
        let entries = self.entries(600)
        try await self.write(entries)
        let expected = KillLogContents(entries: entries).folded(upTo: Epoch(590))

        try await self.fold(upTo: 590)

        #expect(try await self.log.contents() == expected)
        // The keys are number 1, which names the snapshot, the last folded entry, and the entries after it.
        #expect(try await self.keys(.kills).count == 12)
        #expect(try await self.log.read(behind: Epoch(589)) == .tail(Array(entries[589...])))
        // A reader that knows fewer entries gets the whole contents.
        #expect(try await self.log.read(behind: Epoch(100)) == .whole(expected))
        #expect(try await self.log.read(behind: .start) == .whole(expected))
        #expect(try await self.log.version(of: entries[1].id, at: Epoch(2)) == KillLog.foldedVersion)
        #expect(try await self.log.version(of: entries[2].id, at: Epoch(2)) == nil)
    }

    @Test func `I19_ a fold interrupted at any write changes nothing, and the next fold cleans it up`()
        async throws
    {
        var (cut, isWhole) = (0, false)
        while !isWhole {
            let test = FoldedLogTests()
            let entries = test.entries(8)
            try await test.write(entries)
            let whole = try await test.log.contents()
            test.house.store.fail(by: failing(after: cut))
            do {
                try await test.fold(upTo: 7)
                isWhole = true
            } catch {
                #expect(error as? StoreError == StoreError(.unreachable, ""), "cut \(cut)")
            }
            test.house.store.recover()
            let found = try await test.log.contents()
            #expect(found.agrees(with: whole) && found.last == whole.last, "cut \(cut)")
            #expect(found.imports == whole.imports, "cut \(cut)")

            for number in 9...10 as ClosedRange<UInt64> {
                _ = try await test.log.append(test.imported("last"), behind: Epoch(number - 1))
                try await test.fold(upTo: number)
            }

            // The pages of the previous snapshot stay until the next fold.
            #expect(try await test.keys(.kills) == [.kill(1), .kill(10)], "cut \(cut)")
            #expect(try await test.keys(.killSnapshots).count == 2, "cut \(cut)")
            cut += 1
        }
        #expect(cut > 6)
    }

    @Test func `after a failover that lost the last fold, the previous snapshot is complete`()
        async throws
    {
        try await self.write(self.entries(20))
        try await self.fold(upTo: 10)
        let before = self.house.store.history
        let pages = try await self.keys(.killSnapshots)
        try await self.fold(upTo: 20)
        let left = Set(try await self.keys(.killSnapshots))

        // A removal whose acknowledgement was lost may be performed after the failover.
        self.house.store.history = before
        for page in pages where !left.contains(page) { self.house.store.erase(page) }

        #expect(try await self.log.contents().last == Epoch(20))
    }

    @Test func `I4_pages that a failover has lost alone are replaced by a process that knows the log`() async throws {
        let entries = self.entries(20)
        try await self.write(entries)
        let whole = try await self.log.contents()
        try await self.fold(upTo: 15)
        try await self.losePages()
        await #expect(throws: StoreError(.unreachable, "")) { _ = try await self.log.contents() }
        #expect(try await self.log.read(behind: .start) == .incomplete)

        // One that knows less, one that knows another log, and one that has nothing of what is lost
        #expect(try await !self.log.restoreSnapshot(knowing: KillLogContents(entries: Array(entries.prefix(10)))))
        #expect(try await !self.log.restoreSnapshot(knowing: KillLogContents(entries: self.entries(20))))
        #expect(try await !self.log.restoreSnapshot(knowing: whole.folded(upTo: Epoch(18))))
        #expect(try await self.log.read(behind: .start) == .incomplete)
        #expect(try await self.log.restoreSnapshot(knowing: whole))

        #expect(try await self.log.contents() == whole.folded(upTo: Epoch(15)))
        #expect(try await !self.log.restoreSnapshot(knowing: whole))
    }

    private func losePages() async throws {
        for key in try await self.keys(.killSnapshots) { self.house.store.erase(key) }
    }

    @Test func `I4_a failover between the pages of a snapshot and number 1 loses nothing of the log`() async throws {
        try await self.write(self.entries(20))
        let whole = try await self.log.contents()
        let store = self.house.store
        store.beforeWrite(at: .kill(1)) { store.lose(1) }

        try await self.fold(upTo: 15)

        #expect(try await self.log.contents() == whole.folded(upTo: Epoch(15)))
    }

    @Test(arguments: [false, true])
    func `a replica puts lost pages back after a failover, and if it has to read the whole log`(
        readsAll: Bool
    ) async throws {
        try await self.write(self.entries(20))
        let one = self.house.replica("a")
        try await self.house.run([one]) {
            await self.house.clock.pass(.seconds(1))
            try await self.fold(upTo: 15)
            try await self.losePages()
            if readsAll {
                self.house.store.erase(.kill(20))
            } else {
                self.house.store.announceReconnect(toAnotherServer: true)
            }

            try await until("the log to be whole", within: .seconds(5)) {
                (try? await self.log.contents())?.last == Epoch(20)
            }
            await self.house.clock.pass(.seconds(5))
            #expect(one.kills.holdsLease)
            #expect(self.house.log.text.contains("had lost a part of the kill log's snapshot"))
        }
    }

    @Test func `if two replicas fold at once, one succeeds, and the log's contents stay the same`() async throws {
        let entries = self.entries(20)
        try await self.write(entries)
        let (one, other) = (KillLogContents(entries: entries).folded(upTo: Epoch(18)), self.log)
        self.house.store.beforeWrite(at: .kill(1)) {
            _ = try? await other.fold(KillLogContents(entries: entries).folded(upTo: Epoch(15)).snapshot)
        }

        await #expect(throws: StoreError(.conflict, "")) { _ = try await self.log.fold(one.snapshot) }

        let found = try await self.log.contents()
        #expect(found == KillLogContents(entries: entries).folded(upTo: Epoch(15)))
    }

    @Test func `an entry placed where a snapshot is stored is appended after the snapshot`() async throws {
        try await self.write(self.entries(20))
        try await self.fold(upTo: 20)
        let kill = KillEntry(.kill, .all, at: self.house.clock.wall)

        #expect(try await self.log.append(kill, behind: .start) == Epoch(21))

        #expect(try await self.log.contents().entries == [kill])
        // A writer that knows only folded entries does not know what was appended since.
        await #expect(throws: StoreError(.unreachable, "")) { _ = try await self.log.append(kill, behind: Epoch(7)) }
    }

    @Test func `a version without snapshots does not mistake a folded log for an empty one`() async throws {
        try await self.write(self.entries(20))
        try await self.fold(upTo: 20)

        let first = try #require(try await self.house.records.read(.kill(1)))

        #expect(throws: StoreError(.unreadable, "")) { try KillEntry(decoding: first.plaintext) }
    }

    // MARK: - Replicas

    @Test func `a replica folds a long log, and a later replica applies the same kills and imports`()
        async throws
    {
        let entries = self.entries(1_050)
        try await self.write(entries)
        let one = self.house.replica("a")
        try await self.house.run([one]) {
            try await until("the log to be folded", within: .seconds(120)) { try await self.keys(.kills).count == 2 }
        }
        let next = self.house.replica("b")
        try await self.house.run([next]) {
            #expect(next.kills.epochs.last == Epoch(1_050))
            #expect(next.kills.killedScopes.isEmpty)
            for account in (0..<7).map({ AccountID("account-\($0)") }) {
                let last = entries.flatMap(\.replacements).last { $0.account == account }?.grant
                #expect(next.kills.lastImport(of: account)?.grant == last)
            }
            let report = try await next.kills.kill(self.bob, reason: "again", streams: .abort, wait: .seconds(1))
            #expect(report.state == .complete)
            #expect(report.epoch == Epoch(1_051))
            #expect(try await next.kills.reports().map(\.reason) == ["again", "drill"])
            #expect(try await next.kills.revive(self.bob, reason: "over").lifted.map(\.epoch) == [Epoch(1_051)])
        }
    }

    @Test func `a snapshot contains the entry that replaces an unrestored revival, by its id`() {
        let entries = self.entries(9)
        let instead = KillEntry(.replaced, self.bob, id: entries[7].id, at: self.house.clock.wall)
        let whole = KillLogContents(entries: Array(entries.prefix(7)) + [instead, entries[8]])

        #expect(whole.folded(upTo: Epoch(9)).contains(instead.id))
    }

    @Test func `an interrupted removal of folded entries is continued by the next one`() async throws {
        try await self.write(self.entries(9))
        let snapshot = try await self.log.contents().folded(upTo: Epoch(9)).snapshot
        _ = try await self.log.fold(snapshot)
        let cut = Task(executorPreference: Simulation.running) { try await self.removeFolded() }
        cut.cancel()
        try await cut.value
        #expect(try await self.keys(.kills).count == 9)

        try await self.removeFolded()

        #expect(try await self.keys(.kills).count == 2)
    }

    @Test func `a replica that reads a newer snapshot rereads the accounts with folded imports`() async throws {
        try await self.write(self.entries(3))
        let one = self.house.replica("a")
        try await self.house.run([one]) {
            // Given a replica that does not reach the store while another process appends entries and folds
            let records = self.house.records
            let store = self.house.store.connect()
            let log = KillLog(SealedRecords(store: store, keys: records.keys, storeID: records.storeID))
            self.house.store.fail(.away, [.read, .records])
            for (number, name) in [(4, "late-0"), (5, "late-1")] as [(UInt64, String)] {
                _ = try await log.place(self.imported(name), at: Epoch(number))
            }
            _ = try await log.fold(try await log.contents().folded(upTo: Epoch(5)).snapshot)
            try await self.removeFolded(over: log)
            #expect(one.fence.replaced.isEmpty)

            // When the replica reaches the store again
            self.house.store.recover()

            // Then it rereads each of the imported accounts
            try await until("all to be read", within: .seconds(5)) {
                Set(one.fence.replaced) == Set(["late-0", "late-1"].map { AccountID($0) })
            }
        }
    }

    @Test func `I3_a replica whose log differs from the stored log folds nothing`() async throws {
        // Given a log of which the store has lost an entry, and to which others have written since
        let known = KillLogContents(entries: self.entries(9))
        var standing = known.entries
        standing[4] = KillEntry(.kill, self.bob, reason: "since", at: self.house.clock.wall)
        try await self.write(standing)
        var keeper = KillLogKeeper(self.log, ReplicaVault(self.house.records), fewest: 2)

        #expect(try await keeper.fold(self.fenced(by: known)) == nil)

        #expect(try await self.log.contents() == KillLogContents(entries: standing))
    }

    @Test func `I4_a failover that loses a snapshot finds all entries still there`() async throws {
        // Given a log that is folded, and a failover right behind that
        let whole = KillLogContents(entries: self.entries(9))
        try await self.write(whole.entries)
        let fenced = self.fenced(by: whole)
        var keeper = KillLogKeeper(self.log, ReplicaVault(self.house.records), fewest: 2)
        #expect(try await keeper.fold(fenced) == Epoch(9))
        #expect(try await self.keys(.kills).count == 9)
        self.house.store.lose(1)

        // When it is folded once more
        #expect(try await keeper.fold(fenced) == Epoch(9))

        // Then entries are removed only when that snapshot has stood for a while
        #expect(try await self.keys(.kills).count == 9)
        _ = try await keeper.fold(fenced)
        #expect(try await self.keys(.kills).count == 2)
        #expect(try await self.log.contents() == whole.folded(upTo: Epoch(9)))
    }

    @Test func `I4_folded entries stay where a page of the snapshot is lost`() async throws {
        try await self.write(self.entries(9))
        _ = try await self.log.fold(try await self.log.contents().folded(upTo: Epoch(9)).snapshot)
        try await self.losePages()

        try await self.removeFolded()

        #expect(try await self.keys(.kills).count == 9)
    }

    @Test func `I4_on another server, folded entries stay for a minute more`() async throws {
        try await self.write(self.entries(1_050))
        let one = self.house.replica("a")
        try await self.house.run([one]) {
            try await until("a fold", within: .seconds(120)) { try await self.log.foldedUpTo() != nil }
            self.house.store.announceReconnect(toAnotherServer: true)

            await self.house.clock.pass(.seconds(90))

            #expect(try await self.keys(.kills).count == 1_050)
            await self.house.clock.pass(.seconds(60))
            #expect(try await self.keys(.kills).count == 2)
        }
    }

    private func fenced(by contents: KillLogContents) -> FencedLog {
        var fenced = FencedLog()
        let epochs = fenced.fencing(by: contents)
        _ = fenced.fenced(by: contents, epochs, draining: 0)
        fenced.note(kill: Epoch(2)) { $0.isEnded = true }
        return fenced
    }

    @Test func `after a store loses a folded log, kills are written back and the other numbers are filled`()
        async throws
    {
        try await self.write(self.entries(1_050))
        let one = self.house.replica("a")
        try await self.house.run([one]) {
            try await until("the log to be folded", within: .seconds(120)) { try await self.keys(.kills).count == 2 }
            let known = one.kills.epochs
            for key in try await self.keys(.kills) + self.keys(.killSnapshots) { self.house.store.erase(key) }

            try await one.kills.renew()

            let found = try await self.log.contents()
            #expect(found.last == known.last)
            #expect(found.numbered().filter { $0.entry.kind != .replaced }.map(\.epoch) == [Epoch(2), Epoch(1_049)])
            #expect(one.kills.holdsLease)
        }
    }
}

/// Lets a number of writes and removals succeed and fails the rest.
private func failing(after count: Int) -> @Sendable (FaultyTokenStore.Call) -> FaultyTokenStore.Fault {
    let begun = Tally()
    return { call in
        guard call.operation == .write || call.operation == .remove else { return .none }
        begun.add()
        return begun.count > count ? .away : .none
    }
}
