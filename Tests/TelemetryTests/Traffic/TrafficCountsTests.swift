import Telemetry
import Testing
import TokenModel

@Suite struct TrafficCountsTests {
    private func counted(_ records: [RequestRecord]) -> TrafficCounts {
        let meter = LoopMeter(routes: ["a", "b"], log: nil)
        for record in records { meter.ended(record, at: BootInstant(nanoseconds: 1_500_000)) }
        return meter.counts
    }

    @Test(arguments: [
        (0, StatusClass.none), (200, .successful), (204, .successful), (304, .redirection), (404, .callerError),
        (503, .serverError), (101, .switched), (600, .other),
    ])
    func `a status has one class`(status: Int, expected: StatusClass) {
        let counts = self.counted([.sample(route: 1, status: status)])
        for statusClass in StatusClass.allCases {
            #expect(counts.routes[1][statusClass] == (statusClass == expected ? 1 : 0))
        }
    }

    @Test(arguments: [
        (RequestRecord.Replay.none, ReplayOutcome?.none, false), (.held, .notRefreshed, false), (.sent, .failed, true),
        (.answered, .answered, true), (.refused, .refused, true), (.impossible, .impossible, false),
    ])
    func `a dead token has one outcome`(replay: RequestRecord.Replay, expected: ReplayOutcome?, isReplayed: Bool) {
        let record = RequestRecord.sample(route: 2, replay: replay)
        #expect(record.isReplayed == isReplayed)
        let counts = self.counted([record])
        for outcome in ReplayOutcome.allCases {
            #expect(counts.routes[2][outcome] == (outcome == expected ? 1 : 0))
        }
    }

    @Test func `counts are kept when a reload adds routes`() {
        let meter = LoopMeter(routes: ["a"], log: nil)
        meter.ended(.sample(route: 1), at: .now)
        meter.reload(routes: ["a", "b"], log: nil)
        meter.ended(.sample(route: 2), at: .now)
        meter.injected(route: 2)
        var sum = TrafficCounts(routes: 0)
        sum.add(meter.counts)
        #expect(sum.routes.map { $0[.successful] } == [0, 1, 1])
        #expect(sum.routes[2].injections == 1)
    }

    @Test func `the counts of several loops add up`() {
        var sum = TrafficCounts(routes: 2)
        for loop in 1...3 {
            var counts = self.counted(Array(repeating: .sample(route: 1, replay: .answered), count: loop))
            counts.downstreamConnections = loop
            counts.upstreamConnections = 10 * loop
            sum.add(counts)
        }
        #expect(sum.routes[1][.successful] == 6)
        #expect(sum.routes[1][.answered] == 6)
        #expect(sum.routes[1].durations.cumulative.last == 6)
        #expect(sum.routes[1].durations.seconds == 0.003)
        #expect(sum.routes[2][.successful] == 0)
        #expect(sum.downstreamConnections == 6)
        #expect(sum.upstreamConnections == 60)
    }

    @Test func `a route that is not configured is not counted`() {
        let meter = LoopMeter(routes: ["a"], log: nil)
        meter.ended(.sample(route: 2), at: .now)
        meter.injected(route: 2)
        #expect(meter.counts.routes.map { $0[.successful] } == [0, 0])
    }

    @Test func `a duration from a clock that went back counts as zero`() {
        var durations = DurationCounts()
        durations.add(nanoseconds: -5)
        durations.add(nanoseconds: .max)
        #expect(durations.cumulative.first == 1)
        #expect(durations.cumulative.suffix(2) == [1, 2])
    }
}
