import Testing
import TokenModel
import TokenRefresh

@Suite struct RefusalsTests {
    private let start = Moment.start.boot
    private func tokenVersion(_ generation: UInt64) -> TokenVersion {
        TokenVersion(grant: GrantID("g"), generation: Generation(generation))
    }

    @Test func `a 401 to a token that no 401 brought refreshes it`() {
        var refusals = Refusals()
        let first = refusals.mayRefresh(self.tokenVersion(1), now: self.start)
        #expect(first)
    }

    @Test func `I11_a 401 to what a 401 has just brought starts 60 s without refreshes by 401`() {
        var refusals = Refusals()
        refusals.brings(self.tokenVersion(2), now: self.start)

        let now = self.start.advanced(by: .seconds(1))
        let atOnce = refusals.mayRefresh(self.tokenVersion(2), now: now)
        let within = refusals.mayRefresh(self.tokenVersion(3), now: now.advanced(by: .milliseconds(59_999)))
        let after = refusals.mayRefresh(self.tokenVersion(2), now: now.advanced(by: .seconds(60)))

        #expect(!atOnce)
        #expect(!within)
        #expect(after)
    }

    @Test func `I11_a 401 to what another replica has put in place of what a 401 brought starts that time too`() {
        var refusals = Refusals()
        refusals.brings(self.tokenVersion(2), now: self.start)
        let others = refusals.mayRefresh(self.tokenVersion(3), now: self.start.advanced(by: .seconds(1)))
        #expect(!others)

        // What some upstream has taken since tells that it does not refuse everything.
        for proven in [self.tokenVersion(4), self.tokenVersion(5)] {
            refusals = Refusals()
            refusals.brings(self.tokenVersion(4), now: self.start)
            refusals.proves(proven)
            let died = refusals.mayRefresh(self.tokenVersion(5), now: self.start.advanced(by: .seconds(1)))
            #expect(died)
        }
    }

    @Test func `I11_a replay that is refused starts that time, also when another replica has brought more since`() {
        var refusals = Refusals()
        refusals.brings(self.tokenVersion(2), now: self.start)
        refusals.refusedAgain(self.tokenVersion(2), now: self.start)
        let within = refusals.mayRefresh(self.tokenVersion(3), now: self.start.advanced(by: .milliseconds(59_999)))
        let after = refusals.mayRefresh(self.tokenVersion(3), now: self.start.advanced(by: .seconds(60)))
        #expect(!within)
        #expect(after)

        refusals.brings(self.tokenVersion(4), now: self.start.advanced(by: .seconds(60)))
        refusals.proves(self.tokenVersion(4))
        refusals.refusedAgain(self.tokenVersion(4), now: self.start.advanced(by: .seconds(61)))
        let proven = refusals.mayRefresh(self.tokenVersion(4), now: self.start.advanced(by: .seconds(61)))
        #expect(proven)
    }

    @Test func `a token that some upstream took is refreshed by a later 401 at once`() {
        var refusals = Refusals()
        refusals.brings(self.tokenVersion(2), now: self.start)
        refusals.proves(self.tokenVersion(2))
        let proven = refusals.mayRefresh(self.tokenVersion(2), now: self.start)
        #expect(proven)
    }

    @Test func `a second waiter with the same token does not make it look younger`() {
        var refusals = Refusals()
        refusals.brings(self.tokenVersion(2), now: self.start)
        refusals.brings(self.tokenVersion(2), now: self.start.advanced(by: .seconds(50)))
        let later = refusals.mayRefresh(self.tokenVersion(2), now: self.start.advanced(by: .seconds(60)))
        #expect(later)
    }
}
