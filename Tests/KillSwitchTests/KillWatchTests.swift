import KillSwitch
import Testing
import TokenModel
import TokenStorage

/// The conditions for a complete kill.
@Suite struct KillWatchTests {
    private let start = BootInstant(nanoseconds: 0)
    private let id = ReplicaID("r")

    private func entry(acknowledged: UInt64 = 0, version: UInt64 = 1) -> ReplicaVault.Entry {
        ReplicaVault.Entry(
            id: self.id,
            record: ReplicaRecord(
                incarnation: IncarnationID("b"),
                name: "a",
                lease: .seconds(10),
                acknowledged: Epoch(acknowledged),
                joinedAt: WallTime(millisecondsSince1970: 0)
            ),
            version: Version(version)
        )
    }

    private func at(_ seconds: Double) -> BootInstant { self.start.advanced(by: .seconds(seconds)) }

    /// Reads the same record each second from 1 to `end`, except for the seconds in `gap`.
    private func watch(until end: Int, without gap: Range<Int> = 0..<0) -> KillWatch {
        var watch = self.watch([self.entry()])
        for second in 1...end where !gap.contains(second) {
            watch.saw(self.entry(), of: self.id, at: self.at(Double(second)))
        }
        return watch
    }

    private func watch(
        _ entries: [ReplicaVault.Entry],
        on reach: StoreGuarantees.Reach = .host
    ) -> KillWatch {
        KillWatch(Epoch(3), ReplicaVault.Listing(entries: entries), reach: reach, now: self.start)
    }

    @Test func `a kill is complete if all replicas are fenced`() {
        #expect(self.watch([self.entry(acknowledged: 3)]).isComplete)
        #expect(!self.watch([self.entry(acknowledged: 2)]).isComplete)
    }

    @Test func `a kill is complete when the last replica acknowledges it`() {
        var watch = self.watch([self.entry()])
        watch.saw(self.entry(acknowledged: 3, version: 2), of: self.id, at: self.at(1))
        #expect(watch.isComplete)
        #expect(watch.replicas.map(\.state) == [.acknowledged])
    }

    @Test func `if reads may be stale, silence is proven by expelling the version that was watched`() {
        var watch = self.watch([self.entry()], on: .network)
        for second in 1...12 { watch.saw(self.entry(), of: self.id, at: self.at(Double(second))) }
        #expect(!watch.isComplete)
        #expect(watch.silent == [self.entry()])

        // The replica has written in the meantime: a compare-and-set reveals that, and the count restarts.
        watch.saw(self.entry(version: 2), of: self.id, at: self.at(13))
        #expect(watch.silent == [])

        for second in 14...25 { watch.saw(self.entry(version: 2), of: self.id, at: self.at(Double(second))) }
        #expect(watch.silent == [self.entry(version: 2)])
        watch.expelled(self.id)
        #expect(watch.isComplete)
        #expect(watch.replicas.map(\.state) == [.leaseExpired])
    }

    @Test func `a silent replica that another waiter expels completes the kill, at once if it was watched`() {
        var expelled = self.entry(version: 2)
        var record = expelled.record
        record.isExpelled = true
        expelled = ReplicaVault.Entry(id: self.id, record: record, version: Version(2))

        var watch = self.watch([self.entry()], on: .network)
        for second in 1...12 { watch.saw(self.entry(), of: self.id, at: self.at(Double(second))) }
        watch.saw(expelled, of: self.id, at: self.at(13))
        #expect(watch.isComplete)

        var other = self.watch([self.entry()], on: .network)
        for second in 1...12 { other.saw(expelled, of: self.id, at: self.at(Double(second))) }
        #expect(!other.isComplete)
        other.saw(expelled, of: self.id, at: self.at(13))
        #expect(other.isComplete)
    }

    @Test func `a kill is complete when the last replica is gone`() {
        var watch = self.watch([self.entry()])
        watch.saw(nil, of: self.id, at: self.at(1))
        #expect(watch.replicas.map(\.state) == [.gone])
    }

    @Test func `silence completes a kill only after the lease, a hundredth of it and a second`() {
        #expect(!self.watch(until: 11).isComplete)
        #expect(self.watch(until: 12).isComplete)
    }

    @Test func `a gap between the reads restarts the silence`() {
        #expect(!self.watch(until: 16, without: 2..<6).isComplete)
        #expect(self.watch(until: 18, without: 2..<6).isComplete)
    }

    @Test func `any write of a replica restarts its silence`() {
        var watch = self.watch(until: 10)
        watch.saw(self.entry(acknowledged: 2, version: 2), of: self.id, at: self.at(11))
        watch.saw(self.entry(acknowledged: 2, version: 2), of: self.id, at: self.at(12.5))
        #expect(!watch.isComplete)
        #expect(watch.replicas.first?.until == self.at(22.1))
    }

    @Test func `the silence of a replica counts only from when its record can be opened`() {
        var watch = KillWatch(Epoch(3), ReplicaVault.Listing(unreadable: [self.id]), now: self.start)
        #expect(!watch.isComplete)
        #expect(watch.replicas.first?.until == nil)

        for second in 100...111 { watch.saw(self.entry(), of: self.id, at: self.at(Double(second))) }

        #expect(!watch.isComplete)
        #expect(watch.replicas.first?.until == self.at(100).advanced(by: .milliseconds(11_100)))
        watch.saw(self.entry(), of: self.id, at: self.at(112))
        #expect(watch.replicas.map(\.state) == [.leaseExpired])
    }

    @Test func `failed reads of one replica restart its silence and not that of others`() {
        let other = ReplicaID("s")
        let others = ReplicaVault.Entry(id: other, record: self.entry().record, version: Version(1))
        var watch = self.watch([self.entry(), others])
        for second in 1...12 {
            watch.saw(others, of: other, at: self.at(Double(second)))
            if second < 3 || second > 5 { watch.saw(self.entry(), of: self.id, at: self.at(Double(second))) }
        }
        #expect(watch.replicas.map(\.state) == [.pending, .leaseExpired])
        #expect(watch.replicas.first?.until == self.at(6).advanced(by: .milliseconds(11_100)))
    }

    @Test func `in slow rounds, each replica's silence counts if that replica is read often enough`() {
        let other = ReplicaID("s")
        let others = ReplicaVault.Entry(id: other, record: self.entry().record, version: Version(1))
        var watch = self.watch([self.entry(), others])
        // One replica is read at the beginning of each round, the other 1.5 s later.
        for round in 0...6 {
            watch.saw(self.entry(), of: self.id, at: self.at(Double(round) * 2))
            watch.saw(others, of: other, at: self.at(Double(round) * 2 + 1.5))
        }
        #expect(watch.isComplete)
    }
}
