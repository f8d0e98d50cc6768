import OAuth
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// A client with several secrets: what is tried within one flight, and what the answers mean together.
@Suite struct FlightProofsTests {
    private static let config = TokenVerdict.config(.code("invalid_client"))
    private static let refused = TokenVerdict.refused(.noKnownReason)

    private typealias Row = (verdicts: [TokenVerdict], code: CredentialError.Code, reason: String, shown: [Int])

    private static let answers: [Row] = [
        // All refuse the client: the provider is held.
        ([config, config, config], CredentialError.Code.providerConfig, "config.invalid_client", [0, 1, 2]),
        // One took the client, or nobody can tell: the account is in trouble, the provider is not.
        ([config, refused, config], .refreshFailed, "refused.no_known_reason", [0, 1, 2]),
        ([refused, config, config], .refreshFailed, "refused.no_known_reason", [0, 1, 2]),
        ([refused, refused, .refused(.code("other"))], .refreshFailed, "refused.no_known_reason", [0, 1, 2]),
        // What is not about the client is not asked again.
        ([config, .dead(.code("invalid_grant"))], .reauthorizationRequired, "invalid_grant", [0, 1]),
        (
            [config, .accountConfig(.code("invalid_scope"))], .providerConfig, "account_config.invalid_scope",
            [0, 1]
        ),
        ([.notProvider(.answerHTML)], .providerConfig, "not_provider.html", [0]),
        ([.throttled(retryAfter: .seconds(9))], .refreshFailed, "throttled", [0]),
        ([.notSent(.connectFailed)], .refreshFailed, "not_sent.connect_failed", [0]),
        // A lost answer is asked for once more, with the same secret.
        ([config, .ambiguous(.timedOut), .ambiguous(.timedOut)], .refreshFailed, "ambiguous.timed_out", [0, 1, 1]),
        ([.ambiguous(.timedOut), config, config, config], .providerConfig, "config.invalid_client", [0, 0, 1, 2]),
    ]

    private func bench(_ proofs: Int, _ verdicts: [TokenVerdict]) -> FlightBench {
        var bench = FlightBench(.expired(), verdicts)
        bench.proofs = proofs
        return bench
    }

    @Test(arguments: [config, refused])
    func `a secret that is refused is followed by the next, under a claim that is written anew`(first: TokenVerdict) {
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
    func `the answers to all that were tried decide together`(
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

    @Test func `a client that was refused has spent nothing`() {
        var bench = self.bench(2, [Self.config, Self.config])
        _ = bench.fly()
        #expect(bench.stored?.record.failureRecord?.spent == .no)
    }

    @Test func `one secret is tried once`() {
        var bench = self.bench(1, [Self.config])
        _ = bench.fly()
        #expect(bench.shown == [0])
    }

    @Test func `a claim that is lost between two secrets stops the second`() {
        var bench = self.bench(2, [Self.config, .success(.sample(9))])
        bench.interfere = { bench, step, _ in
            if step == "claim", bench.spent.count == 1 { bench.put(.valid()) }
        }
        let outcome = bench.fly()
        #expect(outcome.result == .settled)
        #expect(bench.spent == ["rt-0"])
    }

    @Test func `a mint tries the next secret too, but not where the grant itself is refused`() {
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
            // A process that has just begun goes by the record.
            (digests[2], Duration.seconds(-60), nil as Duration?, [2, 0, 1]),
            (digests[1], .seconds(-60), nil, [1, 0, 2]),
            (digests[0], .seconds(-60), nil, [0, 1, 2]),
            (digests[1], nil, nil, [1, 0, 2]),
            // Of this process and the record the later knows better.
            (digests[2], .seconds(-60), .seconds(-30), [0, 1, 2]),
            (digests[2], .seconds(-30), .seconds(-60), [2, 0, 1]),
            (digests[2], nil, .seconds(-60), [0, 1, 2]),
            // A secret that was taken out of the list says nothing.
            (TokenDigest(of: Secret("gone")), .seconds(-30), nil, [0, 1, 2]),
            (nil, .seconds(-30), nil, [0, 1, 2]),
        ] as [(TokenDigest?, Duration?, Duration?, [Int])]
    )
    func `the secret that was taken last is tried first, then the others in their order`(
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
    func `what was taken goes into the commit, and one that was refused does not`(verdict: TokenVerdict) {
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

    @Test func `a mint's proof goes into its commit, too`() {
        var bench = FlightBench(nil, [Self.config, .success(.sample(1))])
        bench.mints = GrantID("m")
        bench.proofDigests = Self.digests
        _ = bench.fly()
        #expect(bench.stored?.record.acceptedProof == Self.digests[1])
    }
}
