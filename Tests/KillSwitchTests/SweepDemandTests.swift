import KillSwitch
import Testing
import TokenModel

@Suite struct SweepDemandTests {
    private let start = WallTime(millisecondsSince1970: 0)

    private func demand(_ entries: [(KillEntry.Kind, KillScope)]) -> SweepDemand.Work {
        var demand = SweepDemand()
        _ = demand.take()
        for (kind, scope) in entries { demand.add(KillEntry(kind, scope, at: self.start)) }
        return demand.take()
    }

    @Test func `all accounts are read at the start, once`() {
        var demand = SweepDemand()
        let (first, second) = (demand.take(), demand.take())
        #expect(first == .all)
        #expect(second == .nothing)
    }

    @Test func `the demand is met when what was taken was read, and not before`() {
        var demand = SweepDemand()
        #expect(!demand.isMet)
        _ = demand.take()
        #expect(!demand.isMet)
        let alice = SweepDemand.Work.accounts([AccountID("alice")])
        demand.end(left: alice)
        #expect(!demand.isMet)
        let left = demand.take()
        #expect(left == alice)
        demand.end(left: .accounts([]))
        #expect(demand.isMet)
        _ = demand.take()
        #expect(demand.isMet)
    }

    @Test func `entries that kill nothing have no account read`() {
        let kinds = KillEntry.Kind.allCases.filter { $0 != .kill && $0 != .removed }
        #expect(self.demand(kinds.map { ($0, .all) }) == .nothing)
    }

    @Test func `a kill or a removal of an account has that account read, and a wider kill all of them`() {
        let (alice, bob) = (AccountID("alice"), AccountID("bob"))
        #expect(self.demand([(.kill, .account(alice)), (.removed, .account(bob))]) == .accounts([alice, bob]))
        #expect(self.demand([(.kill, .account(alice)), (.kill, .provider(ProviderID("acme")))]) == .all)
        #expect(self.demand([(.kill, .all), (.kill, .account(alice))]) == .all)
    }

    @Test func `with a thousand accounts and more, all are read`() {
        func entries(_ count: Int) -> [(KillEntry.Kind, KillScope)] {
            (0..<count).map { (.removed, .account(AccountID("account-\($0)"))) }
        }
        guard case .accounts(let thousand) = self.demand(entries(1_000)) else {
            Issue.record("a thousand are too many")
            return
        }
        #expect(thousand.count == 1_000)
        #expect(self.demand(entries(1_001)) == .all)
    }
}
