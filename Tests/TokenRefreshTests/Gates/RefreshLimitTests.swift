import Testing
import TokenModel
import TokenRefresh

@Suite struct RefreshLimitTests {
    private let start = Moment.start.boot

    @Test func `five refreshes in 30 s pass and the sixth waits until the first is 30 s old`() {
        var limit = RefreshLimit()
        for second in 0..<5 {
            let wait = limit.admit(lifetime: .seconds(3_600), now: self.start.advanced(by: .seconds(second)))
            #expect(wait == nil)
        }
        let sixth = limit.admit(lifetime: .seconds(3_600), now: self.start.advanced(by: .seconds(10)))
        let later = limit.admit(lifetime: .seconds(3_600), now: self.start.advanced(by: .seconds(30)))
        #expect(sixth == .seconds(20))
        #expect(later == nil)
    }

    @Test(arguments: [
        // Half the lifetime allows more than 5 in 30 s.
        (Duration.seconds(4), 61),
        (.seconds(12), 20 + 5),
        // A lifetime of zero allows one refresh per second and not a storm.
        (.zero, 121),
        (nil, 20),
    ])
    func `a short-lived token may be refreshed once per half of its lifetime`(
        lifetime: Duration?,
        most: Int
    ) {
        var limit = RefreshLimit()
        var admitted = 0
        for step in 0...1_200 {
            let now = self.start.advanced(by: .milliseconds(100 * step))
            if limit.admit(lifetime: lifetime, now: now) == nil { admitted += 1 }
        }
        #expect(admitted <= most + 5)
        #expect(admitted >= most - 5)
    }
}
