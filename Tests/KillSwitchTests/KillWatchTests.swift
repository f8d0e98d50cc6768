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
                boot: BootID("b"),
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
        var watch = KillWatch(Epoch(3), listed: [self.entry()], now: self.start)
        for second in 1...end where !gap.contains(second) {
            watch.saw([self.id: self.entry()], at: self.at(Double(second)))
        }
        return watch
    }

    @Test func `given no replica but those that are fenced, it is complete`() {
        #expect(KillWatch(Epoch(3), listed: [self.entry(acknowledged: 3)], now: self.start).isComplete)
        #expect(!KillWatch(Epoch(3), listed: [self.entry(acknowledged: 2)], now: self.start).isComplete)
    }

    @Test func `given a replica that acknowledges, it is complete`() {
        var watch = KillWatch(Epoch(3), listed: [self.entry()], now: self.start)
        watch.saw([self.id: self.entry(acknowledged: 3, version: 2)], at: self.at(1))
        #expect(watch.isComplete)
        #expect(watch.replicas.map(\.state) == [.acknowledged])
    }

    @Test func `given a replica that has gone, it is complete`() {
        var watch = KillWatch(Epoch(3), listed: [self.entry()], now: self.start)
        watch.saw([self.id: nil], at: self.at(1))
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
        watch.saw([self.id: self.entry(acknowledged: 2, version: 2)], at: self.at(11))
        watch.saw([self.id: self.entry(acknowledged: 2, version: 2)], at: self.at(12.5))
        #expect(!watch.isComplete)
        #expect(watch.replicas.first?.until == self.at(22.1))
    }

    @Test func `given a read that failed, nothing is inferred from it`() {
        var watch = KillWatch(Epoch(3), listed: [self.entry()], now: self.start)
        watch.saw([:], at: self.at(1))
        #expect(watch.replicas.map(\.state) == [.pending])
    }
}
