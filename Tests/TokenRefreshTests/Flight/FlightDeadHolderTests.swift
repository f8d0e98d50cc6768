import OAuth
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// The claim of an incarnation that has ended for certain.
@Suite struct FlightDeadHolderTests {
    private static let claimed = AccountRecord.expired().with { $0.claim = FlightBench.others }

    private static func bench(_ record: AccountRecord, _ verdicts: [TokenVerdict]) -> FlightBench {
        var bench = FlightBench(record, verdicts)
        bench.deadBoots = [FlightBench.others.incarnation]
        return bench
    }

    @Test func `it is broken at once, and its refresh token used once more`() {
        var bench = Self.bench(Self.claimed, [.success(.sample())])
        var claimed: AccountRecord?
        bench.interfere = { bench, step, _ in if step == "redeem" { claimed = bench.stored?.record } }

        #expect(bench.fly().result == .committed)

        #expect(bench.steps == ["read", "admit", "claim", "redeem", "commit"])
        #expect(bench.spent == ["rt-0"])
        #expect(claimed?.claim?.id == FlightBench.claim)
        #expect(claimed?.failureRecord?.spent == .maybe)
    }

    @Test func `what it asked counts as ambiguous: an answer that never came is not asked for a third time`() {
        var bench = Self.bench(Self.claimed, [.ambiguous(.timedOut), .success(.sample())])

        #expect(bench.fly().result == .failed(.any(.refreshFailed)))

        #expect(bench.spent == ["rt-0"])
        #expect(bench.stored?.record.failureRecord?.spent == .maybe)
        #expect(bench.stored?.record.claim == nil)
    }

    @Test func `where it held the one more use itself, the next comes after a backoff`() {
        var bench = Self.bench(Self.claimed.with { $0.failureRecord = .sample(spent: .maybe) }, [.success(.sample())])

        #expect(bench.fly().result == .failed(.any(.refreshFailed)))

        #expect(bench.spent.isEmpty)
        #expect(bench.stored?.record.claim == nil)
        #expect((bench.stored?.record.failureRecord?.retryIn ?? .zero) > .zero)
    }

    @Test(arguments: [false, true])
    func `it is broken also while the access token is good: a grace for what it asked may end before that does`(
        _ isForced: Bool
    ) {
        let record = AccountRecord.valid().with { $0.claim = FlightBench.others }
        var bench = Self.bench(record, [.success(.sample())])
        bench.refresh = isForced ? .forced : RefreshRequest(ripe: record.tokenVersion)

        #expect(bench.fly().result == .committed)

        #expect(bench.spent == ["rt-0"])
    }

    @Test func `it is broken for a good access token that an upstream refused`() {
        let record = AccountRecord.valid().with { $0.claim = FlightBench.others }
        var bench = Self.bench(record, [.success(.sample())])
        bench.refresh = RefreshRequest(refused: record.tokenVersion)

        #expect(bench.fly().result == .committed)
    }

    @Test func `an incarnation that dies while its claim is waited for is waited for no longer`() {
        var bench = FlightBench(Self.claimed, [.success(.sample())])
        bench.interfere = { bench, step, number in
            if step == "pause", number > 4 { bench.deadBoots = [FlightBench.others.incarnation] }
        }

        #expect(bench.fly().result == .committed)

        #expect(Moment.start.boot.duration(to: bench.now.boot) <= .seconds(2))
    }

    @Test func `of a claim that another has put there since nothing is known`() {
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

    @Test func `a grant that dies by the end of a process says so`() {
        var bench = Self.bench(Self.claimed, [.dead(.code("invalid_grant"))])

        let outcome = bench.fly()

        #expect(outcome.declaredDead)
        #expect(bench.stored?.record.failureRecord?.reason == "invalid_grant.claim_broken")
        guard case .failed(let error) = outcome.result else { return #expect(Bool(false), "it did not fail") }
        #expect(error.code == .reauthorizationRequired)
        #expect(error.message.contains("a process ended"))
    }

    @Test func `it is known until the doubt is over, through outages, and no longer`() {
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

    @Test func `a grant that dies by itself does not blame a process`() {
        var bench = FlightBench(.expired(), [.ambiguous(.timedOut), .dead(.code("invalid_grant"))])
        _ = bench.fly()
        #expect(bench.stored?.record.failureRecord?.reason == "invalid_grant")
    }
}
