import OAuth
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// A received success. No change of the record in the meantime loses it without a reason.
@Suite struct FlightCommitTests {
    private static let claim = AccountRecord.Claim(
        incarnation: FlightBench.incarnation,
        id: FlightBench.claim,
        standsFor: .seconds(12)
    )

    struct Interference: CustomTestStringConvertible, Sendable {
        let name: String
        let record: AccountRecord?
        let isCommittedOver: Bool

        var testDescription: String { self.name }
    }

    static let interferences = [
        Interference(
            name: "claimed by another",
            record: .expired().with { $0.claim = FlightBench.others },
            isCommittedOver: true
        ),
        Interference(
            name: "sealed anew",
            record: .expired().with { $0.claim = Self.claim },
            isCommittedOver: true
        ),
        Interference(
            name: "declared dead",
            record: .expired().with { $0.failureRecord = .sample(dead: true, reason: "invalid_grant") },
            isCommittedOver: true
        ),
        Interference(
            name: "an earlier generation, by a failover",
            record: .expired(generation: 0),
            isCommittedOver: true
        ),
        Interference(name: "lost by the store", record: nil, isCommittedOver: true),
        Interference(name: "a later generation", record: .valid(generation: 2), isCommittedOver: false),
        Interference(
            name: "another grant",
            record: .valid(grant: GrantID("new"), generation: 1),
            isCommittedOver: false
        ),
        Interference(
            name: "forgotten",
            record: .valid(grant: GrantID("new"), generation: 0).with { $0.tokens = nil },
            isCommittedOver: false
        ),
    ]

    @Test(arguments: interferences)
    func `I2_a success is committed over any record except another grant or a later generation`(of what: Interference) {
        var bench = FlightBench(.expired(), [.success(.sample())])
        bench.interfere = { bench, step, number in if step == "commit", number == 4 { bench.put(what.record) } }

        let outcome = bench.fly()

        if what.isCommittedOver {
            #expect(outcome.result == .committed)
            #expect(outcome.dropped == nil)
            #expect(bench.stored?.record.generation == Generation(2))
            #expect(bench.stored?.record.tokens?.refreshToken == Secret("rt-1"))
            #expect(bench.stored?.record.claim == nil && bench.stored?.record.failureRecord == nil)
        } else {
            #expect(outcome.result == .settled)
            #expect(outcome.dropped == .sample())
            #expect(bench.stored?.record == what.record)
        }
    }

    @Test func `I2_a success waits for an unreachable store and is stored within 500 ms of its return`() {
        var bench = FlightBench(.expired(), [.success(.sample())])
        let back = Moment.start.boot.advanced(by: .seconds(60))
        bench.interfere = { bench, step, number in
            let isAway = number >= 4 && bench.now.boot < back && step != "pause"
            if isAway { bench.failure = number.isMultiple(of: 4) ? .away : .full }
        }

        let outcome = bench.fly()

        #expect(outcome.result == .committed)
        #expect(bench.stored?.record.generation == Generation(2))
        #expect(back.duration(to: bench.now.boot) <= .milliseconds(500))
        #expect(bench.spent == ["rt-0"])
    }

    @Test func `a commit whose acknowledgment was lost is found and not repeated`() {
        var bench = FlightBench(.expired(), [.success(.sample())])
        bench.interfere = { bench, step, _ in if step == "commit" { bench.losesAnswer = true } }

        let outcome = bench.fly()

        #expect(outcome.result == .committed)
        #expect(outcome.dropped == nil)
        #expect(bench.stored?.record.generation == Generation(2))
        #expect(bench.steps == ["read", "admit", "claim", "redeem", "commit", "journal", "pass", "pause", "read"])
    }

    @Test func `an unreadable record is not overwritten, and the success waits`() {
        var bench = FlightBench(.expired(), [.success(.sample())])
        bench.interfere = { bench, step, number in
            if step == "commit", number == 4 { bench.change { $0.claim = FlightBench.others } }
            if step == "read", number > 4, number < 20 { bench.failure = .spoiled }
        }

        let outcome = bench.fly()

        #expect(outcome.result == .committed)
    }

    @Test func `tokens that no store can hold are not used, and the refresh token counts as possibly spent`() {
        var bench = FlightBench(.expired(), [.success(.sample())])
        bench.interfere = { bench, step, _ in
            if step == "commit" { bench.failure = StoreError(.invalid, "over 64 KiB") }
        }

        let outcome = bench.fly()

        #expect(outcome.result == .failed(.any(.refreshFailed)))
        #expect(bench.stored?.record.generation == Generation(1))
        #expect(bench.stored?.record.claim == nil)
        #expect(bench.stored?.record.failureRecord?.spent == .maybe)
    }

    @Test func `a stop that can't wait drops the tokens and reports that`() {
        var bench = FlightBench(.expired(), [.success(.sample())])
        bench.hasJournal = false
        bench.interfere = { bench, _, number in
            if number >= 4 { bench.failure = .away }
            if number >= 30 { bench.stopping = .now }
        }

        let outcome = bench.fly()

        #expect(outcome.result == .failed(.any(.refreshFailed)))
        #expect(outcome.dropped == .sample())
    }

