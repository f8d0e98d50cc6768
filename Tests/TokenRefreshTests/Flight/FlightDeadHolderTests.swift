import OAuth
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// A claim whose incarnation has certainly ended.
@Suite struct FlightDeadHolderTests {
    private static let claimed = AccountRecord.expired().with { $0.claim = FlightBench.others }

    private static func bench(_ record: AccountRecord, _ verdicts: [TokenVerdict]) -> FlightBench {
        var bench = FlightBench(record, verdicts)
        bench.deadBoots = [FlightBench.others.incarnation]
        return bench
    }

    @Test func `the claim is broken at once, and the refresh token is used once more`() {
        var bench = Self.bench(Self.claimed, [.success(.sample())])
        var claimed: AccountRecord?
        bench.interfere = { bench, step, _ in if step == "redeem" { claimed = bench.stored?.record } }

        #expect(bench.fly().result == .committed)

        #expect(bench.steps == ["read", "admit", "claim", "redeem", "commit"])
        #expect(bench.spent == ["rt-0"])
        #expect(claimed?.claim?.id == FlightBench.claim)
        #expect(claimed?.failureRecord?.spent == .maybe)
    }

    @Test func `the dead holder's request counts as ambiguous, so there is no third request`() {
        var bench = Self.bench(Self.claimed, [.ambiguous(.timedOut), .success(.sample())])

        #expect(bench.fly().result == .failed(.any(.refreshFailed)))

        #expect(bench.spent == ["rt-0"])
        #expect(bench.stored?.record.failureRecord?.spent == .maybe)
        #expect(bench.stored?.record.claim == nil)
    }

    @Test func `if the dead holder had the one repeated use, the next use comes after a backoff`() {
        var bench = Self.bench(Self.claimed.with { $0.failureRecord = .sample(spent: .maybe) }, [.success(.sample())])

        #expect(bench.fly().result == .failed(.any(.refreshFailed)))

        #expect(bench.spent.isEmpty)
        #expect(bench.stored?.record.claim == nil)
        #expect((bench.stored?.record.failureRecord?.retryIn ?? .zero) > .zero)
    }

    @Test(arguments: [
        RefreshRequest.forced, RefreshRequest(ripe: claimed.tokenVersion),
        RefreshRequest(refused: claimed.tokenVersion),
    ])
    func `the claim is broken even while the access token is valid, as the provider's grace period may end first`(
        refresh: RefreshRequest
    ) {
        var bench = Self.bench(AccountRecord.valid().with { $0.claim = FlightBench.others }, [.success(.sample())])
        bench.refresh = refresh

        #expect(bench.fly().result == .committed)

        #expect(bench.spent == ["rt-0"])
    }

    @Test func `the wait for a claim ends when its incarnation dies`() {
        var bench = FlightBench(Self.claimed, [.success(.sample())])
        bench.interfere = { bench, step, number in
            if step == "pause", number > 4 { bench.deadBoots = [FlightBench.others.incarnation] }
        }

        #expect(bench.fly().result == .committed)

        #expect(Moment.start.boot.duration(to: bench.now.boot) <= .seconds(2))
    }

    @Test func `a claim that another incarnation wrote since is not broken`() {
        var bench = Self.bench(Self.claimed, [.success(.sample())])
        let another = AccountRecord.Claim(
            incarnation: IncarnationID("third"),
            id: ClaimID("new"),
            standsFor: .seconds(12)
        )
        bench.interfere = { bench, step, number in
            if step == "claim", number == 2 { bench.change { $0.claim = another } }
            if step == "pause" { bench.put(.valid(generation: 2)) }
        }

        #expect(bench.fly().result == .settled)

        #expect(bench.spent.isEmpty)
    }

    @Test func `a grant that dies because a process ended reports that cause`() {
        var bench = Self.bench(Self.claimed, [.dead(.code("invalid_grant"))])

        let outcome = bench.fly()

        #expect(outcome.declaredDead)
        #expect(bench.stored?.record.failureRecord?.reason == "invalid_grant.claim_broken")
        guard case .failed(let error) = outcome.result else { return #expect(Bool(false), "it did not fail") }
        #expect(error.code == .reauthorizationRequired)
        #expect(error.message.contains("a process ended"))
    }

    @Test func `that cause is kept through outages until a refresh succeeds, and no longer`() {
        var bench = Self.bench(Self.claimed, [.notSent(.connectFailed), .dead(.code("invalid_grant"))])
        _ = bench.fly()
        #expect(bench.stored?.record.failureRecord?.reason == "not_sent.connect_failed.claim_broken")
        bench.refresh = .forced
        _ = bench.fly()
        #expect(bench.stored?.record.failureRecord?.reason == "invalid_grant.claim_broken")

        var alive = Self.bench(Self.claimed, [.success(.sample()), .dead(.code("invalid_grant"))])
        #expect(alive.fly().result == .committed)
        alive.refresh = .forced
        _ = alive.fly()
        #expect(alive.stored?.record.failureRecord?.reason == "invalid_grant")
    }

    @Test func `a grant that dies for another reason does not report that cause`() {
        var bench = FlightBench(.expired(), [.ambiguous(.timedOut), .dead(.code("invalid_grant"))])
        _ = bench.fly()
        #expect(bench.stored?.record.failureRecord?.reason == "invalid_grant")
    }
}
