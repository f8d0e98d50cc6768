import Proxy
import Testing
import TokenModel

@Suite struct ExpectationsTests {
    private static let first = TokenVersion(.sample(1))
    private static let second = TokenVersion(.sample(2))

    private func tick(_ duration: Duration) -> CoarseTime {
        var coarseNow = CoarseTime.start
        while coarseNow.duration(since: .start) < duration { coarseNow.advance() }
        return coarseNow
    }

    @Test func `an upstream of which nothing is known is asked`() {
        #expect(Expectations().mayExpect(Self.first, slot: 3, at: .start))
    }

    @Test(arguments: [(Duration.seconds(9), false), (.seconds(10), true)])
    func `an upstream that accepted the token is not asked for ten seconds`(time: Duration, mayExpect: Bool) {
        var expectations = Expectations()
        expectations.took(Self.first, slot: 1, at: .start)
        #expect(expectations.mayExpect(Self.first, slot: 1, at: self.tick(time)) == mayExpect)
    }

    @Test func `the token accepted last counts, for each account separately`() {
        var expectations = Expectations()
        expectations.took(Self.first, slot: 1, at: .start)
        expectations.took(Self.first, slot: 1, at: self.tick(.seconds(8)))
        #expect(!expectations.mayExpect(Self.first, slot: 1, at: self.tick(.seconds(17))))
        #expect(expectations.mayExpect(Self.second, slot: 1, at: .start))
        #expect(expectations.mayExpect(Self.first, slot: 0, at: .start))

        expectations.took(Self.second, slot: 1, at: self.tick(.seconds(8)))
        #expect(!expectations.mayExpect(Self.second, slot: 1, at: self.tick(.seconds(9))))
        #expect(expectations.mayExpect(Self.first, slot: 1, at: self.tick(.seconds(9))))
    }

    @Test func `a token that turned out to be dead counts as never accepted`() {
        var expectations = Expectations()
        expectations.took(Self.first, slot: 1, at: .start)
        expectations.forget(Self.second, slot: 1)
        #expect(!expectations.mayExpect(Self.first, slot: 1, at: .start))
        expectations.forget(Self.first, slot: 1)
        #expect(expectations.mayExpect(Self.first, slot: 1, at: .start))
    }

    @Test(arguments: [(Duration.seconds(599), false), (.seconds(600), true)])
    func `an upstream that refused Expect is not asked for ten minutes, whatever the token`(
        time: Duration,
        mayExpect: Bool
    ) {
        var expectations = Expectations()
        expectations.refused(at: .start)
        #expect(expectations.mayExpect(Self.first, slot: 0, at: self.tick(time)) == mayExpect)
    }
}
