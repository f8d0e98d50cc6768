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
            _ = breaker.learned(.failed, of: account, among: 3, probe: false, now: self.start)
        }
        return breaker
    }

    @Test(arguments: [
        ("aaaab", 2, true),
        ("ababa", 2, true),
        ("abab", 2, false),
        // One account's trouble is not the other's.
        ("aaaaaaaaaa", 2, false),
        ("aaaaaaaaaab", 2, true),
        // There is no other.
        ("aaaaa", 1, true),
        ("aaaa", 1, false),
        // An answer ends the row.
        ("aaab+baaa", 2, false),
        ("aaab+babab", 2, true),
        // Flights that ended without an exchange say nothing.
        ("aa-ab-b", 2, true),
    ])
    func `five failures in a row, of two accounts where there are two, open it`(
        row: String,
        accounts: Int,
        opens: Bool
    ) {
        var breaker = ProviderBreaker()
        var changes: [ProviderBreaker.Change] = []
        for letter in row {
            let lesson: ProviderBreaker.Lesson = letter == "+" ? .answered : letter == "-" ? .nothing : .failed
            let account = letter == "b" ? self.bob : self.alice
            let change = breaker.learned(lesson, of: account, among: accounts, probe: false, now: self.start)
            if let change { changes.append(change) }
        }
        #expect(breaker.isOpen == opens)
        #expect(changes == (opens ? [.opened] : []))
    }

    @Test func `for 30 s nothing goes, then one request of another account than last time`() {
        var breaker = self.opened()
        let early = breaker.admit(self.alice, of: 3, now: self.start.advanced(by: .milliseconds(29_999)))
        let due = self.start.advanced(by: .seconds(30))
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
        let late = breaker.admit(self.bob, of: 3, now: self.start.advanced(by: .seconds(35)))
        #expect(late == .probe)
    }

    @Test func `a provider's only account finds out as soon as any would`() {
        var breaker = ProviderBreaker()
        for _ in 0..<5 { _ = breaker.learned(.failed, of: self.alice, among: 1, probe: false, now: self.start) }
        let probe = breaker.admit(self.alice, of: 1, now: self.start.advanced(by: .seconds(30)))
        #expect(probe == .probe)
    }

    @Test func `a probe that fails opens it for another 30 s, which is no news`() {
        var breaker = self.opened()
        let due = self.start.advanced(by: .seconds(30))
        _ = breaker.admit(self.alice, of: 3, now: due)
        let change = breaker.learned(
            .failed,
            of: self.alice,
            among: 3,
            probe: true,
            now: due.advanced(by: .seconds(16))
        )
        let again = breaker.admit(self.alice, of: 3, now: due.advanced(by: .seconds(46)))
        let other = breaker.admit(self.bob, of: 3, now: due.advanced(by: .seconds(46)))
        #expect(change == nil)
        #expect(again == .open(retryAfter: .seconds(5)))
        #expect(other == .probe)
    }

    @Test(arguments: [true, false])
    func `any answer closes it, the probe's or one that was on its way`(isProbe: Bool) {
        var breaker = self.opened()
        if isProbe { _ = breaker.admit(self.alice, of: 3, now: self.start.advanced(by: .seconds(30))) }
        let change = breaker.learned(.answered, of: self.alice, among: 3, probe: isProbe, now: self.start)
        let next = breaker.admit(self.bob, of: 3, now: self.start)
        #expect(change == .closed)
        #expect(next == .closed)
        #expect(!breaker.isOpen)
    }

    @Test func `a probe that sent nothing leaves its place to the next`() {
        var breaker = self.opened()
        let due = self.start.advanced(by: .seconds(30))
        _ = breaker.admit(self.alice, of: 3, now: due)
        _ = breaker.learned(.nothing, of: self.alice, among: 3, probe: true, now: due)
        let next = breaker.admit(self.carol, of: 3, now: due)
        #expect(next == .probe)
    }

    @Test func `flights that began before it opened neither lengthen nor end the pause by failing`() {
        var breaker = self.opened()
        for second in 1...20 {
            let now = self.start.advanced(by: .seconds(second))
            let change = breaker.learned(.failed, of: self.carol, among: 3, probe: false, now: now)
            #expect(change == nil)
        }
        let probe = breaker.admit(self.alice, of: 3, now: self.start.advanced(by: .seconds(30)))
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
