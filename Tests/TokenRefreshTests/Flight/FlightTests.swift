import OAuth
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// A single flight, and its effects for each record and each response of the provider.
@Suite struct FlightTests {
    private static let refresh = ["read", "admit", "claim", "redeem", "commit"]

    @Test func `an expired token leads to a claim, a redemption and a commit`() {
        var bench = FlightBench(.expired(), [.success(.sample())])

        let outcome = bench.fly()

        #expect(outcome.result == .committed)
        #expect(bench.steps == Self.refresh)
        #expect(bench.spent == ["rt-0"])
        let record = bench.stored?.record
        #expect(record?.generation == Generation(2))
        #expect(record?.grant == GrantID("g"))
        #expect(record?.observedEpoch == Epoch(7))
        #expect(record?.tokens?.accessToken == Secret("at-1"))
        #expect(record?.tokens?.refreshToken == Secret("rt-1"))
        #expect(record?.refreshedAt == Moment.start.wall)
        #expect(record?.claim == nil && record?.failureRecord == nil)
        #expect(outcome.snapshot?.freshness.usableUntil == Moment.start.boot.advanced(by: .seconds(3_600)))
        #expect(outcome.snapshot?.entry == bench.stored)
    }

    @Test func `the claim names its holder and its term and leaves the tokens unchanged`() {
        var bench = FlightBench(.expired(), [.success(.sample())])
        var claimed: AccountRecord?
        bench.interfere = { bench, step, _ in if step == "redeem" { claimed = bench.stored?.record } }

        _ = bench.fly()

        let claim = AccountRecord.Claim(
            incarnation: FlightBench.incarnation,
            id: FlightBench.claim,
            standsFor: .seconds(12)
        )
        #expect(claimed == AccountRecord.expired().with { $0.claim = claim })
    }

    @Test func `the old refresh token, its expiry and the scopes are kept if the provider sends none`() {
        let old = AccountRecord.expired().with {
            $0.tokens?.refreshLifetime = .seconds(10_000)
            $0.tokens?.scopes = ["read"]
        }
        var bench = FlightBench(old, [.success(.sample(rotates: false))])

        _ = bench.fly()

        let tokens = bench.stored?.record.tokens
        #expect(tokens?.refreshToken == Secret("rt-0"))
        // 7,200 s of the 10,000 s have passed.
        #expect(tokens?.refreshLifetime == .seconds(2_800))
        #expect(tokens?.scopes == ["read"])
    }

    @Test func `a valid token in the store is used without a claim`() {
        var bench = FlightBench(.valid())

        let outcome = bench.fly()

        #expect(outcome.result == .settled)
        #expect(bench.steps == ["read"])
    }

    @Test(arguments: [
        (AccountRecord?.none, CredentialError.Code.accountEmpty),
        (AccountRecord.valid().with { $0.tokens = nil }, .accountEmpty),
        (.expired().with { $0.binding.clientID = "other" }, .reauthorizationRequired),
        (.expired().with { $0.failureRecord = .sample(dead: true, reason: "invalid_grant") }, .reauthorizationRequired),
        (.expired().with { $0.failureRecord = .sample(retryIn: .seconds(5)) }, .refreshFailed),
    ])
    func `nothing is claimed or sent if a refresh can't help`(record: AccountRecord?, code: CredentialError.Code) {
        var bench = FlightBench(record)

        let outcome = bench.fly()

        #expect(outcome.result == .failed(.any(code)))
        #expect(bench.steps == ["read"])
    }

    @Test func `a flight that is not admitted claims nothing`() {
        var bench = FlightBench(.expired())
        bench.refusal = .any(.providerConfig)

        let outcome = bench.fly()

        #expect(outcome.result == .failed(.any(.providerConfig)))
        #expect(bench.steps == ["read", "admit"])
        #expect(bench.stored?.version == Version(1))
    }

    @Test func `a refused token is refreshed although it is valid`() {
        var bench = FlightBench(.valid(), [.success(.sample())])
        bench.refresh = RefreshRequest(refused: TokenVersion(grant: GrantID("g"), generation: Generation(1)))

        let outcome = bench.fly()

        #expect(outcome.result == .committed)
    }

    @Test func `a later generation than the refused one is used without a refresh`() {
        var bench = FlightBench(.valid(generation: 2))
        bench.refresh = RefreshRequest(refused: TokenVersion(grant: GrantID("g"), generation: Generation(1)))

        let outcome = bench.fly()

        #expect(outcome.result == .settled)
        #expect(bench.spent.isEmpty)
    }

    @Test func `a forced refresh ignores a backoff`() {
        var bench = FlightBench(
            .valid().with { $0.failureRecord = .sample(retryIn: .seconds(30)) },
            [.success(.sample())]
        )
        bench.refresh = .forced

        let outcome = bench.fly()

        #expect(outcome.result == .committed)
    }

    // MARK: - Responses of the provider

    struct Consequence: CustomTestStringConvertible, Sendable {
        let name: String
        let verdicts: [TokenVerdict]
        let steps: [String]
        let code: CredentialError.Code
        let failureRecord: AccountRecord.FailureRecord
        let lesson: ProviderHold.Lesson

        var testDescription: String { self.name }
    }

