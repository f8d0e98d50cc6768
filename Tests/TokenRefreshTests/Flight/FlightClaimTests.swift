import OAuth
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// A flight that competes with other replicas, or whose store is slow or unreachable before anything is spent.
@Suite struct FlightClaimTests {
    @Test func `a flight that loses the race for the claim uses the winner's tokens`() {
        var bench = FlightBench(.expired())
        bench.interfere = { bench, step, _ in
            if step == "claim" { bench.change { $0.claim = FlightBench.others } }
            if step == "pause" { bench.put(.valid(generation: 2)) }
        }

        let outcome = bench.fly()

        #expect(outcome.result == .settled)
        #expect(bench.spent.isEmpty)
        #expect(bench.steps == ["read", "admit", "claim", "read", "pause", "read"])
    }

    @Test func `a flight that waits for another replica's failing flight shares that flight's backoff`() {
        var bench = FlightBench(.expired().with { $0.claim = FlightBench.others })
        bench.interfere = { bench, step, number in
            guard step == "pause", number > 4 else { return }
            bench.put(.expired().with { $0.failureRecord = .sample(retryIn: .seconds(9)) })
        }

        let outcome = bench.fly()

        #expect(outcome.result == .failed(.any(.refreshFailed)))
        #expect(bench.spent.isEmpty)
    }

    @Test func `a claim that stays unchanged for its whole term is broken, and the refresh token is used once`() {
        var bench = FlightBench(
            .expired().with { $0.claim = FlightBench.others },
            [.ambiguous(.timedOut), .success(.sample())]
        )
        var claimed: AccountRecord?
        bench.interfere = { bench, step, _ in if step == "redeem" { claimed = bench.stored?.record } }

        let outcome = bench.fly()

        #expect(claimed?.claim?.id == FlightBench.claim)
        #expect(claimed?.failureRecord?.spent == .maybe)
        #expect(bench.spent == ["rt-0"])
        #expect(outcome.result == .failed(.any(.refreshFailed)))
        // The flight reads the claim every 250 ms while callers wait, and every second afterwards.
        #expect(Moment.start.boot.duration(to: bench.now.boot) == .seconds(12))
        #expect(bench.steps.filter { $0 == "pause" }.count == 32 + 4)
    }

    @Test func `a claim that is written again is not broken`() {
        var bench = FlightBench(.expired().with { $0.claim = FlightBench.others })
        bench.interfere = { bench, step, number in
            guard step == "pause" else { return }
            let seconds = Moment.start.boot.duration(to: bench.now.boot).components.seconds
            if seconds == 11 { bench.put(.expired().with { $0.claim = FlightBench.others }) }
            if seconds >= 20 { bench.put(.valid(generation: 2)) }
        }

        let outcome = bench.fly()

        #expect(outcome.result == .settled)
        #expect(bench.spent.isEmpty)
    }

    @Test func `a claim on a token that is still valid is never broken`() {
        var bench = FlightBench(.valid().with { $0.claim = FlightBench.others })
        bench.refresh = .forced

        let outcome = bench.fly()

        #expect(outcome.result == .failed(.any(.refreshFailed)))
        #expect(bench.spent.isEmpty)
        #expect(bench.stored?.record.claim == FlightBench.others)
    }

