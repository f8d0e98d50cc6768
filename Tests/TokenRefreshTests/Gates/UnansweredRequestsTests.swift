import Testing
import TokenModel
import TokenRefresh

@Suite struct UnansweredRequestsTests {
    private let timeout = Duration.seconds(8)
    private func at(_ seconds: Int) -> BootInstant { Moment.start.boot.advanced(by: .seconds(seconds)) }

    /// Requests of `count` accounts, all sent at the start.
    private func sent(_ count: Int) -> UnansweredRequests {
        var requests = UnansweredRequests()
        for number in 0..<count {
            requests.admitted(now: self.at(0))
            requests.sent(for: AccountID("\(number)"), now: self.at(0))
        }
        return requests
    }

    @Test func `while 64 requests are past the timeout and none got a response, one is admitted every 2 s`() {
        var requests = self.sent(64)
        let early = requests.obstacle(timeout: self.timeout, now: self.at(8))
        let probe = requests.obstacle(timeout: self.timeout, now: self.at(9))
        requests.admitted(now: self.at(9))
        let next = requests.obstacle(timeout: self.timeout, now: self.at(10))
        let later = requests.obstacle(timeout: self.timeout, now: self.at(11))

        #expect(early == nil)
        #expect(probe == nil)
        #expect(next == .seconds(1))
        #expect(later == nil)
    }

    @Test func `63 overdue requests delay no other request`() {
        var requests = self.sent(63)
        requests.admitted(now: self.at(9))
        #expect(requests.obstacle(timeout: self.timeout, now: self.at(9)) == nil)
    }

    @Test func `a response within the timeout lifts the limit, but an exchange that broke off is no response`() {
        var requests = self.sent(66)
        requests.admitted(now: self.at(20))
        requests.ended(for: AccountID("1"), wasAnswered: false, now: self.at(20))
        let broken = requests.obstacle(timeout: self.timeout, now: self.at(20))
        requests.ended(for: AccountID("2"), wasAnswered: true, now: self.at(20))
        let answered = requests.obstacle(timeout: self.timeout, now: self.at(20))
        requests.admitted(now: self.at(29))
        let silent = requests.obstacle(timeout: self.timeout, now: self.at(29))

        #expect(broken == .seconds(2))
        #expect(answered == nil)
        #expect(silent == .seconds(2))
    }
}
