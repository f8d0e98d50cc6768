import TestKit
import Testing
import TokenModel
import TokenStorage

/// The decisions about one mirror, over a clock that stands still.
struct MirrorProgressTests {
    private let timing = MirrorTiming()
    private let key = RecordKey.account("alice")
    private var now = Moment(
        boot: BootInstant(nanoseconds: 1_000_000_000_000),
        wall: WallTime(millisecondsSince1970: 1_767_225_600_000)
    )

    private mutating func pass(_ duration: Duration) {
        self.now = Moment(boot: self.now.boot.advanced(by: duration), wall: self.now.wall.advanced(by: duration))
    }

    /// A mirror that is up to date.
    private func upToDate() -> MirrorProgress {
        var progress = MirrorProgress(self.timing, at: self.now)
        progress.beginComparison(at: self.now)
        _ = progress.endComparison(at: self.now)
        progress.confirmed(at: self.now)
        return progress
    }

    /// An expectation of the result of an event, which `#expect` can't evaluate itself.
    private func expect<Value: Equatable>(
        _ found: Value,
        _ expected: Value,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(found == expected, sourceLocation: sourceLocation)
    }

    @Test func `a mirror begins behind and is compared at once`() {
        var progress = MirrorProgress(self.timing, at: self.now)
        #expect(progress.phase == .behind(since: self.now.wall))
        #expect(progress.comparisonDue(at: self.now.boot) == .now)
        self.expect(progress.route(self.key), .leave)
        #expect(progress.completeAt == nil)
    }

    @Test func `what is written during a comparison is noted, and sent once the mirror is up to date`() {
        var progress = MirrorProgress(self.timing, at: self.now)
        progress.beginComparison(at: self.now)
        self.expect(progress.route(self.key), .leave)
        self.expect(progress.takeNoted(), [self.key])
        self.expect(progress.takeNoted(), [])
        self.expect(progress.route(.account("bob")), .leave)
        self.expect(progress.endComparison(at: self.now), [.account("bob")])
        #expect(progress.phase == .upToDate)
        self.expect(progress.route(self.key), .send)
    }

    @Test mutating func `a mirror is compared again a minute after it was caught up, and then every five minutes`() {
        var progress = self.upToDate()
        #expect(progress.comparisonDue(at: self.now.boot) == .nothing(until: self.now.boot.advanced(by: .seconds(60))))
        self.pass(.seconds(60))
        #expect(progress.comparisonDue(at: self.now.boot) == .now)
        progress.beginComparison(at: self.now)
        self.expect(progress.route(self.key), .send)
        self.expect(progress.endComparison(at: self.now), [])
        #expect(progress.comparisonDue(at: self.now.boot) == .nothing(until: self.now.boot.advanced(by: .seconds(300))))
    }

    @Test mutating func `after a failed write no comparison begins for five seconds`() {
        var progress = self.upToDate()
        self.expect(progress.failed(isWrite: true, at: self.now), true)
        #expect(progress.phase == .behind(since: self.now.wall))
        self.expect(progress.route(self.key), .leave)
        let due = self.now.boot.advanced(by: .seconds(5))
        #expect(progress.comparisonDue(at: self.now.boot) == .nothing(until: due))
        // and a later one moves the time
        self.pass(.seconds(2))
        self.expect(progress.failed(isWrite: true, at: self.now), false)
        #expect(progress.comparisonDue(at: due) == .nothing(until: due.advanced(by: .seconds(2))))
    }

    @Test mutating func `a comparison in which a call failed does not show that the mirror is complete`() {
        var progress = self.upToDate()
        _ = progress.failed(isWrite: false, at: self.now)
        self.pass(.seconds(1))
        progress.beginComparison(at: self.now)
        _ = progress.failed(isWrite: true, at: self.now)
        self.expect(progress.endComparison(at: self.now), nil)
        self.expect(progress.route(self.key), .leave)
        #expect(progress.comparisonDue(at: self.now.boot) != .now)
    }

    @Test mutating func `attempts to reach a mirror are further and further apart, up to ten seconds`() {
        var progress = MirrorProgress(self.timing, at: self.now)
        var pauses: [Duration] = []
        for _ in 0..<9 {
            progress.beginComparison(at: self.now)
            progress.comparisonFailed(at: self.now)
            guard case .nothing(let until) = progress.comparisonDue(at: self.now.boot) else { continue }
            pauses.append(self.now.boot.duration(to: until))
            self.pass(pauses.last ?? .zero)
        }
        #expect(pauses == [250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000, 10_000].map { .milliseconds($0) })
    }

    @Test mutating func `a doubt brings the next comparison forward and leaves the mirror up to date`() {
        var progress = self.upToDate()
        progress.doubt(at: self.now)
        #expect(progress.phase == .upToDate)
        self.pass(.seconds(5))
        #expect(progress.comparisonDue(at: self.now.boot) == .now)
    }

    @Test mutating func `the mark is refreshed every ten seconds, and at once when the mirror falls behind`() {
        var progress = self.upToDate()
        #expect(progress.refreshDue(at: self.now.boot) == .nothing(until: self.now.boot.advanced(by: .seconds(10))))
        self.pass(.seconds(10))
        #expect(progress.refreshDue(at: self.now.boot) == .now)
        self.expect(progress.beginRefresh(at: self.now), true)
        progress.confirmed(at: self.now)
        #expect(progress.completeAt == self.now.wall)

        _ = progress.failed(isWrite: true, at: self.now)
        #expect(progress.refreshDue(at: self.now.boot) == .now)
        self.expect(progress.beginRefresh(at: self.now), false)
        #expect(progress.refreshDue(at: self.now.boot) != .now)
        // and one that is behind is not said to be complete
        let time = progress.completeAt
        self.pass(.seconds(1))
        progress.confirmed(at: self.now)
        #expect(progress.completeAt == time)
    }

    @Test mutating func `nothing is written to a mirror that is a store of its own, ever again`() {
        var progress = self.upToDate()
        progress.promoted()
        progress.refused("other", at: self.now)
        progress.accepted(at: self.now)
        _ = progress.failed(isWrite: true, at: self.now)
        #expect(progress.phase == .promoted)
        self.expect(progress.route(self.key), .leave)
        #expect(progress.comparisonDue(at: self.now.boot) == .nothing(until: .distantFuture))
        self.expect(progress.endComparison(at: self.now), nil)
    }

    @Test mutating func `a mirror that is refused is looked at again, and caught up if it is one`() {
        var progress = MirrorProgress(self.timing, at: self.now)
        progress.beginComparison(at: self.now)
        progress.refused("it holds another store", at: self.now)
        self.expect(progress.route(self.key), .leave)
        self.expect(progress.takeNoted(), [])
        self.pass(.seconds(10))
        #expect(progress.comparisonDue(at: self.now.boot) == .now)
        progress.beginComparison(at: self.now)
        progress.accepted(at: self.now)
        #expect(progress.phase == .behind(since: self.now.wall))
        self.expect(progress.endComparison(at: self.now), [])
    }
}
