import Telemetry
import Testing
import TokenModel

@Suite struct TrafficHistoryTests {
    private static func second(_ second: Double) -> BootInstant { BootInstant(nanoseconds: Int64(second * 1e9)) }

    private static func totals(_ requests: UInt64, refreshes: UInt64 = 0) -> TrafficTotals {
        var totals = TrafficTotals()
        totals.requests = requests
        totals.refreshes = refreshes
        return totals
    }

    /// Looks every second from `from` on, and ends intervals as they are over.
    private static func run(
        _ history: inout TrafficHistory,
        seconds: ClosedRange<Int>,
        delay: Double = 0,
        totals: (Int) -> TrafficTotals = { Self.totals(UInt64($0)) }
    ) {
        for second in seconds {
            let now = Self.second(Double(second) + delay)
            if history.look(at: now, waiters: 0) { history.endInterval(at: now, totals(second)) }
        }
    }

    @Test func `an interval is over after 15 seconds, and its sample has what was counted within it`() {
        var history = TrafficHistory(at: Self.second(0), Self.totals(100, refreshes: 7))
        #expect(history.samples.isEmpty)
        let early = [14.9, 15].map { history.look(at: Self.second($0), waiters: 0) }
        #expect(early == [false, true])
        history.endInterval(at: Self.second(15), Self.totals(130, refreshes: 8))
        let late = [29.9, 30].map { history.look(at: Self.second($0), waiters: 0) }
        #expect(late == [false, true])
        history.endInterval(at: Self.second(30), Self.totals(130, refreshes: 9))
        #expect(
            history.samples == [
                .init(end: Self.second(15), counts: Self.totals(30, refreshes: 1), waiters: 0),
                .init(end: Self.second(30), counts: Self.totals(0, refreshes: 1), waiters: 0),
            ]
        )
    }

    @Test func `a sample has the most waiters that were seen within its interval, and the next one starts anew`() {
        var history = TrafficHistory(at: Self.second(0))
        for (second, waiters) in [(1.0, 0), (2, 40), (3, 3), (15, 1), (30, 2)] {
            guard history.look(at: Self.second(second), waiters: waiters) else { continue }
            history.endInterval(at: Self.second(second), TrafficTotals())
        }
        #expect(history.samples.map(\.waiters) == [40, 2])
    }

    @Test func `the last hour is kept, the oldest sample first`() {
        var history = TrafficHistory(at: Self.second(0))
        Self.run(&history, seconds: 1...4_500)
        #expect(history.samples.count == 240)
        #expect(history.samples.first?.end == Self.second(915))
        #expect(history.samples.last?.end == Self.second(4_500))
        #expect(history.samples.allSatisfy { $0.counts == Self.totals(15) })
    }

    @Test func `small delays do not add up`() {
        var history = TrafficHistory(at: Self.second(0))
        Self.run(&history, seconds: 1...150, delay: 0.9)
        #expect(history.samples.map(\.end) == (1...10).map { Self.second(Double($0) * 15 + 0.9) })
    }

    @Test(arguments: [16.0, 28.0, 100_000.0])
    func `an interval in which nobody looked is one sample with its true end, and the next one is no short one`(
        late: Double
    ) throws {
        var history = TrafficHistory(at: Self.second(0))
        let isOver = history.look(at: Self.second(late), waiters: 0)
        #expect(isOver)
        history.endInterval(at: Self.second(late), Self.totals(3))
        #expect(history.samples == [.init(end: Self.second(late), counts: Self.totals(3), waiters: 0)])
        let next = [7, 15].map { history.look(at: Self.second(late + $0), waiters: 0) }
        #expect(next == [false, true])
    }

    @Test func `a counter that was read too low counts as unchanged`() {
        var history = TrafficHistory(at: Self.second(0), Self.totals(10))
        history.endInterval(at: Self.second(15), Self.totals(8, refreshes: 1))
        #expect(history.samples.map(\.counts) == [Self.totals(0, refreshes: 1)])
    }

    @Test func `totals sum up all routes and providers, by what came of each request`() {
        let meter = LoopMeter(routes: ["a", "b"], log: nil)
        for (route, status) in [(0, 404), (1, 200), (1, 503), (2, 502), (2, 401), (2, 0), (2, 403)] {
            meter.ended(.sample(route: route, status: status), at: .now)
        }
        let providers = [ProviderID("one"), ProviderID("two")]
        let refreshes = RefreshMeter(providers, outcomes: ["success", "dead"])
        for provider in providers { refreshes.add("success", of: provider, took: .zero) }
        for outcome in ["dead", "not_sent", "ambiguous"] { refreshes.add(outcome, of: providers[0], took: .zero) }
        var expected = TrafficTotals()
        expected.requests = 7
        expected.clientErrors = 3
        expected.serverErrors = 2
        expected.refreshes = 2
        expected.refreshFailures = 3
        #expect(TrafficTotals(meter.counts, refreshes.providers) == expected)
    }
}
