import Testing
import TokenModel

@Suite struct RequestBucketTests {
    private let start = BootInstant(nanoseconds: 3_600_000_000_000)

    @Test(arguments: [(50, 200), (1, 1), (3, 7), (1_000, 1)])
    func `a burst is sent at once, then one request per interval`(perSecond: Int, burst: Int) {
        var bucket = RequestBucket(RequestRate(perSecond: perSecond, burst: burst))
        for _ in 0..<burst {
            let place = bucket.take(patience: .zero, now: self.start)
            #expect(place == .at(self.start))
        }
        var last = self.start
        for number in 1...20 {
            guard case .at(let moment) = bucket.take(patience: .seconds(60), now: self.start) else {
                Issue.record("the bucket has no place")
                return
            }
            let expected = Duration.seconds(number) / perSecond
            let difference = self.start.duration(to: moment) - expected
            #expect(difference >= .zero && difference < .microseconds(1))
            #expect(moment > last)
            last = moment
        }
    }

    @Test func `a request that would wait too long learns when to retry and takes nothing`() {
        var bucket = RequestBucket(RequestRate(perSecond: 10, burst: 1))
        for _ in 0...150 { _ = bucket.take(patience: .seconds(15), now: self.start) }
        for _ in 0..<3 {
            let place = bucket.take(patience: .seconds(15), now: self.start)
            #expect(place == .none(retryAfter: .milliseconds(100)))
        }
        let later = bucket.take(patience: .seconds(15), now: self.start.advanced(by: .milliseconds(100)))
        #expect(later == .at(self.start.advanced(by: .milliseconds(15_100))))
    }

    @Test func `a place that is given back goes to the next request`() {
        var bucket = RequestBucket(RequestRate(perSecond: 1, burst: 1))
        _ = bucket.take(patience: .zero, now: self.start)
        bucket.giveBack()
        let next = bucket.take(patience: .zero, now: self.start)
        #expect(next == .at(self.start))
    }

    @Test func `the bucket fills up to its burst and no further`() {
        var bucket = RequestBucket(RequestRate(perSecond: 10, burst: 5))
        for _ in 0..<5 { _ = bucket.take(patience: .zero, now: self.start) }
        let later = self.start.advanced(by: .seconds(3_600))
        var taken = 0
        while bucket.take(patience: .zero, now: later) == .at(later) { taken += 1 }
        #expect(taken == 5)
    }

    @Test(arguments: [(50, 200), (1, 1), (3, 7), (50, 50)])
    func `the foretold wait behind others is the one that comes`(perSecond: Int, burst: Int) {
        for (taken, others) in [(0, 0), (burst - 1, 0), (burst, 0), (burst, 5), (burst + 10, 100), (0, burst + 3)] {
            var bucket = RequestBucket(RequestRate(perSecond: perSecond, burst: burst))
            for _ in 0..<taken { _ = bucket.take(patience: .seconds(1_000), now: self.start) }
            let foretold = bucket.wait(behind: others, now: self.start)
            for _ in 0..<others { _ = bucket.take(patience: .seconds(1_000), now: self.start) }
            let place = bucket.take(patience: .seconds(1_000), now: self.start)
            #expect(place == .at(self.start.advanced(by: foretold)))
        }
    }

    @Test func `foretelling a wait takes nothing, and time shortens it`() {
        var bucket = RequestBucket(RequestRate(perSecond: 10, burst: 1))
        for _ in 0..<11 { _ = bucket.take(patience: .seconds(60), now: self.start) }
        let waits = [0, 0, 1].map { bucket.wait(behind: 0, now: self.start.advanced(by: .seconds($0))) }
        #expect(waits == [.milliseconds(1_100), .milliseconds(1_100), .milliseconds(100)])
        #expect(bucket.wait(behind: 0, now: self.start.advanced(by: .seconds(9))) == .zero)
    }
}
