import Testing
import TokenModel
import TokenRefresh

@Suite struct AgendaTests {
    private let start = Moment.start.boot
    private let other = ProviderID("globex")
    private func at(_ seconds: Int) -> BootInstant { self.start.advanced(by: .seconds(seconds)) }

    @Test func `the earliest account of all providers comes first`() {
        var agenda = Agenda()
        agenda.set(self.at(20), for: AccountID("b"), of: acme)
        agenda.set(self.at(10), for: AccountID("a"), of: self.other)
        agenda.set(self.at(30), for: AccountID("c"), of: self.other)

        let next = agenda.next
        let early = agenda.takeDue(at: self.at(9))
        let taken = (0..<4).map { _ in agenda.takeDue(at: self.at(30))?.rawValue }

        #expect(next == self.at(10))
        #expect(early == nil)
        #expect(taken == ["a", "b", "c", nil])
        #expect(agenda.next == nil)
    }

    @Test func `a provider at its limit is skipped until one of its errands ends`() {
        var agenda = Agenda()
        for number in 0..<Agenda.mostBackgroundJobs {
            agenda.begin(AccountID("\(number)"), of: acme, until: self.at(100))
        }
        agenda.set(self.at(10), for: AccountID("a"), of: acme)
        agenda.set(self.at(20), for: AccountID("b"), of: self.other)

        let next = agenda.next
        let first = agenda.takeDue(at: self.at(30))
        let none = agenda.takeDue(at: self.at(30))
        // Ending the same errand twice frees one place only.
        agenda.end(AccountID("0"), of: acme)
        agenda.end(AccountID("0"), of: acme)
        let second = agenda.takeDue(at: self.at(30))

        #expect(next == self.at(20))
        #expect(first == AccountID("b"))
        #expect(none == nil)
        #expect(second == AccountID("a"))
    }

    @Test func `an errand that takes too long does not keep others from beginning`() {
        var agenda = Agenda()
        for number in 0..<Agenda.mostBackgroundJobs {
            agenda.begin(AccountID("\(number)"), of: acme, until: self.at(40 + number))
        }
        agenda.set(self.at(10), for: AccountID("a"), of: acme)

        let next = agenda.next
        let early = agenda.takeDue(at: self.at(39))
        let taken = agenda.takeDue(at: self.at(40))

        #expect(next == self.at(40))
        #expect(early == nil)
        #expect(taken == AccountID("a"))
    }

    @Test func `turned away accounts come first, in that order, then those in use, then the others`() {
        var agenda = Agenda()
        agenda.set(self.at(1), for: AccountID("unused"), of: acme, .unused)
        agenda.set(self.at(2), for: AccountID("in use"), of: acme, .inUse)
        agenda.set(self.at(4), for: AccountID("second"), of: acme, .turnedAway)
        agenda.set(self.at(3), for: AccountID("first"), of: acme, .turnedAway)

        let early = agenda.takeDue(at: self.at(1))
        agenda.set(self.at(1), for: AccountID("unused"), of: acme, .unused)
        let taken = (0..<5).map { _ in agenda.takeDue(at: self.at(4))?.rawValue }

        // Only accounts that are due count.
        #expect(early == AccountID("unused"))
        #expect(taken == ["first", "second", "in use", "unused", nil])
    }

    @Test func `an account has one due time, of the urgency that was set last`() {
        var agenda = Agenda()
        for urgency in [Agenda.Urgency.unused, .turnedAway, .inUse] {
            agenda.set(self.at(urgency.rawValue), for: alice, of: acme, urgency)
            #expect(agenda.turnedAway(of: acme) == (urgency == .turnedAway ? 1 : 0))
            #expect(agenda.next == self.at(urgency.rawValue))
        }
        let taken = [agenda.takeDue(at: self.at(9)), agenda.takeDue(at: self.at(9))]
        #expect(taken == [alice, nil])
        agenda.set(self.at(1), for: alice, of: acme, .turnedAway)
        agenda.set(nil, for: alice, of: acme)
        #expect(agenda.next == nil)
        #expect(agenda.turnedAway(of: acme) == 0)
        #expect(agenda.turnedAway(of: self.other) == 0)
    }

    @Test(arguments: [(1, 8), (50, 100), (1_000, 256)])
    func `errands for turned away accounts are limited by the provider's rate`(perSecond: Int, most: Int) {
        var agenda = Agenda()
        agenda.setRate(perSecond, of: acme)
        for number in 0..<most {
            agenda.set(self.at(1), for: AccountID("in use \(number)"), of: acme, .inUse)
            agenda.set(self.at(1), for: AccountID("away \(number)"), of: acme, .turnedAway)
        }
        agenda.set(self.at(1), for: AccountID("away, too many"), of: acme, .turnedAway)
        var begun: [AccountID] = []
        while let account = agenda.takeDue(at: self.at(2)) {
            agenda.begin(account, of: acme, until: self.at(100))
            begun.append(account)
        }
        // These come first, and the others have room of their own, so that they don't wait for the end of the queue.
        #expect(begun.prefix(most).allSatisfy { $0.rawValue.hasPrefix("away") })
        #expect(begun.dropFirst(most).allSatisfy { $0.rawValue.hasPrefix("in use") })
        #expect(begun.count == most + Agenda.mostBackgroundJobs)
        // An end makes room for the next one of its kind.
        agenda.end(begun[0], of: acme)
        #expect(agenda.takeDue(at: self.at(2))?.rawValue.hasPrefix("away") == true)
    }

    @Test func `an account that nobody uses and that is long overdue comes now and then`() {
        var agenda = Agenda()
        agenda.set(self.at(0), for: AccountID("unused"), of: acme)
        for number in 0..<20 { agenda.set(self.at(590), for: AccountID("in use \(number)"), of: acme, .inUse) }
        let early = (0..<8).map { _ in agenda.takeDue(at: self.at(599)) }
        #expect(!early.contains(AccountID("unused")))
        let late = (0..<8).map { _ in agenda.takeDue(at: self.at(600)) }
        #expect(late.count { $0 == AccountID("unused") } == 1)
    }

    @Test func `a provider that rests delays its own accounts only`() {
        var agenda = Agenda()
        agenda.set(self.at(1), for: AccountID("a"), of: acme, .turnedAway)
        agenda.set(self.at(2), for: AccountID("b"), of: acme, .unused)
        agenda.set(self.at(3), for: AccountID("c"), of: self.other, .unused)
        agenda.rest(until: self.at(10), of: acme)

        let next = agenda.next
        let taken = [agenda.takeDue(at: self.at(9)), agenda.takeDue(at: self.at(9))]
        let later = [agenda.takeDue(at: self.at(10)), agenda.takeDue(at: self.at(10))]

        #expect(next == self.at(3))
        #expect(taken == [AccountID("c"), nil])
        #expect(later == [AccountID("a"), AccountID("b")])
    }
}
