import OAuth
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

@Suite struct RefreshFailureTests {
    @Test(arguments: [
        (0, Duration.milliseconds(500)), (1, .seconds(1)), (2, .seconds(2)), (5, .seconds(16)), (6, .seconds(30)),
        (60, .seconds(30)), (Int.max, .seconds(30)),
    ])
    func `an outage backs off from 0.5 s to 30 s, with full jitter`(before: Int, longest: Duration) {
        let previous =
            before == 0 ? nil : AccountRecord.FailureRecord.sample(tries: before, reason: "ambiguous.timed_out")
        let failure = RefreshFailure.notSent(.connectFailed)

        let most = failure.failureRecord(after: previous, spent: .no, jitter: 1)
        let half = failure.failureRecord(after: previous, spent: .no, jitter: 0.5)
        let least = failure.failureRecord(after: previous, spent: .no, jitter: 0)

        #expect(most.retryIn == longest)
        #expect(half.retryIn == longest / 2)
        #expect(least.retryIn == .zero)
        #expect(!most.dead)
    }

    @Test func `a refusal without a reason is retried once an hour and never ends the grant`() {
        var failureRecord: AccountRecord.FailureRecord?
        for tries in 1...30 {
            let next = RefreshFailure.refused(.noKnownReason).failureRecord(after: failureRecord, spent: .no, jitter: 1)
            #expect(next == .sample(tries: tries, retryIn: .seconds(3_600), reason: "refused.no_known_reason"))
            failureRecord = next
        }
    }

    @Test func `responses that are not the provider's back off from 1 s to 2 min and never end the grant`() {
        var failureRecord: AccountRecord.FailureRecord?
        var waits: [Duration] = []
        for _ in 0..<9 {
            let next = RefreshFailure.notProvider(.answerHTML).failureRecord(
                after: failureRecord,
                spent: .no,
                jitter: 1
            )
            waits.append(next.retryIn)
            #expect(!next.dead)
            failureRecord = next
        }
        #expect(waits == [1, 2, 4, 8, 16, 32, 64, 120, 120].map { .seconds($0) })
        #expect(failureRecord?.reason == "not_provider.html")
    }

    @Test func `a refusal after an outage counts as the first refusal`() {
        let outage = AccountRecord.FailureRecord.sample(tries: 40, reason: "not_sent.connect_failed")
        let failureRecord = RefreshFailure.refused(.noKnownReason).failureRecord(after: outage, spent: .no, jitter: 1)
        #expect(failureRecord.tries == 1)
        #expect(!failureRecord.dead)
    }

    @Test(arguments: [
        (RefreshFailure.config(.code("invalid_client")), Duration.zero, false, "config.invalid_client"),
        (.accountConfig(.code("invalid_scope")), .seconds(30), false, "account_config.invalid_scope"),
        (.throttled(retryAfter: .seconds(17)), .seconds(17), false, "throttled"),
        (.ambiguous(.timedOut), .milliseconds(500), false, "ambiguous.timed_out"),
        (.claimBroken, .milliseconds(500), false, "ambiguous.claim_broken"),
        (.dead(.code("invalid_grant")), .zero, true, "invalid_grant"),
    ])
    func `each failure records its wait and its reason`(
        failure: RefreshFailure,
        wait: Duration,
        dead: Bool,
        reason: String
    ) {
        let failureRecord = failure.failureRecord(after: nil, spent: .maybe, jitter: 1)
        #expect(failureRecord == .sample(tries: 1, spent: .maybe, retryIn: wait, dead: dead, reason: reason))
    }

    @Test(arguments: [
        ("not_sent.connect_failed", false, CredentialError.Code.refreshFailed),
        ("ambiguous.timed_out", false, .refreshFailed),
        ("throttled", false, .refreshFailed),
        ("refused.no_known_reason", false, .refreshFailed),
        // Written by an earlier version, which declared the grant dead after the third such refusal.
        ("refused.no_known_reason", true, .refreshFailed),
        ("not_provider.html", false, .providerConfig),
        ("invalid_grant", true, .reauthorizationRequired),
        ("config.invalid_client", false, .providerConfig),
        ("account_config.invalid_scope", false, .providerConfig),
        ("something.else", false, .refreshFailed),
        ("", false, .refreshFailed),
    ])
    func `a failure record maps to the error code that callers get`(
        reason: String,
        dead: Bool,
        code: CredentialError.Code
    ) {
        let error = CredentialError(.sample(dead: dead, reason: reason), of: alice, retryAfter: .seconds(3))
        #expect(error.code == code)
        #expect(error.message.contains("alice"))
    }
}
