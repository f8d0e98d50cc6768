import TestKit
import Testing
import TokenModel
import TokenRefresh

@Suite struct ScheduleTests {
    private let start = Moment.start.boot
    private func at(_ seconds: Int) -> BootInstant { self.start.advanced(by: .seconds(seconds)) }

    @Test func `the earliest account comes first, and none before its due time`() {
        var schedule = Schedule()
        for (name, due) in [("c", 30), ("a", 10), ("d", 40), ("b", 20)] {
            schedule.set(self.at(due), for: AccountID(name))
        }

        let early = schedule.takeDue(at: self.at(9))
        let next = schedule.next
        let taken = (0..<3).map { _ in schedule.takeDue(at: self.at(30))?.rawValue }
        let late = schedule.takeDue(at: self.at(30))

        #expect(early == nil)
        #expect(next == self.at(10))
        #expect(taken == ["a", "b", "c"])
        #expect(late == nil)
        #expect(schedule.next == self.at(40))
    }

    @Test func `an account has one due time, the one that was set last`() {
        var schedule = Schedule()
        schedule.set(self.at(10), for: alice)
        schedule.set(self.at(50), for: alice)
        schedule.set(self.at(30), for: alice)

        let early = schedule.takeDue(at: self.at(29))
        let taken = schedule.takeDue(at: self.at(100))
        let again = schedule.takeDue(at: self.at(100))

        #expect(early == nil)
        #expect(taken == alice)
        #expect(again == nil)
    }

    @Test func `a removed account does not come up`() {
        var schedule = Schedule()
        schedule.set(self.at(10), for: alice)
        schedule.set(nil, for: alice)
        let taken = schedule.takeDue(at: self.at(100))
        #expect(taken == nil)
        #expect(schedule.next == nil)
    }

    @Test(arguments: [UInt64(1), 2, 3])
    func `many accounts with changing due times come up once each and in order`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var schedule = Schedule()
        var expected: [AccountID: BootInstant] = [:]
        for _ in 0..<5_000 {
            let account = AccountID("a\(Int.random(in: 0..<200, using: &generator))")
            let due =
                Int.random(in: 0..<10, using: &generator) == 0 ? nil : self.at(.random(in: 0..<999, using: &generator))
            schedule.set(due, for: account)
            expected[account] = due
        }

        var taken: [AccountID] = []
        while let account = schedule.takeDue(at: self.at(1_000)) { taken.append(account) }

        #expect(taken == expected.keys.sorted { (expected[$0] ?? self.start, $0) < (expected[$1] ?? self.start, $1) })
    }
}
