import Testing
import TokenModel
import TokenRefresh
import TokenStorage

@Suite struct AvailabilityTests {
    private let now = Moment.start

    private func standing(_ record: AccountRecord?, for refresh: RefreshRequest = .usable, at later: Duration = .zero)
        -> Availability
    {
        let entry = record.map { AccountVault.Entry(record: $0, version: Version(1)) }
        return RecordSnapshot(entry, after: nil, now: self.now)
            .availability(of: alice, bound: .acme, for: refresh, at: self.now.boot.advanced(by: later))
    }

    @Test func `a valid token is usable until its end`() {
        #expect(self.standing(.valid()) == .usable(.sample()))
        #expect(self.standing(.valid(), at: .seconds(3_600)) == .refreshable)
    }

    @Test func `a refused token is not usable, but others of its grant are`() {
        let first = TokenVersion(grant: GrantID("g"), generation: Generation(1))
        let second = TokenVersion(grant: GrantID("g"), generation: Generation(2))
        #expect(self.standing(.valid(), for: RefreshRequest(refused: first)) == .refreshable)
        #expect(self.standing(.valid(), for: RefreshRequest(refused: second)) == .usable(.sample()))
    }

    @Test func `a valid token is usable although its refresh is in backoff or its grant is dead`() {
        let backingOff = AccountRecord.valid().with { $0.failureRecord = .sample(retryIn: .seconds(30)) }
        let dead = AccountRecord.valid().with { $0.failureRecord = .sample(dead: true, reason: "invalid_grant") }
        #expect(self.standing(backingOff) == .usable(.sample()))
        #expect(self.standing(dead) == .usable(.sample(isGrantRefused: true)))
        #expect(self.standing(dead, at: .seconds(3_600)) == .blocked(CredentialError(.reauthorizationRequired, "")))
    }

    @Test(arguments: [
        (AccountRecord?.none, CredentialError.Code.accountEmpty),
        (AccountRecord.valid().with { $0.tokens = nil }, .accountEmpty),
        (.valid().with { $0.binding.clientID = "other-app" }, .reauthorizationRequired),
        (.valid().with { $0.binding.provider = ProviderID("other") }, .reauthorizationRequired),
        (
            .valid().with { $0.binding.issuer = .tokenEndpoint("https://evil.example:443/token") },
            .reauthorizationRequired
        ),
        (.expired().with { $0.tokens?.refreshToken = nil }, .reauthorizationRequired),
        (.expired().with { $0.failureRecord = .sample(retryIn: .seconds(9)) }, .refreshFailed),
        (
            .expired().with {
                $0.failureRecord = .sample(retryIn: .seconds(9), reason: "account_config.invalid_scope")
            },
            .providerConfig
        ),
        (.expired().with { $0.failureRecord = .sample(dead: true, reason: "invalid_grant") }, .reauthorizationRequired),
    ])
    func `a blocked account reports the reason at once`(record: AccountRecord?, code: CredentialError.Code) {
        #expect(self.standing(record) == .blocked(CredentialError(code, "")))
    }

    @Test func `an account without tokens says whether they were killed`() {
        let swept = AccountRecord.valid().with { record in
            record.rememberKilled()
            record.tokens = nil
        }
        let without = AccountRecord.valid().with { $0.tokens = nil }
        for (record, wasEmptied) in [(swept, true), (without, false)] {
            guard case .blocked(let error) = self.standing(record) else {
                Issue.record("it is not blocked")
                continue
            }
            #expect(error.wasEmptied == wasEmptied)
        }
    }

    @Test func `a backoff counts from its first sight, ends on time and does not block a forced refresh`() {
        let record = AccountRecord.expired().with { $0.failureRecord = .sample(retryIn: .seconds(9)) }
        let first = RecordSnapshot(AccountVault.Entry(record: record, version: Version(1)), after: nil, now: self.now)
        // The same record, sealed again 5 s later.
        let again = RecordSnapshot(
            AccountVault.Entry(record: record, version: Version(2)),
            after: first,
            now: self.now.advanced(by: .seconds(5))
        )
        #expect(again.retryAt == self.now.boot.advanced(by: .seconds(9)))
        #expect(self.standing(record, at: .seconds(9)) == .refreshable)
        #expect(self.standing(record, for: .forced) == .refreshable)
    }

    @Test func `I21_a jump of the wall clock does not move a token's end`() {
        let entry = AccountVault.Entry(record: .valid(), version: Version(1))
        let first = RecordSnapshot(entry, after: nil, now: self.now)
        let jumped = Moment(boot: self.now.boot.advanced(by: .seconds(60)), wall: WallTime(millisecondsSince1970: 0))
        let again = RecordSnapshot(
            AccountVault.Entry(record: entry.record, version: Version(2)),
            after: first,
            now: jumped
        )
        #expect(again.freshness == first.freshness)
    }

    @Test func `a doubtful token is refreshed first and served if a refresh is not possible`() {
        let future = self.now.wall.advanced(by: .seconds(7_200))
        let record = AccountRecord.valid().with { $0.tokens = .sample(receivedAt: future) }
        let backingOff = record.with { $0.failureRecord = .sample(retryIn: .seconds(9)) }
        #expect(self.standing(record) == .refreshable)
        #expect(self.standing(backingOff) == .usable(.sample()))
    }

    @Test func `another replica's claim is not broken while the token is valid and not refused`() {
        let valid = RecordSnapshot(AccountVault.Entry(record: .valid(), version: Version(1)), after: nil, now: self.now)
        let expired = RecordSnapshot(
            AccountVault.Entry(record: .expired(), version: Version(1)),
            after: nil,
            now: self.now
        )
        let tokenVersion = TokenVersion(grant: GrantID("g"), generation: Generation(1))
        #expect(!valid.mayBreakClaim(for: .usable, at: self.now.boot))
        #expect(!valid.mayBreakClaim(for: .forced, at: self.now.boot))
        #expect(valid.mayBreakClaim(for: RefreshRequest(refused: tokenVersion), at: self.now.boot))
        #expect(expired.mayBreakClaim(for: .usable, at: self.now.boot))
    }
}
