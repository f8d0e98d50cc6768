import Testing
import TokenModel
import TokenRefresh

@Suite struct FreshnessTests {
    private let now = Moment.start

    @Test func `a token that this process received is usable for exactly its lifetime`() {
        let tokens = TokenSet.sample(lifetime: .seconds(60))

        let freshness = Freshness.evaluate(tokens, receipt: .here(at: self.now.boot), now: self.now)

        #expect(freshness.isUsable(at: self.now.boot.advanced(by: .seconds(60) - .nanoseconds(1))))
        #expect(!freshness.isUsable(at: self.now.boot.advanced(by: .seconds(60))))
        #expect(!freshness.isDoubtful)
    }

    @Test func `I21_setting the wall clock back by a year does not extend a token that this process received`() {
        let tokens = TokenSet.sample(lifetime: .seconds(60))
        let jumped = Moment(boot: self.now.boot, wall: self.now.wall.advanced(by: .seconds(-31_536_000)))

        let freshness = Freshness.evaluate(tokens, receipt: .here(at: self.now.boot), now: jumped)

        #expect(freshness.usableUntil == self.now.boot.advanced(by: .seconds(60)))
    }

    @Test(arguments: [
        (age: Duration.seconds(0), lifetime: Duration.seconds(3_600), left: Duration.seconds(3_600), doubtful: false),
        (.seconds(600), .seconds(3_600), .seconds(3_000), false),
        (.seconds(3_600), .seconds(3_600), .zero, false),
        // The writer's clock is ahead. It is believed up to 5 min, but the token never gets more than its lifetime.
        (.seconds(-300), .seconds(3_600), .seconds(3_600), false),
        (.seconds(-301), .seconds(3_600), .seconds(3_600), true),
        (.seconds(-31_536_000), .seconds(3_600), .seconds(3_600), true),
        // The oldest receipt that is believed, an older one, and lifetimes outside the range from 0 to 86,400 s.
        (.seconds(86_400), .seconds(86_400), .zero, false),
        (.seconds(86_401), .seconds(90_000), .seconds(-1), true),
        (.seconds(0), .seconds(31_536_000), .seconds(86_400), false),
        (.seconds(0), .seconds(-5), .zero, false),
    ])
    func `a stored token's remaining lifetime counts from now and is doubtful if its receipt time is implausible`(
        age: Duration,
        lifetime: Duration,
        left: Duration,
        doubtful: Bool
    ) {
        let tokens = TokenSet.sample(receivedAt: self.now.wall.advanced(by: .zero - age), lifetime: lifetime)

        let freshness = Freshness.evaluate(tokens, receipt: .stored, now: self.now)

        #expect(freshness.usableUntil == self.now.boot.advanced(by: left))
        #expect(freshness.isDoubtful == doubtful)
    }

    @Test func `without an access token nothing is usable`() {
        var tokens = TokenSet.sample()
        tokens.accessToken = nil

        #expect(Freshness.evaluate(tokens, receipt: .stored, now: self.now).usableUntil == nil)
        #expect(Freshness.evaluate(nil, receipt: .stored, now: self.now).usableUntil == nil)
    }
}
