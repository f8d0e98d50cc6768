import KillSwitch
import Testing
import TokenModel
import TokenStorage

@Suite struct RevocationScheduleTests {
    private let start = BootInstant(nanoseconds: 3_600_000_000_000)
    private let pause = Duration.seconds(60)

    private func key(_ number: Int) -> RecordKey { .revocation("token-\(number)") }

    @Test func `after a restart, the first look at each of many tokens takes no longer the more there are`() {
        let schedule = RevocationSchedule()
        func time(_ numbers: Range<Int>) -> Duration {
            ContinuousClock().measure {
                for number in numbers {
                    _ = schedule.due(self.key(number), tries: 3, pause: self.pause, now: self.start)
                }
            }
        }
        let (first, more) = (time(0..<9_000), time(9_000..<18_000))
        // A look through all for each takes a thousand times as long.
        #expect(more < first * 50)
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
