import Testing
import TokenModel
import TokenRefresh

@Suite struct ProviderGateTests {
    private let start = Moment.start.boot
    private let alice = AccountID("alice")
    private let bob = AccountID("bob")

    private func credential(_ gate: inout ProviderGate, _ account: AccountID, now: BootInstant) -> ProviderGate.Ticket?
    {
        guard case .at(let moment) = gate.queue(account, isForced: false, patience: .zero, now: now), moment <= now
        else { return nil }
        return try? gate.admit(account, isForced: false, now: now).get()
    }

    private func fail(_ gate: inout ProviderGate, times: Int, now: BootInstant) {
        for index in 0..<times {
            let account = index.isMultiple(of: 2) ? self.alice : self.bob
            let ticket = self.credential(&gate, account, now: now)
            _ = gate.learned(.nothing, .failed, by: ticket, of: account, now: now)
        }
    }

    @Test func `a request that the open breaker refuses takes nothing from the bucket`() {
        var gate = ProviderGate(RefreshRate(perSecond: 1, burst: 6), accounts: 2)
        self.fail(&gate, times: 5, now: self.start)
        for _ in 0..<10 {
            let place = gate.queue(self.alice, isForced: false, patience: .zero, now: self.start)
            #expect(place == .refused(.failing(retryAfter: .seconds(15))))
        }
        let forced = gate.queue(self.alice, isForced: true, patience: .zero, now: self.start)
        #expect(forced == .at(self.start))
        #expect(gate.availability == .failing(retryAt: self.start.advanced(by: .seconds(10))))
    }

    @Test func `a refused client and its end are reported once each, separately from a failing provider`() {
        var gate = ProviderGate(RefreshRate(), accounts: 2)
        let ticket = self.credential(&gate, self.alice, now: self.start)
        let refused = gate.learned(.refused, .responded, by: ticket, of: self.alice, now: self.start)
        #expect(refused == ProviderGate.Changes(refusesClient: true))
        #expect(gate.availability == .refusesClient(retryAt: self.start.advanced(by: .seconds(30))))
        let later = self.start.advanced(by: .seconds(30))
        let probe = self.credential(&gate, self.bob, now: later)
        let accepted = gate.learned(.accepted, .responded, by: probe, of: self.bob, now: later)
        #expect(probe?.probesClient == true)
        #expect(accepted == ProviderGate.Changes(refusesClient: false))
        #expect(gate.availability == .answering)
    }

    @Test func `a provider counts as held from its first refusal until it accepts the client, even during probes`() {
        var gate = ProviderGate(RefreshRate(), accounts: 2)
        #expect(gate.heldSince == nil)
        let ticket = self.credential(&gate, self.alice, now: self.start)
        _ = gate.learned(.refused, .responded, by: ticket, of: self.alice, now: self.start)
        #expect(gate.heldSince == self.start)

        let due = self.start.advanced(by: .seconds(30))
        let probe = self.credential(&gate, self.bob, now: due)
        #expect(gate.heldSince == self.start)
        _ = gate.learned(.refused, .responded, by: probe, of: self.bob, now: due)
        #expect(gate.heldSince == self.start)

        let later = due.advanced(by: .seconds(60))
        let next = self.credential(&gate, self.alice, now: later)
        _ = gate.learned(.accepted, .responded, by: next, of: self.alice, now: later)
        #expect(next?.probesClient == true)
        #expect(gate.heldSince == nil)
    }

    @Test func `a withdrawn request frees the probe and its place in the bucket`() {
        var gate = ProviderGate(RefreshRate(perSecond: 1, burst: 6), accounts: 2)
        self.fail(&gate, times: 5, now: self.start)
        let due = self.start.advanced(by: .seconds(30))
        for _ in 0..<20 {
            guard let ticket = self.credential(&gate, self.bob, now: due) else {
                Issue.record("no probe was admitted")
                return
            }
            #expect(ticket.probesAnswer)
            gate.withdraw(ticket, of: self.bob, now: due)
        }
    }

