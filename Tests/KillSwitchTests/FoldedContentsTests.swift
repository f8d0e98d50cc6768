import KillSwitch
import Simulation
import TestKit
import Testing
import TokenModel
import TokenStorage

/// What is known of a kill log whose beginning is replaced by a snapshot.
@Suite(.simulated) struct FoldedContentsTests: LogSuite {
    let house = ReplicaGroup()

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
}
