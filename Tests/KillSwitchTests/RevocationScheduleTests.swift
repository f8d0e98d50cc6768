import KillSwitch
import Testing
import TokenModel
import TokenStorage

@Suite struct RevocationScheduleTests {
    private let start = BootInstant(nanoseconds: 3_600_000_000_000)
    private let pause = Duration.seconds(60)

    private func key(_ number: Int) -> RecordKey { .revocation("token-\(number)") }

    @Test func `after a look through many new entries, the next one waits until there are twice as many`() {
        let schedule = RevocationSchedule()
        func add(_ numbers: Range<Int>, at now: BootInstant) {
            for number in numbers { _ = schedule.due(self.key(number), tries: 3, pause: self.pause, now: now) }
        }
        var isFirstKept: Bool { schedule.knownDue(self.key(0), tries: 3, pause: self.pause) != nil }
        // The last of these looks through the others, and finds none that is old.
        add(0..<10_001, at: self.start)
        // From now on they are old, so any look removes them.
        let later = self.start.advanced(by: .seconds(400))
        add(10_001..<20_000, at: later)
        #expect(isFirstKept)
        add(20_000..<20_001, at: later)
        #expect(!isFirstKept)
    }

    @Test func `old entries go when there are many`() {
        let schedule = RevocationSchedule()
        func isKnown(_ number: Int) -> Bool {
            schedule.knownDue(self.key(number), tries: 3, pause: self.pause) != nil
        }
        for number in 0..<10_000 {
            _ = schedule.due(self.key(number), tries: 3, pause: self.pause, now: self.start)
        }
        #expect(isKnown(0))
        let later = self.start.advanced(by: .seconds(400))
        _ = schedule.due(self.key(10_000), tries: 3, pause: self.pause, now: later)
        #expect(!isKnown(0))
        #expect(isKnown(10_000))
    }
}