    @Test func `a flight that was not admitted changes nothing`() {
        var gate = ProviderGate(RefreshRate(), accounts: 1)
        for _ in 0..<10 {
            let changes = gate.learned(.refused, .failed, by: nil, of: self.alice, now: self.start)
            #expect(changes == ProviderGate.Changes())
        }
        #expect(gate.availability == .answering)
    }

    @Test func `the gate reports once that requests wait and once that they no longer do`() {
        var gate = ProviderGate(RefreshRate(perSecond: 10, burst: 4), accounts: 1)
        var told: [Bool] = []
        func take(at now: BootInstant) {
            guard case .at(let moment) = gate.queue(self.alice, isForced: false, patience: .seconds(15), now: now)
            else {
                return
            }
            if let isRateLimited = gate.crowding(wait: now.duration(to: moment), now: now) {
                told.append(isRateLimited)
            }
        }
        for _ in 0..<10 { take(at: self.start) }
        #expect(told == [true])
        take(at: self.start.advanced(by: .milliseconds(600)))
        #expect(told == [true])
        take(at: self.start.advanced(by: .seconds(5)))
        #expect(told == [true, false])
    }

    @Test func `a reload with another rate begins with a full bucket, and any reload allows a probe`() {
        var gate = ProviderGate(RefreshRate(perSecond: 1, burst: 5), accounts: 2)
        self.fail(&gate, times: 5, now: self.start)
        gate.reload(RefreshRate(perSecond: 1, burst: 2), accounts: 2, now: self.start)
        let ticket = self.credential(&gate, self.alice, now: self.start)
        #expect(ticket?.probesAnswer == true)
    }

    @Test func `the end of a probe from before a reload does not free the place of the probe after it`() {
        var gate = ProviderGate(RefreshRate(), accounts: 2)
        self.fail(&gate, times: 5, now: self.start)
        let due = self.start.advanced(by: .seconds(30))
        let before = self.credential(&gate, self.bob, now: due)
        gate.reload(RefreshRate(), accounts: 2, now: due)
        let after = self.credential(&gate, self.alice, now: due)
        _ = gate.learned(.nothing, .nothing, by: before, of: self.bob, now: due)
        let beside = self.credential(&gate, self.bob, now: due)
        #expect(before?.probesAnswer == true)
        #expect(after?.probesAnswer == true)
        #expect(beside == nil)
    }

    @Test func `the breaker does not open for a provider that a reload leaves with one account`() {
        var gate = ProviderGate(RefreshRate(), accounts: 2)
        self.fail(&gate, times: 5, now: self.start)
        gate.reload(RefreshRate(), accounts: 1, now: self.start)
        for _ in 0..<10 {
            guard let ticket = self.credential(&gate, self.alice, now: self.start) else {
                Issue.record("nothing was admitted")
                return
            }
            _ = gate.learned(.nothing, .failed, by: ticket, of: self.alice, now: self.start)
        }
        #expect(gate.availability == .answering)
    }

    @Test func `a request behind others that were turned away takes nothing, and learns when its turn comes`() {
        var gate = ProviderGate(RefreshRate(perSecond: 10, burst: 1), accounts: 2)
        let behind = gate.queue(self.alice, isForced: false, patience: .seconds(60), behind: 50, now: self.start)
        let foretold = gate.wait(now: self.start)
        let forced = gate.queue(self.alice, isForced: true, patience: .seconds(60), behind: 50, now: self.start)
        let next = gate.queue(self.alice, isForced: false, patience: .seconds(60), now: self.start)

        #expect(behind == .refused(.crowded(retryAfter: .seconds(5))))
        #expect(foretold == .zero)
        // An operator's request and a background refresh in its turn wait behind nobody.
        #expect(forced == .at(self.start))
        #expect(next == .at(self.start.advanced(by: .milliseconds(100))))
    }
}
