import Testing
import TokenModel
import TokenRefresh

@Suite struct RefusalsTests {
    private let start = Moment.start.boot
    private func tokenVersion(_ generation: UInt64) -> TokenVersion {
        TokenVersion(grant: GrantID("g"), generation: Generation(generation))
    }

    @Test func `a 401 to a token set that no earlier 401 brought leads to a refresh`() {
        var refusals = Refusals()
        let first = refusals.mayRefresh(self.tokenVersion(1), now: self.start)
        #expect(first)
    }

    @Test func `I11_a 401 to a token set that a 401 just brought starts 60 s in which no 401 leads to a refresh`() {
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

    @Test func `I11_a 401 to another replica's replacement of the brought token set starts the quiet time too`() {
        var refusals = Refusals()
        refusals.brings(self.tokenVersion(2), now: self.start)
        let others = refusals.mayRefresh(self.tokenVersion(3), now: self.start.advanced(by: .seconds(1)))
        #expect(!others)

        // A token set that some upstream accepted proves that this upstream does not refuse everything.
        for proven in [self.tokenVersion(4), self.tokenVersion(5)] {
            refusals = Refusals()
            refusals.brings(self.tokenVersion(4), now: self.start)
            refusals.proves(proven)
            let died = refusals.mayRefresh(self.tokenVersion(5), now: self.start.advanced(by: .seconds(1)))
            #expect(died)
        }
    }

    @Test func `I11_a refused replay starts the quiet time even if another replica has replaced the token set since`() {
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

    @Test func `a token set that some upstream accepted is refreshed at once by a later 401`() {
        var refusals = Refusals()
        refusals.brings(self.tokenVersion(2), now: self.start)
        refusals.proves(self.tokenVersion(2))
        let proven = refusals.mayRefresh(self.tokenVersion(2), now: self.start)
        #expect(proven)
    }

    @Test func `a second waiter that gets the same token set does not make it count as newer`() {
        var refusals = Refusals()
        refusals.brings(self.tokenVersion(2), now: self.start)
        refusals.brings(self.tokenVersion(2), now: self.start.advanced(by: .seconds(50)))
        let later = refusals.mayRefresh(self.tokenVersion(2), now: self.start.advanced(by: .seconds(60)))
        #expect(later)
    }
}
