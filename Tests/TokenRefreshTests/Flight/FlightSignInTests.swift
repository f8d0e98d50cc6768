import OAuth
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// Accounts that sign in with a password. The refresh token from a sign-in is used as long as it is alive.
@Suite struct FlightSignInTests {
    private static let invalidGrant = TokenVerdict.dead(.code("invalid_grant"))

    private func bench(_ record: AccountRecord?, _ verdicts: TokenVerdict..., proofs: Int = 1) -> FlightBench {
        var bench = FlightBench(record, verdicts)
        bench.mints = GrantID("first")
        bench.signsIn = true
        bench.proofs = proofs
        return bench
    }

    @Test func `the first use signs in and keeps the refresh token from the response`() {
        var bench = self.bench(nil, .success(.sample(1)))
        #expect(bench.fly().result == .committed)
        #expect(bench.spent == ["mint"])
        #expect(bench.stored?.record.tokens?.refreshToken == Secret("rt-1"))
        #expect(bench.stored?.record.tokenVersion == TokenVersion(grant: GrantID("first"), generation: Generation(1)))
    }

    @Test func `later flights redeem the refresh token, which rotates`() {
        var bench = self.bench(.expired(), .success(.sample(7)))
        #expect(bench.fly().result == .committed)
        #expect(bench.spent == ["rt-0"])
        #expect(bench.stored?.record.tokens?.refreshToken == Secret("rt-7"))
    }

    @Test(arguments: [
        invalidGrant, .refused(.noKnownReason), .rotated(RotatedToken(refreshToken: Secret("r")), .accessTokenUnusable),
    ])
    func `a refused refresh token leads to one sign-in under the same claim`(verdict: TokenVerdict) {
        var bench = self.bench(.expired(), verdict, .success(.sample(1)))
        let outcome = bench.fly()
        #expect(outcome.result == .committed)
        #expect(bench.steps == ["read", "admit", "claim", "redeem", "claim", "mint", "commit"])
        #expect(bench.spent == ["rt-0", "mint"])
        #expect(!outcome.declaredDead)
        #expect(bench.stored?.record.tokens?.refreshToken == Secret("rt-1"))
    }

    @Test func `a failed sign-in is not final, and the dead refresh token is removed`() {
        var bench = self.bench(.expired(), Self.invalidGrant, .refused(.code("invalid_grant")))
        let outcome = bench.fly()
        #expect(outcome.result == .failed(.any(.refreshFailed)))
        #expect(bench.spent == ["rt-0", "mint"])
        let record = bench.stored?.record
        #expect(record?.failureRecord?.dead == false)
        #expect(record?.failureRecord?.retryIn == .seconds(5))
        #expect(record?.tokens?.refreshToken == nil)

        bench.now = bench.now.advanced(by: .seconds(6))
        bench.verdicts = [.success(.sample(2, rotates: false))]
        #expect(bench.fly(after: outcome.snapshot).result == .committed)
        #expect(bench.spent == ["rt-0", "mint", "mint"])
        #expect(bench.stored?.record.tokens?.refreshToken == nil)
    }

    @Test func `an unreachable or throttling provider or a lost response leads to no sign-in`() {
        for verdict in [TokenVerdict.notSent(.connectFailed), .throttled(retryAfter: .seconds(9))] {
            var bench = self.bench(.expired(), verdict)
            #expect(bench.fly().result == .failed(.any(.refreshFailed)))
            #expect(bench.spent == ["rt-0"])
        }
        var lost = self.bench(.expired(), .ambiguous(.timedOut), .ambiguous(.timedOut))
        #expect(lost.fly().result == .failed(.any(.refreshFailed)))
        #expect(lost.spent == ["rt-0", "rt-0"])
        #expect(lost.stored?.record.failureRecord?.spent == .no)
    }

    @Test func `an unreachable store between the refusal and the sign-in does not bring the dead token back`() {
        var bench = self.bench(.expired(), Self.invalidGrant, .success(.sample(1)))
        bench.interfere = { bench, step, _ in
            if step == "claim", bench.spent.count == 1, bench.steps.count(where: { $0 == "claim" }) == 1 {
                bench.failure = .away
            }
        }
        #expect(bench.fly().result == .committed)
        #expect(bench.spent == ["rt-0", "mint"])
    }

    @Test func `every secret of the client is tried for the refresh token, then for the sign-in`() {
        let config = TokenVerdict.config(.code("invalid_client"))
        var bench = self.bench(
            .expired(),
            .refused(.noKnownReason),
            config,
            config,
            .success(.sample(1)),
            proofs: 2
        )
        #expect(bench.fly().result == .committed)
        #expect(bench.spent == ["rt-0", "rt-0", "mint", "mint"])
        #expect(bench.shown == [0, 1, 0, 1])
    }
}
