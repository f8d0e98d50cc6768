import OAuth
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// Minted tokens, which need no refresh token. A mint uses the same claim and commit as a refresh.
@Suite struct FlightMintTests {
    private static let grant = GrantID("first-mint")

    private func bench(_ record: AccountRecord?, _ verdicts: TokenVerdict...) -> FlightBench {
        var bench = FlightBench(record, verdicts)
        bench.mints = Self.grant
        return bench
    }

    private static func minted(_ change: (inout AccountRecord) -> Void = { _ in }) -> AccountRecord {
        AccountRecord.expired().with {
            $0.tokens?.refreshToken = nil
            change(&$0)
        }
    }

    @Test func `the first use mints under a claim and begins a grant`() {
        var bench = self.bench(nil, .success(.sample()))

        let outcome = bench.fly()

        #expect(outcome.result == .committed)
        #expect(bench.steps == ["read", "admit", "claim", "mint", "commit"])
        let record = bench.stored?.record
        #expect(record?.tokenVersion == TokenVersion(grant: Self.grant, generation: Generation(1)))
        #expect(record?.tokens?.accessToken == Secret("at-1"))
        #expect(record?.tokens?.refreshToken == nil)
        #expect(record?.binding == .acme)
        #expect(record?.claim == nil && record?.failureRecord == nil)
    }

    @Test func `a later mint continues the existing grant`() {
        var bench = self.bench(Self.minted(), .success(.sample(2)))
        _ = bench.fly()
        #expect(bench.stored?.record.tokenVersion == TokenVersion(grant: GrantID("g"), generation: Generation(2)))
        #expect(bench.stored?.record.observedEpoch == Epoch(7))
    }

    @Test func `a killed token that is still in the record is remembered as killed when a mint replaces it`() throws {
        let record = Self.minted()
        var bench = self.bench(record, .success(.sample(2)))
        bench.epochs.raise(.account(AccountID("alice")), at: Epoch(9), holds: false)
        #expect(bench.fly().result == .committed)
        let token = try #require(record.tokens?.accessToken)
        #expect(bench.stored?.record.hasKilled(token) == true)
    }

    @Test func `an account whose tokens were removed mints again`() {
        var bench = self.bench(Self.minted { $0.tokens = nil }, .success(.sample()))
        let outcome = bench.fly()
        #expect(outcome.result == .committed)
    }

    @Test(arguments: [
        TokenVerdict.refused(.code("access_denied")), .dead(.code("invalid_grant")),
    ])
    func `no refusal of a mint is final, and its backoff grows to five minutes`(verdict: TokenVerdict) {
        var bench = self.bench(nil)
        var pauses: [Duration] = []
        var snapshot: RecordSnapshot?
        for _ in 1...8 {
            bench.verdicts = [verdict]
            let outcome = bench.fly(after: snapshot)
            snapshot = outcome.snapshot
            #expect(outcome.result == .failed(.any(.refreshFailed)))
            #expect(!outcome.declaredDead)
            let failureRecord = bench.stored?.record.failureRecord
            #expect(failureRecord?.dead == false)
            #expect(failureRecord?.spent == .no)
            pauses.append(failureRecord?.retryIn ?? .zero)
            bench.now = bench.now.advanced(by: .seconds(300))
        }
        #expect(pauses == [5, 10, 20, 40, 80, 160, 300, 300].map { .seconds($0) })
        bench.verdicts = [.success(.sample())]
        #expect(bench.fly(after: snapshot).result == .committed)
    }

    @Test func `a lost response leads to one immediate second request, and nothing is marked as spent`() {
        var bench = self.bench(nil, .ambiguous(.timedOut), .ambiguous(.timedOut))
        let outcome = bench.fly()
        #expect(outcome.result == .failed(.any(.refreshFailed)))
        #expect(bench.spent == ["mint", "mint"])
        #expect(bench.stored?.record.failureRecord?.spent == .no)
        #expect(bench.stored?.record.claim == nil)
    }

    @Test func `a mint that gives up its claim does not declare a dead grant dead again`() {
        let dead = Self.minted { $0.failureRecord = .sample(dead: true, reason: "invalid_grant") }
        var bench = self.bench(dead)
        bench.interfere = { bench, step, _ in if step == "claim" { bench.takes = .milliseconds(3_001) } }

        let outcome = bench.fly()

        #expect(outcome.result == .failed(.any(.storeLost)))
        #expect(bench.stored?.record == dead)
        #expect(!outcome.declaredDead)
    }

    @Test func `a mint waits for another replica's claim and replaces it when it has lapsed`() {
        var bench = self.bench(Self.minted { $0.claim = FlightBench.others }, .success(.sample()))
        let outcome = bench.fly()
        #expect(outcome.result == .committed)
        #expect(Moment.start.boot.duration(to: bench.now.boot) >= .seconds(12))
    }

    @Test func `a mint ignores the access token and the backoff of another client and begins a new grant`() {
        let valid = AccountRecord.valid().with {
            $0.tokens?.refreshToken = nil
            $0.binding.clientID = "other"
            $0.failureRecord = .sample(retryIn: .seconds(60), reason: "refused.no_known_reason")
        }
        var bench = self.bench(valid, .success(.sample()))
        let outcome = bench.fly()
        #expect(outcome.result == .committed)
        #expect(bench.stored?.record.tokenVersion == TokenVersion(grant: Self.grant, generation: Generation(1)))
        #expect(bench.stored?.record.binding == .acme)
    }

    @Test func `a mint keeps an existing refresh token and never replaces one of another client`() {
        var ours = self.bench(.expired(), .success(.sample(1)))
        #expect(ours.fly().result == .committed)
        #expect(ours.stored?.record.tokens?.refreshToken == Secret("rt-0"))

        let others = AccountRecord.expired().with { $0.binding.clientID = "other" }
        var bench = self.bench(others, .success(.sample(1)))
        #expect(bench.fly().result == .failed(.any(.reauthorizationRequired)))
        #expect(bench.stored?.record == others)
    }
}
