import KillSwitch
import Testing
import TokenModel
import TokenStorage

@Suite struct RevocationLanesTests {
    private let start = BootInstant(nanoseconds: 3_600_000_000_000)
    private let (acme, other): (RevocationLane, RevocationLane)

    init() {
        let store = StoreID.random()
        self.acme = RevocationLane(ProviderID("acme"), in: store)
        self.other = RevocationLane(ProviderID("other"), in: store)
    }

    private func pause(after failures: Int) -> Duration { .seconds(failures) }

    @Test func `a lane that runs is not begun again, and runs once more for tokens that have come meanwhile`() {
        var lanes = RevocationLanes()
        let first = lanes.begin([self.acme], now: self.start)
        let again = lanes.begin([self.acme, self.other], now: self.start)
        let isRung = lanes.isRung(self.acme)
        let next = lanes.end(self.acme, RevocationLanes.Run(), pause: self.pause, now: self.start)
        let third = lanes.begin([self.acme], now: self.start)
        #expect(first == [self.acme])
        #expect(again == [self.other])
        #expect(isRung)
        #expect(next == self.start)
        #expect(third == [self.acme])
    }

    @Test func `requests go out at the rate of the provider, across runs`() {
        var lanes = RevocationLanes()
        let rate = RequestRate(perSecond: 10, burst: 2)
        _ = lanes.begin([self.acme], now: self.start)
        let first = [0, 1, 2].map { _ in lanes.turn(of: self.acme, rate, now: self.start) }
        _ = lanes.end(self.acme, RevocationLanes.Run(), pause: self.pause, now: self.start)
        _ = lanes.begin([self.acme], now: self.start)
        lanes.giveBack(self.acme)
        let next = [0, 1].map { _ in lanes.turn(of: self.acme, rate, now: self.start) }
        let turns = (first + next).map { self.start.duration(to: $0) }
        #expect(turns == [.zero, .zero, .milliseconds(100), .milliseconds(100), .milliseconds(200)])
    }

    @Test func `a reload that changes the rate fills no bucket`() {
        var lanes = RevocationLanes()
        _ = lanes.begin([self.acme], now: self.start)
        let rates = [(10, 2), (20, 2), (10, 2), (20, 4)].map { RequestRate(perSecond: $0, burst: $1) }
        let turns = rates.map { rate in
            [0, 1].map { _ in self.start.duration(to: lanes.turn(of: self.acme, rate, now: self.start)) }
        }
        #expect(turns[0] == [.zero, .zero])
        #expect(turns[1] == [.milliseconds(50), .milliseconds(100)])
        #expect(turns[2] == [.milliseconds(300), .milliseconds(400)])
        #expect(turns[3] == [.milliseconds(250), .milliseconds(300)])
    }

    @Test func `a provider that fails again and again is left alone for longer each time`() {
        var lanes = RevocationLanes()
        var failed = RevocationLanes.Run()
        failed.misses = 16
        for failures in 1...3 {
            let begun = lanes.begin([self.acme], now: self.start)
            let now = self.start.advanced(by: .seconds(-failures))
            let next = lanes.end(self.acme, failed, pause: self.pause, now: now)
            #expect(begun == [self.acme])
            #expect(next == self.start)
            #expect(lanes.failures(self.acme) == failures)
        }
        _ = lanes.begin([self.acme], now: self.start)
        _ = lanes.end(self.acme, failed, pause: self.pause, now: self.start)
        let early = lanes.begin([self.acme], now: self.start)
        let later = lanes.begin([self.acme], now: self.start.advanced(by: .seconds(4)))
        var good = RevocationLanes.Run()
        good.hasSucceeded = true
        _ = lanes.end(self.acme, good, pause: self.pause, now: self.start)
        #expect(early.isEmpty)
        #expect(later == [self.acme])
        #expect(lanes.failures(self.acme) == 0)
    }