    @Test func `a graceful stop ends a wait for another replica's claim, but not the commit of a success`() {
        var waiting = FlightBench(.expired().with { $0.claim = FlightBench.others })
        waiting.stopping = .graceful
        var committing = FlightBench(.expired(), [.success(.sample())])
        committing.stopping = .graceful
        committing.hasJournal = false
        committing.interfere = { bench, _, number in if (4..<10).contains(number) { bench.failure = .away } }

        let waited = waiting.fly()
        let committed = committing.fly()

        #expect(waited.result == .failed(.any(.refreshFailed)))
        #expect(waiting.steps == ["read", "pause"])
        #expect(committed.result == .committed)
    }

    @Test func `tokens that came under the old binding keep it even if the record was adopted meanwhile`() {
        var elsewhere = Self.adopted
        elsewhere.provider = ProviderID("new")
        var bench = FlightBench(.expired(), [.success(.sample())])
        bench.interfere = { [elsewhere] bench, step, number in
            if step == "commit", number == 4 { bench.change { $0.adopt(elsewhere) } }
        }

        let outcome = bench.fly()

        #expect(outcome.result == .committed)
        #expect(bench.stored?.record.tokens?.refreshToken == Secret("rt-1"))
        #expect(bench.stored?.record.binding == .acme)
        // A kill of either provider affects these tokens.
        #expect(bench.stored?.record.formerProviders == [elsewhere.provider])
    }

    // MARK: - During a kill

    /// Removes the tokens like a kill's sweep.
    private static func sweep(_ record: inout AccountRecord) {
        record.rememberKilled()
        record.tokens = nil
        record.failureRecord = nil
    }

    @Test func `a success that replaces a record emptied by a kill keeps the list of killed tokens`() {
        let earlier = TokenDigest(of: Secret("rt-earlier"))
        var bench = FlightBench(.expired().with { $0.killed = [earlier] }, [.success(.sample())])
        bench.interfere = { bench, step, number in if step == "commit", number == 4 { bench.change(Self.sweep) } }

        let outcome = bench.fly()

        #expect(outcome.result == .committed)
        #expect(bench.stored?.record.tokens?.refreshToken == Secret("rt-1"))
        #expect(bench.stored?.record.killed == [earlier] + ["rt-0", "at-0"].map { TokenDigest(of: Secret($0)) })
    }

    @Test func `a write-back does not restore tokens that a kill has removed`() {
        var bench = FlightBench(.expired(), [.refused(.noKnownReason)])
        bench.interfere = { bench, step, _ in if step == "write back" { bench.change(Self.sweep) } }

        let outcome = bench.fly()

        #expect(outcome.result == .failed(.any(.refreshFailed)))
        #expect(bench.stored?.record == AccountRecord.expired().with(Self.sweep))
    }

    @Test func `a grant whose tokens a kill removed meanwhile is not declared dead`() {
        var bench = FlightBench(.expired(), [.dead(.code("invalid_grant"))])
        bench.interfere = { bench, step, number in if step == "read", number == 4 { bench.change(Self.sweep) } }

        let outcome = bench.fly()

        #expect(outcome.result == .failed(.any(.accountEmpty)))
        #expect(!outcome.declaredDead)
        #expect(bench.stored?.record.tokens == nil)
        #expect(bench.stored?.record.hasKilled(Secret("rt-0")) == true)
    }

    // MARK: - Dead grants and write-backs

    private static let adopted = AccountRecord.Binding(
        provider: acme,
        issuer: .tokenEndpoint("\(origin)/token"),
        clientID: "new-app"
    )

