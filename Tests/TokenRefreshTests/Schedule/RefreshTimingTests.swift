import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// When background refreshes are due. Times are seconds from the start, when the tokens were received.
@Suite struct RefreshTimingTests {
    private let now = Moment.start

    private func due(
        _ record: AccountRecord,
        _ timing: RefreshTiming = RefreshTiming(),
        isUsed: Bool = true,
        mints: Bool = false,
        jitter: Double = 0,
        seenAfter: Duration = .zero,
        at later: Duration = .zero
    ) -> Duration? {
        let seen = self.now.advanced(by: seenAfter)
        let snapshot = RecordSnapshot(AccountVault.Entry(record: record, version: Version(1)), after: nil, now: seen)
        let now = self.now.boot.advanced(by: later)
        return timing.due(snapshot, isUsed: isUsed, mints: mints, jitter: jitter, now: now)
            .map { self.now.boot.duration(to: $0) }
    }

    private func record(
        lifetime: Duration = .seconds(3_600),
        refreshLifetime: Duration? = nil,
        _ change: (inout AccountRecord) -> Void = { _ in }
    ) -> AccountRecord {
        AccountRecord.valid().with { record in
            record.tokens = .sample(lifetime: lifetime)
            record.tokens?.refreshLifetime = refreshLifetime
            change(&record)
        }
    }

    @Test(arguments: [
        (lifetime: 3_600, due: 2_880), (300, 240), (200, 140), (120, 60), (60, 30), (10, 5), (2, 1), (86_400, 69_120),
    ])
    func `a token in use is replaced before its end by the larger of 60 s and a fifth of its lifetime, at most half`(
        lifetime: Int,
        due: Int
    ) {
        #expect(self.due(self.record(lifetime: .seconds(lifetime))) == .seconds(due))
    }

    @Test(
        arguments: [
            // The refresh token's lifetime, how long after the tokens came it is now, and since when it is overdue.
            (nil, 86_400, nil), (nil, 86_401, 86_400), (100_000, 90_000, 86_400), (3_600, 3_600, nil),
            (3_600, 3_601, 3_600),
        ] as [(Int?, Int, Int?)]
    )
    func `a refresh token is overdue when it was unused for longer than it may be, or than it lives`(
        lifetime: Int?,
        age: Int,
        since: Int?
    ) {
        let record = self.record(refreshLifetime: lifetime.map { .seconds($0) })
        let snapshot = RecordSnapshot(
            AccountVault.Entry(record: record, version: Version(1)),
            after: nil,
            now: self.now
        )
        let overdue = RefreshTiming().overdueSince(snapshot, now: self.now.boot.advanced(by: .seconds(age)))
        #expect(overdue == since.map { self.now.boot.advanced(by: .seconds($0)) })
        // A refresh on expiry is not overdue while the access token is valid.
        let late = RefreshTiming(mode: .onExpiry, keepAlive: .seconds(60))
        #expect(late.overdueSince(snapshot, now: self.now.boot.advanced(by: .seconds(3_599))) == nil)
    }

    @Test func `a token that is minted, or has no refresh token, is never overdue`() {
        let record = self.record { $0.tokens?.refreshToken = nil }
        let snapshot = RecordSnapshot(
            AccountVault.Entry(record: record, version: Version(1)),
            after: nil,
            now: self.now
        )
        #expect(RefreshTiming().overdueSince(snapshot, now: .distantFuture) == nil)
    }

    @Test func `jitter takes up to a quarter off the margin`() {
        #expect(self.due(self.record(), jitter: 1) == .seconds(3_060))
        #expect(self.due(self.record(lifetime: .seconds(10)), jitter: 1) == .milliseconds(6_250))
    }

    @Test func `where a refresh invalidates the old token, the refresh waits for that token's end`() {
        #expect(self.due(self.record(), RefreshTiming(mode: .onExpiry), jitter: 1) == .seconds(3_600))
    }

    @Test func `an unused account is only kept alive`() {
        #expect(self.due(self.record(), isUsed: false) == .seconds(86_400))
        #expect(self.due(self.record(), isUsed: false, jitter: 1) == .seconds(77_760))
        #expect(self.due(self.record(), RefreshTiming(keepAlive: .seconds(7_200)), isUsed: false) == .seconds(7_200))
        #expect(
            self.due(self.record(), RefreshTiming(mode: .onExpiry, keepAlive: .seconds(60)), isUsed: false)
                == .seconds(3_600)
        )
    }

    @Test func `keep-alive refreshes that are long overdue are spread over ten minutes`() {
        let week = Duration.seconds(7 * 86_400)
        #expect(self.due(self.record(), isUsed: false, seenAfter: week, at: week) == week)
        #expect(self.due(self.record(), isUsed: false, jitter: 0.5, seenAfter: week, at: week) == week + .seconds(300))
    }

    @Test func `an expired token is refreshed for use during another lifetime, and afterwards only kept alive`() {
        #expect(self.due(self.record(), at: .seconds(7_199)) == .seconds(2_880))
        #expect(self.due(self.record(), at: .seconds(7_200)) == .seconds(86_400))
    }

    @Test func `a token that lives for a minute is refreshed for use during an hour after its end`() {
        let record = self.record(lifetime: .seconds(60))
        #expect(self.due(record, at: .seconds(3_659)) == .seconds(30))
        #expect(self.due(record, at: .seconds(3_660)) == .seconds(86_400))
    }

    @Test(arguments: [
        (refreshLifetime: 1_800, isUsed: true, due: 1_440), (1_800, false, 1_440), (86_400 * 180, false, 86_400),
        (60, false, 30), (40, false, 30), (30, false, 86_400), (30, true, 2_880),
    ])
    func `a refresh comes before the refresh token ends, used or not, but not closer and closer to a fixed end`(
        refreshLifetime: Int,
        isUsed: Bool,
        due: Int
    ) {
        let record = self.record(refreshLifetime: .seconds(refreshLifetime))
        #expect(self.due(record, isUsed: isUsed) == .seconds(due))
    }

    @Test func `a backoff delays a refresh, and a refresh that can't help is never due`() {
        let backingOff = self.record { $0.failureRecord = .sample(retryIn: .seconds(3_000)) }
        #expect(self.due(backingOff) == .seconds(3_000))
        #expect(self.due(self.record { $0.failureRecord = .sample(dead: true, reason: "invalid_grant") }) == nil)
        #expect(self.due(self.record { $0.tokens?.refreshToken = nil }) == nil)
        #expect(self.due(self.record { $0.tokens = nil }) == nil)
    }

    @Test func `minted tokens are replaced while in use and never kept alive`() {
        let minted = self.record { $0.tokens?.refreshToken = nil }
        #expect(self.due(minted, mints: true) == .seconds(2_880))
        #expect(self.due(minted, isUsed: false, mints: true) == nil)
    }
}
