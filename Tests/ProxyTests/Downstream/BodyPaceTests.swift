import Proxy
import Testing

@Suite struct BodyPaceTests {
    private let timeouts = CallerTimeouts(bodyRate: 1_000, bodyGrace: .seconds(10))

    private func pace(_ time: Duration) -> BodyPace {
        var pace = BodyPace()
        for _ in 0..<Int(time / CoarseTime.period) { pace.waited() }
        return pace
    }

    @Test(arguments: [
        (0, 0, false), (10_000, 0, false), (10_250, 0, true),
        (10_250, 10_249, true), (10_250, 10_250, false), (3_600_000, 3_599_999, true), (3_600_000, 3_600_000, false),
    ])
    func `a caller that sends fewer bytes than the rate after ten seconds of waiting is too slow`(
        milliseconds: Int,
        bytes: Int,
        isTooSlow: Bool
    ) {
        #expect(self.pace(.milliseconds(milliseconds)).isTooSlow(bytes, by: self.timeouts) == isTooSlow)
    }

    @Test func `without a minimum rate any pace is accepted`() {
        #expect(!self.pace(.seconds(3_600)).isTooSlow(0, by: CallerTimeouts(bodyRate: 0)))
    }
}