    @Test func `a kill is worked off when its lanes have run to their end without its tokens, whatever others do`() {
        var lanes = RevocationLanes()
        let (first, second) = (Epoch(7), Epoch(8))
        #expect(lanes.isWorkedOff(first, in: [self.acme]))
        _ = lanes.begin([self.acme, self.other], now: self.start)
        #expect(!lanes.isWorkedOff(first, in: [self.acme]))
        var run = RevocationLanes.Run()
        run.open = [second]
        _ = lanes.end(self.acme, run, pause: self.pause, now: self.start)
        // The other still runs.
        #expect(lanes.isWorkedOff(first, in: [self.acme]))
        #expect(!lanes.isWorkedOff(first, in: [self.acme, self.other]))
        #expect(!lanes.isWorkedOff(second, in: [self.acme]))
        #expect(!lanes.isWorkedOff(second, in: []))
        run.misses = 16
        run.isWhole = false
        _ = lanes.end(self.other, run, pause: self.pause, now: self.start)
        #expect(!lanes.isWorkedOff(first, in: [self.other]))
        // The other's tokens are gone.
        _ = lanes.begin([self.acme], now: self.start)
        #expect(lanes.isWorkedOff(first, in: [self.other]))
    }

    @Test func `a lane that is left alone may have tokens that its last run has not seen`() {
        var lanes = RevocationLanes()
        _ = lanes.begin([self.acme], now: self.start)
        var run = RevocationLanes.Run()
        run.misses = 16
        _ = lanes.end(self.acme, run, pause: self.pause, now: self.start)
        #expect(lanes.isWorkedOff(Epoch(7), in: [self.acme]))
        let begun = lanes.begin([self.acme], now: self.start)
        #expect(begun.isEmpty)
        #expect(!lanes.isWorkedOff(Epoch(7), in: [self.acme]))
    }

    @Test func `the speed is the configured rate, or what was measured if that is less`() {
        var lanes = RevocationLanes()
        #expect(lanes.speed(self.acme, now: self.start) == nil)
        _ = lanes.begin([self.acme], now: self.start)
        for _ in 0..<60 { _ = lanes.turn(of: self.acme, RequestRate(perSecond: 10, burst: 60), now: self.start) }
        #expect(lanes.speed(self.acme, now: self.start) == 10)
        #expect(lanes.speed(self.acme, now: self.start.advanced(by: .seconds(5))) == 10)
        #expect(lanes.speed(self.acme, now: self.start.advanced(by: .seconds(30))) == 2)
        _ = lanes.end(self.acme, RevocationLanes.Run(), pause: self.pause, now: self.start)
        #expect(lanes.speed(self.acme, now: self.start) == nil)
    }

    @Test func `a provider that fails has no speed until it has responded again`() {
        var lanes = RevocationLanes()
        _ = lanes.begin([self.acme], now: self.start)
        _ = lanes.turn(of: self.acme, RequestRate(perSecond: 10, burst: 60), now: self.start)
        var run = RevocationLanes.Run()
        run.misses = 16
        _ = lanes.end(self.acme, run, pause: self.pause, now: self.start)
        let later = self.start.advanced(by: .seconds(60))
        _ = lanes.begin([self.acme], now: later)
        #expect(lanes.speed(self.acme, now: later) == nil)
        run.misses = 0
        run.hasSucceeded = true
        _ = lanes.end(self.acme, run, pause: self.pause, now: later)
        _ = lanes.begin([self.acme], now: later)
        #expect(lanes.speed(self.acme, now: later) == 10)
    }

    @Test func `after a hundred warnings the log has no more of one provider`() {
        var lanes = RevocationLanes()
        _ = lanes.begin([self.acme, self.other], now: self.start)
        let warnings = (0..<150).count { _ in lanes.mayWarn(self.acme) }
        let ofOther = lanes.mayWarn(self.other)
        #expect(warnings == 100)
        #expect(ofOther)
    }
}
