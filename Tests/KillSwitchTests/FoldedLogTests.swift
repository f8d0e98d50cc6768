import KillSwitch
import Simulation
import TestKit
import Testing
import TokenModel
import TokenStorage

/// A kill log whose beginning is replaced by a snapshot.
@Suite(.simulated) struct FoldedLogTests {
    private let house = ReplicaGroup()
    private let bob = KillScope.account(AccountID("bob"))
    private var log: KillLog { KillLog(self.house.records) }

    private func imported(_ account: String) -> KillEntry {
        let account = AccountID(account)
        return KillEntry(
            .replaced,
            .account(account),
            replacements: [KillEntry.Replacement(account: account, grant: .random())],
            at: self.house.clock.wall
        )
    }

    /// `count` entries. The second one kills bob, the last but one revives him, and the others record imports into a
    /// few accounts.
    private func entries(_ count: Int) -> [KillEntry] {
        (1...count).map { number in
            switch number {
            case 2: KillEntry(.kill, self.bob, reason: "drill", at: self.house.clock.wall)
            case count - 1: KillEntry(.revive, self.bob, reason: "over", at: self.house.clock.wall)
            default: self.imported("account-\(number % 7)")
            }
        }
    }

    private func write(_ entries: [KillEntry]) async throws {
        for (index, entry) in entries.enumerated() {
            #expect(try await self.log.place(entry, at: Epoch(UInt64(index + 1))) == .written)
        }
    }

    /// The keys under a prefix.
    private func keys(_ prefix: RecordKey.Prefix) async throws -> [RecordKey] {
        var keys: [RecordKey] = []
        try await self.house.store.forEachRecord(under: prefix) { keys.append($0.key) }
        return keys
    }

    private func fold(upTo epoch: UInt64) async throws {
        let snapshot = try await self.log.contents().folded(upTo: Epoch(epoch)).snapshot
        #expect(try await self.log.fold(snapshot) == Epoch(epoch))
        try await self.log.removeFolded()
    }

    // MARK: - Contents

    @Test(arguments: [1, 2, 3, 9, 10])
    func `a folded log has the same kills and latest imports as the whole log`(end: UInt64) {
        let whole = KillLogContents(entries: self.entries(10))

        let folded = whole.folded(upTo: Epoch(end))

        #expect(folded.last == whole.last)
        #expect(folded.lastEntry == whole.lastEntry)
        #expect(folded.imports == whole.imports)
        #expect(folded.agrees(with: whole) && whole.agrees(with: folded))
        let kills = { (contents: KillLogContents) in contents.numbered().filter { $0.entry.kind != .replaced } }
        #expect(kills(folded) == kills(whole))
        #expect(folded.folded(upTo: Epoch(10)) == whole.folded(upTo: Epoch(10)))
    }

    @Test func `logs with different kills at one number do not agree, whether or not they are folded`() {
        let entries = self.entries(10)
        let whole = KillLogContents(entries: entries)
        var others = entries
        others[1] = KillEntry(.kill, .all, at: self.house.clock.wall)
        let other = KillLogContents(entries: others)

        let pairs = [
            (whole, other), (whole.folded(upTo: Epoch(5)), other), (whole, other.folded(upTo: Epoch(5))),
        ]
        for (one, another) in pairs {
            #expect(!one.agrees(with: another))
            #expect(!another.agrees(with: one))
        }
        #expect(whole.agrees(with: KillLogContents(entries: Array(others.prefix(1)))))
    }

    @Test(arguments: [[KillStreams.abort, .drain], [.drain, .abort]])
    func `of two kills of a scope that wait for the store, the one that aborts requests counts`(
        _ streams: [KillStreams]
    ) {
        var log = FencedLog()
        for streams in streams {
            let entry = KillEntry(.kill, self.bob, streams: streams, at: self.house.clock.wall)
            _ = log.pendingKill(PendingKill(entry: entry))
        }

        #expect(log.fencing(by: KillLogContents()).pending == [self.bob: .abort])
    }

    @Test func `a log is folded as far as every replica has read, but not past an incomplete kill`() {
        var log = FencedLog()
        let imports = (1...3_000).map { _ in self.imported("alice") }
        let kill = KillEntry(.kill, self.bob, at: self.house.clock.wall)
        let contents = KillLogContents(entries: imports + [kill, self.imported("alice")])
        _ = log.fenced(by: contents, log.fencing(by: contents), draining: 0)

        #expect(log.foldableUpTo(read: [Epoch(3_002), Epoch(1_700)]) == Epoch(1_700))
        #expect(log.foldableUpTo(read: [Epoch(999)]) == nil)
        #expect(log.foldableUpTo(read: [Epoch(3_002)]) == Epoch(3_000))
        log.note(kill: Epoch(3_001)) { $0.isEnded = true }
        #expect(log.foldableUpTo(read: [Epoch(3_002)]) == Epoch(3_002))
        log.fold(upTo: Epoch(3_002))
        #expect(log.foldableUpTo(read: [Epoch(3_002)]) == nil)
        #expect(log.contents.entries.isEmpty && log.contents.last == Epoch(3_002))
    }

