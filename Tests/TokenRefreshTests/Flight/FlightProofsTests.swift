import OAuth
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// A client with several secrets: which ones a flight tries, and what the responses mean together.
@Suite struct FlightProofsTests {
    private static let config = TokenVerdict.config(.code("invalid_client"))
    private static let refused = TokenVerdict.refused(.noKnownReason)

    private typealias Row = (verdicts: [TokenVerdict], code: CredentialError.Code, reason: String, shown: [Int])

    private static let answers: [Row] = [
        // Every response refuses the client, so the provider is held.
        ([config, config, config], CredentialError.Code.providerConfig, "config.invalid_client", [0, 1, 2]),
        // At least one secret may have been accepted, so only the account fails and the provider is not held.
        ([config, refused, config], .refreshFailed, "refused.no_known_reason", [0, 1, 2]),
        ([refused, config, config], .refreshFailed, "refused.no_known_reason", [0, 1, 2]),
        ([refused, refused, .refused(.code("other"))], .refreshFailed, "refused.no_known_reason", [0, 1, 2]),
        // A response that does not concern the client ends the tries.
        ([config, .dead(.code("invalid_grant"))], .reauthorizationRequired, "invalid_grant", [0, 1]),
        (
            [config, .accountConfig(.code("invalid_scope"))], .providerConfig, "account_config.invalid_scope",
            [0, 1]
        ),
        ([.notProvider(.answerHTML)], .providerConfig, "not_provider.html", [0]),
        ([.throttled(retryAfter: .seconds(9))], .refreshFailed, "throttled", [0]),
        ([.notSent(.connectFailed)], .refreshFailed, "not_sent.connect_failed", [0]),
        // After a lost response the same secret is tried once more.
        ([config, .ambiguous(.timedOut), .ambiguous(.timedOut)], .refreshFailed, "ambiguous.timed_out", [0, 1, 1]),
        ([.ambiguous(.timedOut), config, config, config], .providerConfig, "config.invalid_client", [0, 0, 1, 2]),
    ]

    private func bench(_ proofs: Int, _ verdicts: [TokenVerdict]) -> FlightBench {
        var bench = FlightBench(.expired(), verdicts)
        bench.proofs = proofs
        return bench
    }

    @Test(arguments: [config, refused])
    func `after a refused secret the next one is tried under a renewed claim`(first: TokenVerdict) {
        var bench = self.bench(2, [first, .success(.sample(1))])

        let outcome = bench.fly()

        #expect(outcome.result == .committed)
        #expect(outcome.lesson == .accepted)
        #expect(bench.steps == ["read", "admit", "claim", "redeem", "claim", "redeem", "commit"])
        #expect(bench.spent == ["rt-0", "rt-0"])
        #expect(bench.shown == [0, 1])
        #expect(bench.stored?.record.failureRecord == nil)
    }

    @Test(arguments: answers)
    func `the responses to all tried secrets decide the result together`(
        verdicts: [TokenVerdict],
        code: CredentialError.Code,
        reason: String,
        shown: [Int]
    ) {
        var bench = self.bench(3, verdicts)

        let outcome = bench.fly()

        #expect(outcome.result == .failed(.any(code)))
        #expect(bench.stored?.record.failureRecord?.reason == reason)
        #expect(bench.stored?.record.claim == nil)
        #expect(bench.shown == shown)
        #expect((outcome.lesson == .refused) == (reason == "config.invalid_client"))
    }

    @Test func `a refused client has spent no refresh token`() {
        var bench = self.bench(2, [Self.config, Self.config])
        _ = bench.fly()
        #expect(bench.stored?.record.failureRecord?.spent == .no)
    }

    @Test func `the second secret is not tried if the claim was lost before`() {
        var bench = self.bench(2, [Self.config, .success(.sample(9))])
        bench.interfere = { bench, step, _ in
            if step == "claim", bench.spent.count == 1 { bench.put(.valid()) }
        }
        let outcome = bench.fly()
        #expect(outcome.result == .settled)
        #expect(bench.spent == ["rt-0"])
    }

    @Test func `a mint tries the next secret too, but not if the grant itself is refused`() {
        var bench = self.bench(2, [Self.config, .success(.sample(1))])
        bench.mints = GrantID("m")
        #expect(bench.fly().result == .committed)
        #expect(bench.shown == [0, 1])

        var wrong = self.bench(2, [.refused(.code("invalid_grant"))])
        wrong.mints = GrantID("m")
        #expect(wrong.fly().result == .failed(.any(.refreshFailed)))
        #expect(wrong.shown == [0])
    }

    private static let digests = ["old", "middle", "new"].map { TokenDigest(of: Secret($0)) }

    private static func record(_ accepted: TokenDigest?, refreshedAt: Duration?) -> AccountRecord {
        .expired().with {
            $0.acceptedProof = accepted
            $0.refreshedAt = refreshedAt.map(Moment.start.wall.advanced)
        }
    }

    @Test(
        arguments: [
            // A process without a result of its own follows the record.
            (digests[2], Duration.seconds(-60), nil as Duration?, [2, 0, 1]),
            (digests[1], .seconds(-60), nil, [1, 0, 2]),
            (digests[0], .seconds(-60), nil, [0, 1, 2]),
            (digests[1], nil, nil, [1, 0, 2]),
            // The later one of this process's result and the record's counts.
            (digests[2], .seconds(-60), .seconds(-30), [0, 1, 2]),
            (digests[2], .seconds(-30), .seconds(-60), [2, 0, 1]),
            (digests[2], nil, .seconds(-60), [0, 1, 2]),
            // A secret that is not in the list any more has no effect.
            (TokenDigest(of: Secret("gone")), .seconds(-30), nil, [0, 1, 2]),
            (nil, .seconds(-30), nil, [0, 1, 2]),
        ] as [(TokenDigest?, Duration?, Duration?, [Int])]
    )
    func `the secret that was accepted last is tried first, then the others in their order`(
        accepted: TokenDigest?,
        refreshedAt: Duration?,
        acceptedAt: Duration?,
        shown: [Int]
    ) {
        var bench = FlightBench(
            Self.record(accepted, refreshedAt: refreshedAt),
            [Self.config, Self.config, Self.config]
        )
        bench.proofDigests = Self.digests
        bench.proofAcceptedAt = acceptedAt.map(Moment.start.wall.advanced)

        _ = bench.fly()

        #expect(bench.shown == shown)
    }

    @Test(arguments: [
        TokenVerdict.success(.sample(1)),
        .rotated(RotatedToken(refreshToken: Secret("rt-1")), .accessTokenUnusable),
    ])
    func `the accepted secret is recorded in the commit, and a refused one is not`(verdict: TokenVerdict) {
        var bench = FlightBench(.expired(), [Self.config, verdict])
        bench.proofDigests = Self.digests

        _ = bench.fly()

        #expect(bench.stored?.record.generation == Generation(2))
        #expect(bench.stored?.record.acceptedProof == Self.digests[1])

        var refused = FlightBench(
            Self.record(Self.digests[1], refreshedAt: .seconds(-60)),
            [Self.config, Self.config, Self.config]
        )
        refused.proofDigests = Self.digests
        _ = refused.fly()
        #expect(refused.stored?.record.acceptedProof == Self.digests[1])
    }

    @Test func `the accepted secret of a mint is recorded in its commit too`() {
        var bench = FlightBench(nil, [Self.config, .success(.sample(1))])
        bench.mints = GrantID("m")
        bench.proofDigests = Self.digests
        _ = bench.fly()
        #expect(bench.stored?.record.acceptedProof == Self.digests[1])
    }
}