    @Test(
        arguments: [
            ([.notSent(.connectFailed)], nil),
            ([.refused(.noKnownReason)], nil),
            (
                [.ambiguous(.timedOut), .ambiguous(.serverError)],
                .sample(spent: .maybe, reason: "ambiguous.server_error")
            ),
        ] as [([TokenVerdict], AccountRecord.FailureRecord?)]
    )
    func `the write-back of a failure does not undo an adoption that came before it`(
        verdicts: [TokenVerdict],
        failureRecord: AccountRecord.FailureRecord?
    ) {
        var bench = FlightBench(.expired(), verdicts)
        bench.interfere = { bench, step, _ in
            guard step == "write back", bench.stored?.record.binding == .acme else { return }
            bench.change { $0.adopt(Self.adopted) }
        }

        let outcome = bench.fly()

        #expect(outcome.result == .failed(.any(.refreshFailed)))
        #expect(
            bench.stored?.record
                == AccountRecord.expired().with {
                    $0.binding = Self.adopted
                    $0.failureRecord = failureRecord
                }
        )
    }

    @Test(arguments: [
        [TokenVerdict.dead(.code("invalid_grant"))], [.conflict(.code("invalid_request"))], [.ambiguous(.timedOut)],
    ])
    func `an adoption during a token request stays in effect, and nothing more is sent`(verdicts: [TokenVerdict]) {
        var bench = FlightBench(.expired(), verdicts)
        bench.interfere = { bench, step, _ in if step == "redeem" { bench.change { $0.adopt(Self.adopted) } } }

        let outcome = bench.fly()

        #expect(outcome.result == .failed(.any(.reauthorizationRequired)))
        #expect(!outcome.declaredDead)
        #expect(bench.spent == ["rt-0"])
        #expect(bench.stored?.record.binding == Self.adopted)
        #expect(bench.stored?.record.failureRecord == nil)
        // The claim lapses. The process that breaks it treats the refresh token as possibly spent.
        #expect(bench.stored?.record.claim?.id == FlightBench.claim)
    }

    @Test func `I12_if the provider calls a grant dead, a later generation in the store is used instead`() {
        var bench = FlightBench(.expired(), [.dead(.code("invalid_grant"))])
        bench.interfere = { bench, step, number in if step == "read", number == 4 { bench.put(.valid(generation: 2)) } }

        let outcome = bench.fly()

        #expect(outcome.result == .settled)
        #expect(!outcome.declaredDead)
        #expect(bench.stored?.record == .valid(generation: 2))
    }

    @Test func `I12_a later generation that has expired too is refreshed in turn`() {
        var bench = FlightBench(.expired(), [.dead(.code("invalid_grant")), .success(.sample(2))])
        bench.interfere = { bench, step, number in
            guard step == "read", number == 4 else { return }
            bench.put(.expired(generation: 2).with { $0.tokens?.refreshToken = Secret("rt-1") })
        }

        let outcome = bench.fly()

        #expect(outcome.result == .committed)
        #expect(bench.spent == ["rt-0", "rt-1"])
        #expect(bench.stored?.record.generation == Generation(3))
    }

    @Test func `I12_no grant is declared dead while the record can't be read again`() {
        var bench = FlightBench(.expired(), [.dead(.code("invalid_grant"))])
        bench.interfere = { bench, _, number in if number >= 4 { bench.failure = .away } }

        let outcome = bench.fly()

        #expect(outcome.result == .failed(.any(.storeLost)))
        #expect(!outcome.declaredDead)
        #expect(bench.stored?.record.failureRecord == nil)
    }

    @Test func `I12_a flight whose claim was broken leaves the verdict on the grant to the replica that broke it`() {
        var bench = FlightBench(.expired(), [.dead(.code("invalid_grant"))])
        bench.interfere = { bench, step, number in
            if step == "read", number == 4 { bench.change { $0.claim = FlightBench.others } }
            if step == "pause" { bench.put(.valid(generation: 2)) }
        }

        let outcome = bench.fly()

        #expect(outcome.result == .settled)
        #expect(!outcome.declaredDead)
    }

    @Test func `a dead grant is declared dead only once`() {
        var bench = FlightBench(.expired(), [.dead(.code("invalid_grant"))])
        bench.interfere = { bench, step, number in
            guard step == "read", number == 4 else { return }
            bench.put(.expired().with { $0.failureRecord = .sample(dead: true, reason: "invalid_grant") })
        }

        let outcome = bench.fly()

        #expect(outcome.result == .failed(.any(.reauthorizationRequired)))
        #expect(!outcome.declaredDead)
    }

    @Test func `a write-back whose acknowledgment was lost is found`() {
        var bench = FlightBench(.expired(), [.notSent(.connectFailed)])
        bench.interfere = { bench, step, _ in if step == "write back" { bench.losesAnswer = true } }

        let outcome = bench.fly()

        #expect(outcome.result == .failed(.any(.refreshFailed)))
        #expect(bench.stored?.record.failureRecord?.tries == 1)
        #expect(bench.steps.filter { $0 == "write back" }.count == 1)
    }

    @Test(arguments: [StoreError.away, .full])
    func `a write-back that fails is passed on in the outcome`(failure: StoreError) {
        var bench = FlightBench(.expired(), [.throttled(retryAfter: .seconds(300))])
        bench.interfere = { bench, _, number in if number >= 4 { bench.failure = failure } }

        let outcome = bench.fly()

        #expect(outcome.result == .failed(.any(.refreshFailed)))
        #expect(outcome.unwritten?.retryAfter == .seconds(300))
        #expect(outcome.snapshot?.entry == bench.stored)
        #expect(bench.stored?.record.claim?.id == FlightBench.claim)
    }

    @Test func `a write-back does not undo an import`() {
        let imported = AccountRecord.valid(grant: GrantID("new"))
        var bench = FlightBench(.expired(), [.refused(.noKnownReason)])
        bench.interfere = { bench, step, _ in if step == "write back" { bench.put(imported) } }

        let outcome = bench.fly()

        #expect(outcome.result == .settled)
        #expect(bench.stored?.record == imported)
    }

    @Test func `a write-back does not change the claim of a replica that broke ours`() {
        var bench = FlightBench(.expired(), [.notSent(.connectFailed)])
        bench.interfere = { bench, step, _ in
            if step == "write back" { bench.change { $0.claim = FlightBench.others } }
        }

        let outcome = bench.fly()

        #expect(outcome.result == .failed(.any(.refreshFailed)))
        #expect(bench.stored?.record.claim == FlightBench.others)
        #expect(bench.stored?.record.failureRecord == nil)
    }
}