    @Test func `a lock and its end stand as before when the log is folded, and when it is read piece by piece`() {
        let now = self.house.clock.wall
        let lock = KillEntry(.locked, .all, reason: "stolen", at: now)
        let entries =
            [self.imported("a"), lock, self.imported("b"), self.imported("c")]
            + [KillEntry(.unlocked, .all, at: now), self.imported("d")]
        for count in 1...entries.count {
            let expected = (2...4).contains(count) ? NumberedKillEntry(epoch: Epoch(2), entry: lock) : nil
            let whole = KillLogContents(entries: Array(entries.prefix(count)))
            #expect(whole.standingLock == expected, "\(count) entries")
            for end in 1...count {
                let folded = whole.folded(upTo: Epoch(UInt64(end)))
                #expect(folded.standingLock == expected, "\(count) entries, folded up to \(end)")
                var read = KillLogContents(entries: Array(entries.prefix(end)))
                read.append(entries[end..<count])
                #expect(read.standingLock == expected, "\(count) entries, of which \(end) were read before")
            }
        }
    }

    @Test func `a log is not folded past a lock that is not complete`() {
        var log = FencedLog()
        let lock = KillEntry(.locked, .all, at: self.house.clock.wall)
        let contents = KillLogContents(entries: [self.imported("a"), self.imported("a"), lock, self.imported("a")])
        _ = log.fenced(by: contents, log.fencing(by: contents), draining: 0)

        #expect(log.foldableUpTo(read: [Epoch(4)], fewest: 1) == Epoch(2))
        log.note(kill: Epoch(3)) { $0.isEnded = true }
        #expect(log.foldableUpTo(read: [Epoch(4)], fewest: 1) == Epoch(4))
    }

    // MARK: - Store

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
        try await self.losePages(of: whole.folded(upTo: Epoch(15)).snapshot)
        await #expect(throws: StoreError(.unreadable, "")) { _ = try await self.log.contents() }

        // One that knows less, and one that knows another log
        #expect(try await !self.log.restoreSnapshot(knowing: KillLogContents(entries: Array(entries.prefix(10)))))
        #expect(try await !self.log.restoreSnapshot(knowing: KillLogContents(entries: self.entries(20))))
        await #expect(throws: StoreError(.unreadable, "")) { _ = try await self.log.contents() }
        #expect(try await self.log.restoreSnapshot(knowing: whole))

        #expect(try await self.log.contents() == whole.folded(upTo: Epoch(15)))
        #expect(try await !self.log.restoreSnapshot(knowing: whole))
    }

    /// Folds the log, with a failover between the pages and number 1, which names them.
    private func losePages(of snapshot: KillLogSnapshot) async throws {
        let store = self.house.store
        store.beforeWrite(at: .kill(1)) { store.lose(1) }
        _ = try await self.log.fold(snapshot)
    }

    @Test(arguments: [false, true])
    func `a replica puts lost pages back within a minute, or at once if it has to read the whole log`(
        readsAll: Bool
    ) async throws {
        try await self.write(self.entries(20))
        let one = self.house.replica("a")
        try await self.house.run([one]) {
            await self.house.clock.pass(.seconds(1))
            try await self.losePages(of: try await self.log.contents().folded(upTo: Epoch(15)).snapshot)
            if readsAll { self.house.store.erase(.kill(20)) }

            try await until("the log to be whole", within: .seconds(readsAll ? 5 : 60)) {
                (try? await self.log.contents())?.last == Epoch(20)
            }
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
                #expect(next.kills.lastReplacement(of: account) == last)
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
        let log = self.log
        let cut = Task(executorPreference: Simulation.running) { try await log.removeFolded() }
        cut.cancel()
        try await cut.value
        #expect(try await self.keys(.kills).count == 9)

        try await log.removeFolded()

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
            try await log.removeFolded()
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
        var fenced = FencedLog()
        let epochs = fenced.fencing(by: known)
        _ = fenced.fenced(by: known, epochs, draining: 0)
        fenced.note(kill: Epoch(2)) { $0.isEnded = true }
        let keeper = KillLogKeeper(self.log, ReplicaVault(self.house.records), fewest: 2)

        #expect(try await keeper.fold(fenced) == nil)

        #expect(try await self.log.contents() == KillLogContents(entries: standing))
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
