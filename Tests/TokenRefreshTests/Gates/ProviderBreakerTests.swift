import Testing
import TokenModel
import TokenRefresh

@Suite struct ProviderBreakerTests {
    private let start = Moment.start.boot
    private let alice = AccountID("alice")
    private let bob = AccountID("bob")
    private let carol = AccountID("carol")

    /// A breaker that opened at the start after failures of alice and finally of bob.
    private func opened() -> ProviderBreaker {
        var breaker = ProviderBreaker()
        for account in [self.alice, self.alice, self.alice, self.alice, self.bob] {
            _ = breaker.learned(.failed, of: account, probe: false, now: self.start)
        }
        return breaker
    }

    @Test(arguments: [
        ("aaaab", true),
        ("ababa", true),
        ("abab", false),
        // Failures of a single account do not open the breaker. That account has its own backoff.
        ("aaaaaaaaaa", false),
        ("aaaaaaaaaab", true),
        // A response ends the row of failures.
        ("aaab+baaa", false),
        ("aaab+babab", true),
        // Flights that ended without an exchange do not count.
        ("aa-ab-b", true),
    ])
    func `five failures in a row of at least two accounts open the breaker`(row: String, opens: Bool) {
        var breaker = ProviderBreaker()
        var changes: [ProviderBreaker.Change] = []
        for letter in row {
            let lesson: ProviderBreaker.Lesson = letter == "+" ? .responded : letter == "-" ? .nothing : .failed
            let account = letter == "b" ? self.bob : self.alice
            let change = breaker.learned(lesson, of: account, probe: false, now: self.start)
            if let change { changes.append(change) }
        }
        #expect(breaker.isOpen == opens)
        #expect(changes == (opens ? [.opened] : []))
    }

    @Test func `nothing is sent for 10 s, then one probe of another account than the one that failed last`() {
        var breaker = self.opened()
        let early = breaker.admit(self.alice, of: 3, now: self.start.advanced(by: .milliseconds(9_999)))
        let due = self.start.advanced(by: .seconds(10))
        let same = breaker.admit(self.bob, of: 3, now: due)
        let other = breaker.admit(self.alice, of: 3, now: due)
        let beside = breaker.admit(self.carol, of: 3, now: due)
        #expect(early == .open(retryAfter: .milliseconds(1)))
        #expect(same == .open(retryAfter: .seconds(5)))
        #expect(other == .probe)
        #expect(beside == .open(retryAfter: .seconds(1)))
    }

    @Test func `if no other account asks, the account that failed last sends the probe`() {
        var breaker = self.opened()
        let late = breaker.admit(self.bob, of: 3, now: self.start.advanced(by: .seconds(15)))
        #expect(late == .probe)
    }

    @Test func `a failed probe keeps the breaker open for another 10 s and reports no change`() {
        var breaker = self.opened()
        let due = self.start.advanced(by: .seconds(10))
        _ = breaker.admit(self.alice, of: 3, now: due)
        let change = breaker.learned(
            .failed,
            of: self.alice,
            probe: true,
            now: due.advanced(by: .seconds(16))
        )
        let again = breaker.admit(self.alice, of: 3, now: due.advanced(by: .seconds(26)))
        let other = breaker.admit(self.bob, of: 3, now: due.advanced(by: .seconds(26)))
        #expect(change == nil)
        #expect(again == .open(retryAfter: .seconds(5)))
        #expect(other == .probe)
    }

    @Test(arguments: [true, false])
    func `any response closes the breaker, whether to the probe or to an earlier request`(isProbe: Bool) {
        var breaker = self.opened()
        if isProbe { _ = breaker.admit(self.alice, of: 3, now: self.start.advanced(by: .seconds(10))) }
        let change = breaker.learned(.responded, of: self.alice, probe: isProbe, now: self.start)
        let next = breaker.admit(self.bob, of: 3, now: self.start)
        #expect(change == .closed)
        #expect(next == .closed)
        #expect(!breaker.isOpen)
    }

    @Test func `a probe that sent nothing lets the next request be the probe`() {
        var breaker = self.opened()
        let due = self.start.advanced(by: .seconds(10))
        _ = breaker.admit(self.alice, of: 3, now: due)
        _ = breaker.learned(.nothing, of: self.alice, probe: true, now: due)
        let next = breaker.admit(self.carol, of: 3, now: due)
        #expect(next == .probe)
    }

    @Test func `failures of flights that began before the breaker opened neither extend nor end the pause`() {
        var breaker = self.opened()
        for second in 1...20 {
            let now = self.start.advanced(by: .seconds(second))
            let change = breaker.learned(.failed, of: self.carol, probe: false, now: now)
            #expect(change == nil)
        }
        let probe = breaker.admit(self.alice, of: 3, now: self.start.advanced(by: .seconds(10)))
        #expect(probe == .probe)
    }

    @Test func `an operator's refresh may probe at once, and so may any refresh after a reload`() {
        var breaker = self.opened()
        let forced = breaker.admit(self.bob, of: 3, isForced: true, now: self.start)
        breaker.tryAgain(now: self.start)
        let reloaded = breaker.admit(self.bob, of: 3, now: self.start)
        #expect(forced == .probe)
        #expect(reloaded == .probe)
    }
}
