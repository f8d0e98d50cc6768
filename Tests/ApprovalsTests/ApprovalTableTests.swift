import Approvals
import TestKit
import Testing
import TokenModel
import TokenStorage

/// Who waits, and who goes on.
@Suite struct ApprovalTableTests {
    typealias Table = ApprovalTable<String>

    @Test(arguments: [nil, ApprovalPolicy.of(bob)])
    func `an account that requires no approval is used without one`(policy: ApprovalPolicy?) {
        var table = Table(policy)
        let action = table.wait(alice, "a", now: .at(0))
        #expect(action == .pass)
        let asked = table.asked(at: .at(0))
        #expect(asked.isEmpty)
    }

    @Test func `a request without an approval waits for as long as the policy says`() {
        var table = Table(.of(alice))
        let action = table.wait(alice, "a", now: .at(10))
        #expect(action == .wait(1, until: .at(40), tells: true))
    }

    @Test func `a request with an approval goes on, and its event loop is told again`() throws {
        var table = Table(.of(alice))
        let changes = table.approve(alice, at: 0)
        #expect(changes.ends == ["alice 900"])
        let action = table.wait(alice, "a", now: .at(899))
        #expect(action == .proceed(until: .at(900)))
        let late = table.wait(alice, "b", now: .at(900))
        #expect(late == .wait(1, until: .at(930), tells: true))
    }

    @Test func `a policy that lets nobody wait refuses at once`() {
        var table = Table(.of(alice, wait: .zero))
        let action = table.wait(alice, "a", now: .at(0))
        #expect(action == .refuse(tells: true))
    }

    @Test func `operators are told of an account once a minute`() {
        var table = Table(.of(alice, bob, wait: .zero))
        var told: [String] = []
        for second in 0...130 {
            for account in [alice, bob] where table.wait(account, "", now: .at(second)) == .refuse(tells: true) {
                told.append("\(account) \(second)")
            }
        }
        #expect(told == ["alice 0", "bob 0", "alice 60", "bob 60", "alice 120", "bob 120"])
    }

    @Test func `an approval releases those who wait for its account, in their order`() {
        var table = Table(.of(alice, bob))
        for waiter in ["a", "b", "c"] { _ = table.wait(alice, waiter, now: .at(0)) }
        _ = table.wait(bob, "d", now: .at(0))
        let changes = table.approve(alice, at: 5)
        #expect(changes.released == ["a", "b", "c"])
        let again = table.approve(alice, at: 6)
        #expect(again.released.isEmpty)
        let late = table.giveUp(1, of: alice)
        #expect(late == nil)
    }

    @Test func `a waiter whose time is over comes out, and no approval releases it later`() {
        var table = Table(.of(alice))
        _ = table.wait(alice, "a", now: .at(0))
        let first = table.giveUp(1, of: alice)
        #expect(first == "a")
        let second = table.giveUp(1, of: alice)
        #expect(second == nil)
        let changes = table.approve(alice, at: 30)
        #expect(changes.released.isEmpty)
    }

    @Test func `requests beyond the limit are refused, until others have come out`() {
        var table = Table(.of(alice))
        for _ in 0..<Table.mostWaiters { _ = table.wait(alice, "", now: .at(0)) }
        let beyond = table.wait(alice, "", now: .at(0))
        #expect(beyond == .refuse(tells: false))
        _ = table.giveUp(1, of: alice)
        let next = table.wait(alice, "", now: .at(0))
        #expect(next == .wait(UInt64(Table.mostWaiters) + 1, until: .at(30), tells: false))
    }

    @Test func `another policy releases those who need no approval any more`() {
        var table = Table(.of(alice, bob))
        _ = table.wait(alice, "a", now: .at(0))
        _ = table.wait(bob, "b", now: .at(0))
        let changes = table.reload(.of(bob))
        #expect(changes.released == ["a"])
        let rest = table.reload(nil)
        #expect(rest.released == ["b"])
    }

    @Test func `an approval that was given before an account required one counts when it does`() {
        var table = Table(.of(bob))
        let changes = table.approve(alice, at: 0)
        #expect(changes.ends == ["alice 900"])
        let before = table.approvals(at: .at(1))
        #expect(before.isEmpty)
        _ = table.reload(.of(alice))
        let action = table.wait(alice, "a", now: .at(1))
        #expect(action == .proceed(until: .at(900)))
    }

    @Test func `nobody waits in a process that stops`() {
        var table = Table(.of(alice, bob))
        _ = table.wait(alice, "a", now: .at(0))
        _ = table.wait(bob, "b", now: .at(0))
        let out = table.stop()
        #expect(out.sorted() == ["a", "b"])
        let action = table.wait(alice, "c", now: .at(1))
        #expect(action == .refuse(tells: false))
    }

    @Test func `records are read often while somebody waits, and never where no account requires an approval`() {
        var table = Table(.of(alice))
        #expect(table.patience == .seconds(9))
        _ = table.wait(alice, "a", now: .at(0))
        #expect(table.patience == .seconds(1))
        _ = table.giveUp(1, of: alice)
        #expect(table.patience == .seconds(9))
        _ = table.reload(nil)
        #expect(table.patience == nil)
    }

    @Test func `an account is listed as asked for while a request waits, and a minute longer`() {
        var table = Table(.of(alice, bob, wait: .seconds(300)))
        _ = table.wait(alice, "a", now: .at(0))
        let whileWaiting = table.asked(at: .at(100))
        #expect(whileWaiting == [alice])
        _ = table.giveUp(1, of: alice)
        let longAfter = table.asked(at: .at(100))
        #expect(longAfter.isEmpty)
        _ = table.wait(bob, "b", now: .at(100))
        _ = table.giveUp(2, of: bob)
        let soonAfter = table.asked(at: .at(159))
        #expect(soonAfter == [bob])
        _ = table.approve(bob, at: 159)
        let approved = table.asked(at: .at(159))
        #expect(approved.isEmpty)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `each waiter comes out once, whatever happens`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var table = Table(.of(alice, bob))
        var (inside, out, tickets) = (Set<String>(), [String](), [(UInt64, AccountID)]())
        for step in 0..<400 {
            let account = Bool.random(using: &generator) ? alice : bob
            switch Int.random(in: 0..<8, using: &generator) {
            case 0...3:
                if case .wait(let ticket, _, _) = table.wait(account, "\(step)", now: .at(step)) {
                    inside.insert("\(step)")
                    tickets.append((ticket, account))
                }
            case 4, 5:
                guard let (ticket, owner) = tickets.randomElement(using: &generator) else { continue }
                if let waiter = table.giveUp(ticket, of: owner) { out.append(waiter) }
            case 6: out += table.approve(account, at: step, for: 5).released
            default: out += table.reload(Bool.random(using: &generator) ? .of(alice) : .of(alice, bob)).released
            }
        }
        out += table.stop()
        #expect(inside.count > 20)
        #expect(out.sorted() == inside.sorted())
    }
}