    static let consequences = [
        Consequence(
            name: "dead",
            verdicts: [.dead(.code("invalid_grant"))],
            steps: ["read", "admit", "claim", "redeem", "read", "write back"],
            code: .reauthorizationRequired,
            failureRecord: .sample(dead: true, reason: "invalid_grant"),
            lesson: .accepted
        ),
        Consequence(
            name: "config",
            verdicts: [.config(.code("invalid_client"))],
            steps: ["read", "admit", "claim", "redeem", "write back"],
            code: .providerConfig,
            failureRecord: .sample(reason: "config.invalid_client"),
            lesson: .refused
        ),
        Consequence(
            name: "account config",
            verdicts: [.accountConfig(.code("invalid_scope"))],
            steps: ["read", "admit", "claim", "redeem", "write back"],
            code: .providerConfig,
            failureRecord: .sample(retryIn: .seconds(30), reason: "account_config.invalid_scope"),
            lesson: .accepted
        ),
        Consequence(
            name: "throttled",
            verdicts: [.throttled(retryAfter: .seconds(17))],
            steps: ["read", "admit", "claim", "redeem", "write back"],
            code: .refreshFailed,
            failureRecord: .sample(retryIn: .seconds(17), reason: "throttled"),
            lesson: .nothing
        ),
        Consequence(
            name: "not sent",
            verdicts: [.notSent(.connectFailed)],
            steps: ["read", "admit", "claim", "redeem", "write back"],
            code: .refreshFailed,
            failureRecord: .sample(retryIn: .milliseconds(500), reason: "not_sent.connect_failed"),
            lesson: .nothing
        ),
        Consequence(
            name: "refused",
            verdicts: [.refused(.noKnownReason)],
            steps: ["read", "admit", "claim", "redeem", "write back"],
            code: .refreshFailed,
            failureRecord: .sample(retryIn: .seconds(3_600), reason: "refused.no_known_reason"),
            lesson: .nothing
        ),
        Consequence(
            name: "ambiguous twice",
            verdicts: [.ambiguous(.timedOut), .ambiguous(.serverError)],
            steps: ["read", "admit", "claim", "redeem", "claim", "redeem", "write back"],
            code: .refreshFailed,
            failureRecord: .sample(spent: .maybe, retryIn: .milliseconds(500), reason: "ambiguous.server_error"),
            lesson: .nothing
        ),
        Consequence(
            name: "ambiguous, then dead",
            verdicts: [.ambiguous(.timedOut), .dead(.code("invalid_grant"))],
            steps: ["read", "admit", "claim", "redeem", "claim", "redeem", "read", "write back"],
            code: .reauthorizationRequired,
            failureRecord: .sample(spent: .maybe, dead: true, reason: "invalid_grant"),
            lesson: .accepted
        ),
        Consequence(
            name: "ambiguous, then not sent: still maybe spent",
            verdicts: [.ambiguous(.timedOut), .notSent(.connectFailed)],
            steps: ["read", "admit", "claim", "redeem", "claim", "redeem", "write back"],
            code: .refreshFailed,
            failureRecord: .sample(
                tries: 1,
                spent: .maybe,
                retryIn: .milliseconds(500),
                reason: "not_sent.connect_failed"
            ),
            lesson: .nothing
        ),
        Consequence(
            name: "conflict twice",
            verdicts: [.conflict(.code("invalid_request")), .conflict(.code("invalid_request"))],
            steps: ["read", "admit", "claim", "redeem", "read", "claim", "redeem", "write back"],
            code: .refreshFailed,
            failureRecord: .sample(retryIn: .seconds(3_600), reason: "refused.invalid_request"),
            lesson: .accepted
        ),
    ]

    @Test(arguments: consequences)
    func `a response without tokens is recorded as a failure, and the claim is removed`(expected: Consequence) {
        var bench = FlightBench(.expired(), expected.verdicts)

        let outcome = bench.fly()

        #expect(outcome.result == .failed(.any(expected.code)))
        #expect(bench.steps == expected.steps)
        #expect(bench.stored?.record == AccountRecord.expired().with { $0.failureRecord = expected.failureRecord })
        #expect(outcome.snapshot?.entry == bench.stored)
        #expect(outcome.lesson == expected.lesson)
        #expect(outcome.declaredDead == expected.failureRecord.dead)
    }

    @Test(arguments: [
        [TokenVerdict.ambiguous(.timedOut), .success(.sample())],
        [.conflict(.code("invalid_request")), .success(.sample())],
    ])
    func `the one repeated try may bring the tokens`(verdicts: [TokenVerdict]) {
        var bench = FlightBench(.expired(), verdicts)

        let outcome = bench.fly()

        #expect(outcome.result == .committed)
        #expect(bench.spent == ["rt-0", "rt-0"])
        #expect(outcome.uses == 2)
        #expect(bench.stored?.record.failureRecord == nil)
    }

    @Test func `before the second try the record says that the refresh token may be spent`() {
        var bench = FlightBench(.expired(), [.ambiguous(.timedOut), .success(.sample())])
        var spent: [AccountRecord.FailureRecord.Spent?] = []
        bench.interfere = { bench, step, _ in
            if step == "redeem" { spent.append(bench.stored?.record.failureRecord?.spent) }
        }

        _ = bench.fly()

        #expect(spent == [nil, .maybe])
    }

    @Test func `a refresh token that may be spent is used once more in all, then once per backoff`() {
        let record = AccountRecord.expired().with {
            $0.failureRecord = .sample(tries: 3, spent: .maybe, reason: "ambiguous.timed_out")
        }
        var bench = FlightBench(record, [.ambiguous(.timedOut), .success(.sample())])

        let outcome = bench.fly()

        #expect(outcome.result == .failed(.any(.refreshFailed)))
        #expect(bench.spent == ["rt-0"])
        #expect(bench.stored?.record.failureRecord?.tries == 4)
        #expect(bench.stored?.record.failureRecord?.retryIn == .seconds(4))
    }
}
