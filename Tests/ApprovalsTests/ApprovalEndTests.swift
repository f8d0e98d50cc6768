import Approvals
import Testing
import TokenModel
import TokenStorage

/// When an approval is over: by its time, whatever the wall clock does, and by a kill.
@Suite struct ApprovalEndTests {
    typealias Table = ApprovalTable<String>

    @Test(
        arguments: [
            // The wall clock at the reading, in seconds after the approval; what is left of 900 s.
            (0, 900),
            (300, 600),
            (899, 1),
            // Another machine's clock may be behind: no more than was approved.
            (-200, 900),
            (-300, 900),
            (900, nil),
            (100_000, nil),
            // It was set back since then.
            (-301, nil),
            (-100_000, nil),
        ] as [(Int, Int?)]
    )
    func `an approval counts for what is left of it, and never for longer than was approved`(
        wall: Int,
        left: Int?
    ) {
        var table = Table(.of(alice))
        let record = ApprovalRecord.sample(at: 0)
        let now = Moment.at(wall: wall, boot: 50)
        let changes = table.take([alice: record], known: KillEpochs(), provider: { _ in acme }, now: now)
        #expect(changes.ends.texts == (left.map { ["alice \(50 + $0)"] } ?? []))
        let action = table.wait(alice, "a", now: .at(50))
        if let left {
            #expect(action == .proceed(until: .at(50 + left)))
        } else {
            #expect(action == .wait(1, until: .at(80), tells: true))
        }
    }

    @Test func `a wall clock that is set back later prolongs nothing`() {
        var table = Table(.of(alice))
        let record = ApprovalRecord.sample(at: 0)
        func read(_ now: Moment) -> [String] {
            table.take([alice: record], known: KillEpochs(), provider: { _ in acme }, now: now).ends.texts
        }
        #expect(read(.at(wall: 0, boot: 0)) == ["alice 900"])
        #expect(read(.at(wall: -200, boot: 800)) == [])
        #expect(read(.at(wall: 0, boot: 1_000)) == [])
        let action = table.wait(alice, "a", now: .at(900))
        #expect(action == .wait(1, until: .at(930), tells: true))
    }

    @Test func `a stale read of an earlier approval takes nothing away`() {
        var table = Table(.of(alice))
        _ = table.approve(alice, at: 0)
        _ = table.approve(alice, at: 100)
        let stale = table.approve(alice, at: 0, now: 101)
        #expect(stale.ends.isEmpty)
        let approval = table.approval(of: alice, at: .at(999))
        #expect(approval?.until == .at(1_000))
        let over = table.approval(of: alice, at: .at(1_000))
        #expect(over == nil)
    }

    @Test func `an approval that is read when it is over releases nobody`() {
        var table = Table(.of(alice))
        _ = table.approve(alice, at: 0)
        _ = table.wait(alice, "a", now: .at(950))
        _ = table.approve(alice, at: 10, for: 20, now: 950)
        let again = table.approve(alice, at: 0, now: 950)
        #expect(again.released.isEmpty)
        #expect(again.ends.isEmpty)
    }

    @Test(arguments: [
        (KillScope.all, true), (.provider(acme), true), (.account(alice), true),
        (.provider(ProviderID("other")), false), (.account(bob), false),
    ])
    func `a kill ends the approvals that were given before it, and no others`(scope: KillScope, ends: Bool) {
        // Given an approval
        var table = Table(.of(alice))
        let before = KillEpochs()
        _ = table.approve(alice, at: 0)

        // When its account is killed, and the kill lifted at once
        var after = before
        after.raise(scope, at: Epoch(1), holds: true)
        after.lift(scope, at: Epoch(2))
        let changes = table.apply(after) { _ in acme }

        // Then it is over, and stays so however often its record is read
        #expect(changes.ends.texts == (ends ? ["alice over"] : []))
        _ = table.approve(alice, at: 0, now: 1)
        #expect((table.approval(of: alice, at: .at(1)) == nil) == ends)

        // And one that is given after the kill stands
        let anew = table.approve(alice, at: 2, knowing: after)
        #expect(anew.ends == ["alice 902"])
    }

    @Test func `a kill that waits for the store ends an approval too`() {
        var table = Table(.of(alice))
        _ = table.approve(alice, at: 0)
        var epochs = KillEpochs()
        epochs.setPending([.account(alice): .abort])
        let changes = table.apply(epochs) { _ in acme }
        #expect(changes.ends.texts == ["alice over"])
    }

    @Test func `an approval is dead that an earlier log stamped, if this one has killed its account`() {
        // Given a log whose first entry is another than the one that the approval's writer had read
        var epochs = KillEpochs()
        epochs.raise(.account(alice), at: Epoch(1), holds: false)
        epochs.note(KillID("ours"))
        var lost = KillEpochs()
        lost.skip(Epoch(1))
        lost.note(KillID("lost"))

        var table = Table(.of(alice))
        _ = table.apply(epochs) { _ in acme }
        let changes = table.approve(alice, at: 0, knowing: lost)
        #expect(changes.ends.isEmpty)
        let anew = table.approve(alice, at: 1, knowing: epochs)
        #expect(anew.ends == ["alice 901"])
    }

    @Test func `the approval of an account that is not configured counts when it is`() {
        var table = Table(.of(alice))
        let record = ApprovalRecord.sample(at: 0)
        var provider: ProviderID?
        func read() -> [String] {
            table.take([alice: record], known: KillEpochs(), provider: { _ in provider }, now: .at(1)).ends.texts
        }
        #expect(read() == [])
        provider = acme
        #expect(read() == ["alice 900"])
    }

    @Test(
        arguments: [
            (bob, acme, nil, ApprovalError.Code.notRequired),
            (alice, nil, nil, .unknownAccount),
            (alice, acme, KillScope.all, .killed),
            (alice, acme, .provider(acme), .killed),
            (alice, acme, .account(alice), .killed),
        ] as [(AccountID, ProviderID?, KillScope?, ApprovalError.Code)]
    )
    func `an account is not approved that can't be, or while a kill covers it`(
        account: AccountID,
        provider: ProviderID?,
        killed: KillScope?,
        code: ApprovalError.Code
    ) {
        let table = Table(.of(alice))
        var epochs = KillEpochs()
        if let killed { epochs.raise(killed, at: Epoch(1), holds: true) }
        var found: ApprovalError.Code?
        do throws(ApprovalError) {
            _ = try table.approval(of: account, by: nil, at: provider, known: epochs, now: .at(0))
        } catch {
            found = error.code
        }
        #expect(found == code)
    }

    @Test func `an approval says who gave it, for how long, and what was known of the kill log`() throws {
        let table = Table(.of(alice))
        var epochs = KillEpochs()
        epochs.raise(.account(alice), at: Epoch(1), holds: false)
        epochs.note(KillID("entry"))
        let record = try table.approval(of: alice, by: "anne", at: acme, known: epochs, now: .at(7))
        let expected = ApprovalRecord(
            until: .at(907),
            by: "anne",
            at: .at(7),
            observedEpoch: Epoch(1),
            observedEntry: KillID("entry")
        )
        #expect(record == expected)
    }
}
