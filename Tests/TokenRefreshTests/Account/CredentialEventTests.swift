import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// What the credential caches are told of the records that an account gets.
@Suite struct CredentialEventTests {
    private typealias State = AccountState<String>
    private let now = Moment.start
    private var accountState: State { State(account: alice, binding: .acme) }

    private func entry(_ record: AccountRecord, _ version: UInt64) -> AccountVault.Entry {
        AccountVault.Entry(record: record, version: Version(version))
    }

    @Test func `the credential caches get one event for each new credential and one for its end`() {
        var accountState = self.accountState
        let first = accountState.observe(self.entry(.valid(), 1), now: self.now)
        let claimed = accountState.observe(
            self.entry(.valid().with { $0.claim = FlightBench.others }, 2),
            now: self.now
        )
        let second = accountState.observe(self.entry(.valid(generation: 2), 3), now: self.now)
        let forgotten = accountState.observe(
            self.entry(AccountRecord.valid(grant: GrantID("new")).with { $0.tokens = nil }, 4),
            now: self.now
        )
        #expect(first.event == .installed(.sample()))
        #expect(claimed.event == nil)
        #expect(second.event == .installed(.sample(generation: 2)))
        #expect(forgotten.event == .dropped(alice))
    }

    @Test func `a token that ends lapses while its grant stands, and is dropped with the grant`() {
        var accountState = self.accountState
        let first = accountState.observe(self.entry(.valid(), 1), now: self.now)
        let ended = self.now.advanced(by: .seconds(3_600))
        let lapsed = accountState.apply(KillEpochs(), now: ended.boot)
        let still = accountState.apply(KillEpochs(), now: ended.boot)
        let refused = accountState.observe(
            self.entry(.valid().with { $0.failureRecord = .sample(dead: true, reason: "invalid_grant") }, 2),
            now: ended
        )
        #expect(first.event == .installed(.sample()))
        #expect(lapsed.event == .lapsed(alice))
        #expect(still.event == nil)
        #expect(refused.event == .dropped(alice))
    }

    @Test func `a token that ends with its grant is dropped`() {
        var accountState = self.accountState
        _ = accountState.observe(self.entry(.valid(), 1), now: self.now)
        let taken = accountState.observe(
            self.entry(.valid(grant: GrantID("new")), 2),
            now: self.now.advanced(by: .seconds(7_200))
        )
        #expect(taken.event == .dropped(alice))
    }
}
