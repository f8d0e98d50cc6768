import Audit
import Testing
import TokenModel

@Suite struct RefusalCounterTests {
    private let start = BootInstant(nanoseconds: 3_600_000_000_000)

    @Test func `a burst of wrong tokens yields one record, a second after the first token`() {
        var tally = RefusalCounter()
        #expect(tally.due == nil)
        for number in 0..<500 {
            tally.refused(from: "10.0.0.\(number % 7)", at: self.start.advanced(by: .milliseconds(number)))
        }
        #expect(tally.due == self.start.advanced(by: .seconds(1)))
        let early = tally.take(at: self.start.advanced(by: .milliseconds(999)))
        #expect(early == nil)
        let summary = tally.take(at: self.start.advanced(by: .seconds(1)))
        #expect(summary?.count == 500)
        #expect(summary?.last == "10.0.0.2")
        #expect(tally.due == nil)
    }

    @Test(arguments: [Duration.milliseconds(10), .seconds(7), .seconds(61), .seconds(1_000), .seconds(3_000)])
    func `a week of wrong tokens yields few records, and each attempt is counted in one`(_ pause: Duration) {
        var tally = RefusalCounter()
        var (now, attempts, records, counted) = (self.start, 0, 0, 0)
        let end = self.start.advanced(by: .seconds(7 * 86_400))
        var nextAttempt = now
        while now < end {
            if nextAttempt <= now {
                // One attempt stands for all attempts within a second.
                tally.refused(from: nil, at: now)
                attempts += 1
                nextAttempt = now.advanced(by: max(pause, .seconds(1)))
            }
            if let summary = tally.take(at: now) {
                records += 1
                counted += summary.count
            }
            now = min(nextAttempt, tally.due.map { max($0, now.advanced(by: .nanoseconds(1))) } ?? nextAttempt)
        }
        if let rest = tally.takeAll() { counted += rest.count }
        #expect(counted == attempts)
        #expect(records > 0)
        #expect(records <= 10 + 7 * 48 + 1, "\(records) records")
    }

    @Test func `attempts that could not be recorded go into the next record, a minute later at the earliest`() throws {
        var tally = RefusalCounter()
        tally.refused(from: "a", at: self.start)
        let first = self.start.advanced(by: .seconds(1))
        let taken = tally.take(at: first)
        tally.putBack(try #require(taken))
        #expect(tally.due == first.advanced(by: .seconds(60)))
        tally.refused(from: "b", at: first)
        let second = tally.take(at: first.advanced(by: .seconds(60)))
        #expect(second?.count == 2)
    }
}
