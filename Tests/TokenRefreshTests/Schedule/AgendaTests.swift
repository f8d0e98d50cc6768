import TestKit
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
}
