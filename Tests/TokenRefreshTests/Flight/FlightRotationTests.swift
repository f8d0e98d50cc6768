import OAuth
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// Answers with a new refresh token and no access token, and refreshes that nobody waits for.
@Suite struct FlightRotationTests {
    private static let rotated = TokenVerdict.rotated(
        RotatedToken(refreshToken: Secret("rt-1"), refreshLifetime: .seconds(600)),
        .accessTokenUnusable
    )
    private static let first = TokenVersion(grant: GrantID("g"), generation: Generation(1))

    @Test func `a new refresh token without an access token is committed, and the next try uses it`() {
        var bench = FlightBench(.expired(), [Self.rotated])

        let outcome = bench.fly()

        #expect(outcome.result == .failed(.any(.refreshFailed)))
        let record = bench.stored?.record
        #expect(record?.generation == Generation(2))
        #expect(record?.tokens?.refreshToken == Secret("rt-1"))
        #expect(record?.tokens?.accessToken == nil)
        #expect(record?.tokens?.refreshLifetime == .seconds(600))
        #expect(record?.claim == nil)
        #expect(record?.failureRecord?.spent == .no && record?.failureRecord?.dead == false)
        #expect(record?.failureRecord?.reason == "ambiguous.access_token_unusable")

        bench.now = bench.now.advanced(by: .seconds(1))
        bench.verdicts = [.success(.sample(2))]
        #expect(bench.fly(after: outcome.snapshot).result == .committed)
        #expect(bench.spent == ["rt-0", "rt-1"])
    }

    @Test func `a provider that goes on like that is asked less and less often`() {
        var bench = FlightBench(.expired())
        var pauses: [Duration] = []
        var snapshot: RecordSnapshot?
        for number in 1...4 {
            let token = RotatedToken(refreshToken: Secret("rt-\(number)"))
            bench.verdicts = [.rotated(token, .accessTokenUnusable)]
            snapshot = bench.fly(after: snapshot).snapshot
            pauses.append(bench.stored?.record.failureRecord?.retryIn ?? .zero)
            bench.now = bench.now.advanced(by: .seconds(30))
        }
        #expect(pauses == [500, 1_000, 2_000, 4_000].map { .milliseconds($0) })
    }

    @Test func `an access token that is still good stays beside the new refresh token, with its end`() {
        var bench = FlightBench(.valid(), [Self.rotated])
        bench.refresh = RefreshRequest(ripe: Self.first)
        bench.now = bench.now.advanced(by: .seconds(3_000))
        let before = RecordSnapshot(bench.stored, after: nil, now: Moment.start)

        let outcome = bench.fly(after: before)

        #expect(outcome.result == .failed(.any(.refreshFailed)))
        #expect(outcome.snapshot?.freshness == before.freshness)
        let tokens = bench.stored?.record.tokens
        #expect(tokens?.accessToken == Secret("at-0"))
        #expect(tokens?.refreshToken == Secret("rt-1"))
        #expect(tokens?.receivedAt == Moment.start.wall)
        #expect(tokens?.refreshLifetime == .seconds(3_600))
    }

    @Test func `a refresh token that came alone is used before it ends, also where the old access token stays`() throws
    {
        // Given a refresh token that came 3,000 s after the access token that it stays beside, and is good for 600 s,
        var bench = FlightBench(.valid(), [Self.rotated])
        bench.refresh = RefreshRequest(ripe: Self.first)
        bench.now = bench.now.advanced(by: .seconds(3_000))
        let outcome = bench.fly(after: RecordSnapshot(bench.stored, after: nil, now: Moment.start))
        let snapshot = try #require(outcome.snapshot)

        // when that is due is asked of this process's own sight, and of a replica's,
        let timing = RefreshTiming()
        let due = try #require(timing.due(snapshot, isUsed: false, jitter: 1, now: bench.now.boot))
        let seen = RecordSnapshot(bench.stored, after: nil, now: bench.now)

        // then both count from the same receipt, and it is before the end.
        #expect(due < bench.now.boot.advanced(by: .seconds(600)))
        #expect(due == timing.due(seen, isUsed: false, jitter: 1, now: bench.now.boot))
        #expect(snapshot.receivedAt == seen.receivedAt)
    }

    @Test func `an access token that was refused does not stay`() {
        var bench = FlightBench(.valid(), [Self.rotated])
        bench.refresh = RefreshRequest(refused: Self.first)
        _ = bench.fly()
        #expect(bench.stored?.record.tokens?.accessToken == nil)
    }

    @Test func `the same refresh token again is no rotation: the answer is ambiguous`() {
        let same = RotatedToken(refreshToken: Secret("rt-0"))
        var bench = FlightBench(.expired(), [.rotated(same, .tokenTypeUnknown), .success(.sample())])
        #expect(bench.fly().result == .committed)
        #expect(bench.spent == ["rt-0", "rt-0"])
    }

    @Test func `a rotation that comes after an import is dropped, by name`() {
        var bench = FlightBench(.expired(), [Self.rotated])
        bench.interfere = { bench, step, number in
            if step == "write back", number == 4 { bench.put(.valid(grant: GrantID("new"))) }
        }
        let outcome = bench.fly()
        #expect(outcome.result == .settled)
        #expect(outcome.droppedRefreshToken == Secret("rt-1"))
    }

    @Test func `a ripe token is refreshed although it is good`() {
        var bench = FlightBench(.valid(), [.success(.sample())])
        bench.refresh = RefreshRequest(ripe: Self.first)
        #expect(bench.fly().result == .committed)
    }

    @Test(arguments: [
        AccountRecord.valid(generation: 2),
        .valid().with { $0.failureRecord = .sample(retryIn: .seconds(30)) },
        .valid().with { $0.failureRecord = .sample(dead: true, reason: "invalid_grant") },
        .valid().with { $0.claim = FlightBench.others },
    ])
    func `nothing is sent and nobody waits where another refreshes, a backoff runs, or it was done`(
        record: AccountRecord
    ) {
        var bench = FlightBench(record)
        bench.refresh = RefreshRequest(ripe: Self.first)
        let outcome = bench.fly()
        #expect(outcome.result == .settled)
        #expect(bench.steps == ["read"])
    }

    @Test func `a claim that was left beside a ripe token is watched, and broken as soon as the token has ended`() {
        var bench = FlightBench(.valid().with { $0.claim = FlightBench.others }, [.success(.sample())])
        bench.refresh = RefreshRequest(ripe: Self.first)
        bench.now = bench.now.advanced(by: .seconds(3_580))
        var snapshot: RecordSnapshot?
        for _ in 0..<20 {
            let outcome = bench.fly(after: snapshot)
            #expect(outcome.result == .settled)
            snapshot = outcome.snapshot
            bench.watch = outcome.watch
            bench.now = bench.now.advanced(by: .seconds(1))
        }
        let before = bench.now
        #expect(bench.fly(after: snapshot).result == .committed)
        #expect(bench.now == before)
        #expect(bench.spent == ["rt-0"])
    }
}
