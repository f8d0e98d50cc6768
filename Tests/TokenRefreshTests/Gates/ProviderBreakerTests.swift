import Testing
import TokenModel
import TokenRefresh

@Suite struct ProviderBreakerTests {
    private let start = Moment.start.boot
    private let alice = AccountID("alice")
    private let bob = AccountID("bob")
    private let carol = AccountID("carol")

    /// A breaker that has opened at the start, by alice and last by bob.
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
        // One account's trouble is not the other's, and a provider's only account has its own backoff.
        ("aaaaaaaaaa", false),
        ("aaaaaaaaaab", true),
        // An answer ends the row.
        ("aaab+baaa", false),
        ("aaab+babab", true),
        // Flights that ended without an exchange say nothing.
        ("aa-ab-b", true),
    ])
    func `five failures in a row, of at least two accounts, open it`(row: String, opens: Bool) {
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

    @Test func `for 10 s nothing goes, then one request of another account than last time`() {
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

    @Test func `where no other asks, the account of last time finds out`() {
        var breaker = self.opened()
        let late = breaker.admit(self.bob, of: 3, now: self.start.advanced(by: .seconds(15)))
        #expect(late == .probe)
    }

    @Test func `a probe that fails opens it for another 10 s, which is no news`() {
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
    func `any answer closes it, the probe's or one that was on its way`(isProbe: Bool) {
        var breaker = self.opened()
        if isProbe { _ = breaker.admit(self.alice, of: 3, now: self.start.advanced(by: .seconds(10))) }
        let change = breaker.learned(.responded, of: self.alice, probe: isProbe, now: self.start)
        let next = breaker.admit(self.bob, of: 3, now: self.start)
        #expect(change == .closed)
        #expect(next == .closed)
        #expect(!breaker.isOpen)
    }

    @Test func `a probe that sent nothing leaves its place to the next`() {
        var breaker = self.opened()
        let due = self.start.advanced(by: .seconds(10))
        _ = breaker.admit(self.alice, of: 3, now: due)
        _ = breaker.learned(.nothing, of: self.alice, probe: true, now: due)
        let next = breaker.admit(self.carol, of: 3, now: due)
        #expect(next == .probe)
    }

    @Test func `flights that began before it opened neither lengthen nor end the pause by failing`() {
        var breaker = self.opened()
        for second in 1...20 {
            let now = self.start.advanced(by: .seconds(second))
            let change = breaker.learned(.failed, of: self.carol, probe: false, now: now)
            #expect(change == nil)
        }
        let probe = breaker.admit(self.alice, of: 3, now: self.start.advanced(by: .seconds(10)))
        #expect(probe == .probe)
    }

    @Test func `an operator's refresh finds out at once, and so does anybody's after a reload`() {
        var breaker = self.opened()
        let forced = breaker.admit(self.bob, of: 3, isForced: true, now: self.start)
        breaker.tryAgain(now: self.start)
        let reloaded = breaker.admit(self.bob, of: 3, now: self.start)
        #expect(forced == .probe)
        #expect(reloaded == .probe)
    }
}