    @Test func `if the broken claim was for the one repeated use, the next use comes after a backoff`() {
        var bench = FlightBench(
            .expired().with {
                $0.claim = FlightBench.others
                $0.failureRecord = .sample(spent: .maybe, reason: "ambiguous.timed_out")
            }
        )

        let outcome = bench.fly()

        #expect(outcome.result == .failed(.any(.refreshFailed)))
        #expect(bench.spent.isEmpty)
        #expect(bench.stored?.record.claim == nil)
        #expect(
            bench.stored?.record.failureRecord
                == .sample(tries: 2, spent: .maybe, retryIn: .seconds(1), reason: "ambiguous.claim_broken")
        )
    }

    @Test func `a claim that an earlier flight of this process left behind is broken at once`() {
        let left = AccountRecord.Claim(
            incarnation: FlightBench.incarnation,
            id: ClaimID("earlier"),
            standsFor: .seconds(12)
        )
        var bench = FlightBench(.expired().with { $0.claim = left }, [.success(.sample())])

        let outcome = bench.fly()

        #expect(outcome.result == .committed)
        #expect(bench.now == Moment.start)
    }

    // MARK: - Time

    @Test func `a claim whose write took too long is written again before anything is sent`() {
        var bench = FlightBench(.expired(), [.success(.sample())])
        bench.interfere = { bench, step, number in
            if step == "claim", number == 2 { bench.takes = .milliseconds(3_001) }
        }

        let outcome = bench.fly()

        #expect(outcome.result == .committed)
        #expect(bench.steps == ["read", "admit", "claim", "claim", "redeem", "commit"])
    }

    @Test func `if the store is always too slow, the flight removes its claim and does not send the refresh token`() {
        var bench = FlightBench(.expired())
        bench.interfere = { bench, step, _ in if step == "claim" { bench.takes = .milliseconds(3_001) } }

        let outcome = bench.fly()

        #expect(outcome.result == .failed(.any(.storeLost)))
        #expect(bench.spent.isEmpty)
        #expect(bench.stored?.record == .expired())
    }

    @Test func `a connection that takes too long is repeated under a renewed claim`() {
        var bench = FlightBench(.expired(), [.success(.sample())])
        bench.interfere = { bench, step, number in
            if step == "redeem", number == 3 { bench.takes = .milliseconds(3_001) }
        }

        let outcome = bench.fly()

        #expect(outcome.result == .committed)
        #expect(bench.steps == ["read", "admit", "claim", "redeem", "claim", "redeem", "commit"])
        #expect(bench.spent == ["rt-0"])
    }

    @Test func `a connection that always takes too long ends the flight as not sent`() {
        var bench = FlightBench(.expired())
        bench.interfere = { bench, step, _ in if step == "redeem" { bench.takes = .milliseconds(3_001) } }

        let outcome = bench.fly()

        #expect(outcome.result == .failed(.any(.refreshFailed)))
        #expect(bench.spent.isEmpty)
        #expect(bench.stored?.record.failureRecord?.spent == .no)
        #expect(bench.stored?.record.failureRecord?.reason == "not_sent.sending_too_late")
    }

    @Test func `no second try is made after another replica has broken the claim`() {
        var bench = FlightBench(.expired(), [.ambiguous(.timedOut)])
        bench.interfere = { bench, step, number in
            if step == "claim", number == 4 { bench.change { $0.claim = FlightBench.others } }
            if step == "pause" { bench.put(.valid(generation: 2)) }
        }

        let outcome = bench.fly()

        #expect(outcome.result == .settled)
        #expect(bench.spent == ["rt-0"])
    }

    // MARK: - The store

    @Test(arguments: [(StoreError.away, CredentialError.Code.storeLost), (.spoiled, .accountUnreadable)])
    func `a record that can't be read ends the flight`(failure: StoreError, code: CredentialError.Code) {
        var bench = FlightBench(.expired())
        bench.failure = failure

        let outcome = bench.fly()

        #expect(outcome.result == .failed(.any(code)))
        #expect(bench.steps == ["read"])
    }

    @Test func `no refresh token is spent if the store can't be written`() {
        var bench = FlightBench(.expired())
        bench.interfere = { bench, step, _ in if step == "claim" { bench.failure = .full } }

        let outcome = bench.fly()

        #expect(outcome.result == .failed(.any(.storeLost)))
        #expect(bench.spent.isEmpty)
    }

    @Test func `a claim whose acknowledgment was lost is found and used`() {
        var bench = FlightBench(.expired(), [.success(.sample())])
        bench.interfere = { bench, step, number in if number == 2 { bench.losesAnswer = true } }

        let outcome = bench.fly()

        #expect(outcome.result == .committed)
        #expect(bench.steps == ["read", "admit", "claim", "pause", "read", "redeem", "commit"])
    }

    @Test func `a claim that lands late, during its second write, still counts as ours`() {
        var bench = FlightBench(.expired(), [.success(.sample())])
        var late: AccountVault.Entry?
        bench.interfere = { bench, step, number in
            if number == 2 {
                bench.failure = .away
                let claim = AccountRecord.Claim(
                    incarnation: FlightBench.incarnation,
                    id: FlightBench.claim,
                    standsFor: .seconds(12)
                )
                late = AccountVault.Entry(record: .expired().with { $0.claim = claim }, version: Version(2))
            }
            // The first write of the claim lands right before the second one.
            if step == "claim", number > 2, let entry = late {
                bench.stored = entry
                late = nil
            }
        }

        let outcome = bench.fly()

        #expect(outcome.result == .committed)
        #expect(bench.spent == ["rt-0"])
        #expect(bench.steps == ["read", "admit", "claim", "pause", "read", "claim", "read", "redeem", "commit"])
    }

    @Test func `a store that never comes back ends the flight before anything is sent`() {
        var bench = FlightBench(.expired())
        bench.interfere = { bench, _, number in if number >= 2 { bench.failure = .away } }

        let outcome = bench.fly()

        #expect(outcome.result == .failed(.any(.storeLost)))
        #expect(bench.spent.isEmpty)
    }
}
