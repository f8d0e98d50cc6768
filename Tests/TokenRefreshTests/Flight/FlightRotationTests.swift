import OAuth
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// Responses with a new refresh token but no access token, and background refreshes.
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

    @Test func `a provider that keeps sending such responses is asked with growing pauses`() {
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

    @Test func `an access token that is still valid is kept with its expiry beside the new refresh token`() {
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

    @Test func `a refresh token that came alone is used before it expires even if an access token is kept`() throws {
        // Given a refresh token that came 3,000 s after the kept access token and is valid for 600 s,
        var bench = FlightBench(.valid(), [Self.rotated])
        bench.refresh = RefreshRequest(ripe: Self.first)
        bench.now = bench.now.advanced(by: .seconds(3_000))
        let outcome = bench.fly(after: RecordSnapshot(bench.stored, after: nil, now: Moment.start))
        let snapshot = try #require(outcome.snapshot)

        // when its due time is computed from this process's snapshot and from another replica's,
        let timing = RefreshTiming()
        let due = try #require(timing.due(snapshot, isUsed: false, jitter: 1, now: bench.now.boot))
        let seen = RecordSnapshot(bench.stored, after: nil, now: bench.now)

        // then both count from the same receipt, and the due time is before the refresh token's end.
        #expect(due < bench.now.boot.advanced(by: .seconds(600)))
        #expect(due == timing.due(seen, isUsed: false, jitter: 1, now: bench.now.boot))
        #expect(snapshot.receivedAt == seen.receivedAt)
    }

    @Test func `an access token that was refused is not kept`() {
        var bench = FlightBench(.valid(), [Self.rotated])
        bench.refresh = RefreshRequest(refused: Self.first)
        _ = bench.fly()
        #expect(bench.stored?.record.tokens?.accessToken == nil)
    }

    @Test func `a response with the same refresh token is no rotation and counts as ambiguous`() {
        let same = RotatedToken(refreshToken: Secret("rt-0"))
        var bench = FlightBench(.expired(), [.rotated(same, .tokenTypeUnknown), .success(.sample())])
        #expect(bench.fly().result == .committed)
        #expect(bench.spent == ["rt-0", "rt-0"])
    }

    @Test func `a rotation that comes after an import is dropped and named in the outcome`() {
        var bench = FlightBench(.expired(), [Self.rotated])
        bench.interfere = { bench, step, number in
            if step == "write back", number == 4 { bench.put(.valid(grant: GrantID("new"))) }
        }
        let outcome = bench.fly()
        #expect(outcome.result == .settled)
        #expect(outcome.droppedRefreshToken == Secret("rt-1"))
    }

    @Test(arguments: [
        AccountRecord.valid(generation: 2),
        .valid().with { $0.failureRecord = .sample(retryIn: .seconds(30)) },
        .valid().with { $0.failureRecord = .sample(dead: true, reason: "invalid_grant") },
        .valid().with { $0.claim = FlightBench.others },
    ])
    func `a background flight ends at once if another replica refreshes, a backoff runs or the work is done`(
        record: AccountRecord
    ) {
        var bench = FlightBench(record)
        bench.refresh = RefreshRequest(ripe: Self.first)
        let outcome = bench.fly()
        #expect(outcome.result == .settled)
        #expect(bench.steps == ["read"])
    }

    @Test func `a claim left beside a ripe token is watched and broken as soon as the token has expired`() {
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
