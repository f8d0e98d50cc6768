import KillSwitch
import Testing
import TokenModel
import TokenStorage

/// When a kill is complete.
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

    /// Reads the same record each second from 1 to `end`, but for the seconds in `gap`.
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

    @Test func `given no replica but those that are fenced, it is complete`() {
        #expect(self.watch([self.entry(acknowledged: 3)]).isComplete)
        #expect(!self.watch([self.entry(acknowledged: 2)]).isComplete)
    }

    @Test func `given a replica that acknowledges, it is complete`() {
        var watch = self.watch([self.entry()])
        watch.saw(self.entry(acknowledged: 3, version: 2), of: self.id, at: self.at(1))
        #expect(watch.isComplete)
        #expect(watch.replicas.map(\.state) == [.acknowledged])
    }

    @Test func `given a store whose reads may be stale, silence is proven by expelling the version that was watched`() {
        var watch = self.watch([self.entry()], on: .network)
        for second in 1...12 { watch.saw(self.entry(), of: self.id, at: self.at(Double(second))) }
        #expect(!watch.isComplete)
        #expect(watch.silent == [self.entry()])

        // It had written meanwhile: a compare-and-set says so, and the count starts anew.
        watch.saw(self.entry(version: 2), of: self.id, at: self.at(13))
        #expect(watch.silent == [])

        for second in 14...25 { watch.saw(self.entry(version: 2), of: self.id, at: self.at(Double(second))) }
        #expect(watch.silent == [self.entry(version: 2)])
        watch.expelled(self.id)
        #expect(watch.isComplete)
        #expect(watch.replicas.map(\.state) == [.leaseExpired])
    }

    @Test func `given another waiter that expels a silent replica, it is complete at once, else by its silence`() {
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

    @Test func `given a replica that has gone, it is complete`() {
        var watch = self.watch([self.entry()])
        watch.saw(nil, of: self.id, at: self.at(1))
        #expect(watch.replicas.map(\.state) == [.gone])
    }

    @Test func `given silence, it is complete when the lease, a hundredth and a second are over, and not before`() {
        #expect(!self.watch(until: 11).isComplete)
        #expect(self.watch(until: 12).isComplete)
    }

    @Test func `given a gap between the reads, the silence counts from after it`() {
        #expect(!self.watch(until: 16, without: 2..<6).isComplete)
        #expect(self.watch(until: 18, without: 2..<6).isComplete)
    }

    @Test func `given a replica that writes anything, its silence counts anew`() {
        var watch = self.watch(until: 10)
        watch.saw(self.entry(acknowledged: 2, version: 2), of: self.id, at: self.at(11))
        watch.saw(self.entry(acknowledged: 2, version: 2), of: self.id, at: self.at(12.5))
        #expect(!watch.isComplete)
        #expect(watch.replicas.first?.until == self.at(22.1))
    }

    @Test func `given a replica whose record does not open, its silence counts from when it does`() {
        var watch = KillWatch(Epoch(3), ReplicaVault.Listing(unreadable: [self.id]), now: self.start)
        #expect(!watch.isComplete)
        #expect(watch.replicas.first?.until == nil)

        for second in 100...111 { watch.saw(self.entry(), of: self.id, at: self.at(Double(second))) }

        #expect(!watch.isComplete)
        #expect(watch.replicas.first?.until == self.at(100).advanced(by: .milliseconds(11_100)))
        watch.saw(self.entry(), of: self.id, at: self.at(112))
        #expect(watch.replicas.map(\.state) == [.leaseExpired])
    }

    @Test func `given reads of one that fail, its silence counts from after them, and that of others goes on`() {
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

    @Test func `given rounds that take longer than the gap, replicas that are each read often enough lapse`() {
        let other = ReplicaID("s")
        let others = ReplicaVault.Entry(id: other, record: self.entry().record, version: Version(1))
        var watch = self.watch([self.entry(), others])
        // The one is read at the beginning of each round, the other 1.5 s later.
        for round in 0...6 {
            watch.saw(self.entry(), of: self.id, at: self.at(Double(round) * 2))
            watch.saw(others, of: other, at: self.at(Double(round) * 2 + 1.5))
        }
        #expect(watch.isComplete)
    }
}
