import Testing
import TokenModel
import TokenRefresh

@Suite struct RefreshLimitTests {
    private let start = Moment.start.boot

    @Test func `five in 30 s pass and the sixth waits for the first to age`() {
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
        // No lifetime at all allows one a second, not a storm.
        (.zero, 121),
        (nil, 20),
    ])
    func `a token that ends early may be refreshed as often as every half of its life`(
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
