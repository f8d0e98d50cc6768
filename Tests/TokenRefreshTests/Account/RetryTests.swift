import OAuth
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// A provider that refused the client is tried again after a reload that changes the requests to it.
@Suite struct RetryTests {
    private typealias State = AccountState<String>
    private let now = Moment.start
    private let timing = RefreshTiming()

    /// A valid token whose refresh was refused.
    private static let refused = AccountRecord.valid().with {
        $0.failureRecord = RefreshFailure.config(.code("invalid_client")).failureRecord(
            after: nil,
            spent: .no,
            jitter: 0
        )
    }

    private func snapshot(_ record: AccountRecord, _ version: UInt64, after accountState: State) -> RecordSnapshot {
        let entry = AccountVault.Entry(record: record, version: Version(version))
        return RecordSnapshot(entry, after: accountState.snapshot, now: self.now)
    }

    private func accountState(_ record: AccountRecord, asksOtherwise: Bool = true) -> State {
        var accountState = State(account: alice, binding: .acme)
        _ = accountState.observe(AccountVault.Entry(record: record, version: Version(1)), now: self.now)
        _ = accountState.reload(binding: .acme, mints: false, asksOtherwise: asksOtherwise, now: self.now.boot)
        return accountState
    }

    /// Whether a background refresh of the account is due at `later`.
    private func isDue(_ accountState: inout State, _ timing: RefreshTiming? = nil, at later: Duration = .zero) -> Bool
    {
        let now = self.now.boot.advanced(by: later)
        let appointment = accountState.appointment(timing ?? self.timing, now: now) { 0 }
        return appointment.map { $0 <= now } ?? false
    }

    /// Lets the retry's flight end with `result`.
    private func land(
        _ accountState: inout State,
        _ result: FlightOutcome.Result,
        _ record: AccountRecord,
        uses: Int = 0
    ) {
        _ = accountState.keepAppointment()
        var outcome = FlightOutcome(result, snapshot: self.snapshot(record, 2, after: accountState))
        outcome.uses = uses
        _ = accountState.land(outcome, now: self.now.boot)
    }

    @Test func `a refused client is tried at once after such a reload`() {
        var accountState = self.accountState(Self.refused)
        let isDue = self.isDue(&accountState)
        #expect(isDue)
    }

    @Test func `a reload that does not change the requests causes no try`() {
        var accountState = self.accountState(Self.refused, asksOtherwise: false)
        let isDue = self.isDue(&accountState)
        #expect(!isDue)
    }

    @Test func `a client that was not refused is not tried`() {
        var accountState = self.accountState(.valid())
        let isDue = self.isDue(&accountState)
        #expect(!isDue)
    }

    @Test func `a provider whose refresh invalidates the old token is not asked before that token expires`() {
        let timing = RefreshTiming(mode: .onExpiry)
        var accountState = self.accountState(Self.refused)
        let isDueWhileValid = self.isDue(&accountState, timing)
        let isDueAfterwards = self.isDue(&accountState, timing, at: .seconds(3_601))
        #expect(!isDueWhileValid)
        #expect(isDueAfterwards)
    }

    @Test(arguments: [
        (FlightOutcome.Result.failed(.any(.storeLost)), 0, true),
        (.failed(.any(.providerConfig)), 0, true),
        (.failed(.any(.providerConfig)), 1, false),
        (.failed(.any(.refreshFailed)), 1, false),
        (.failed(.any(.reauthorizationRequired)), 0, false),
        // Another process is refreshing, but still with what the provider refuses.
        (.settled, 0, true),
    ])
    func `a try counts only if the provider was asked`(_ result: FlightOutcome.Result, uses: Int, isDueAgain: Bool) {
        var accountState = self.accountState(Self.refused)
        self.land(&accountState, result, Self.refused, uses: uses)
        let isDueAtOnce = self.isDue(&accountState)
        let isDueLater = self.isDue(&accountState, at: .seconds(301))
        #expect(!isDueAtOnce)
        #expect(isDueLater == isDueAgain)
    }

    @Test func `nothing is tried after another process has refreshed the account`() {
        var accountState = self.accountState(Self.refused)
        self.land(&accountState, .settled, .valid())
        let isDue = self.isDue(&accountState, at: .seconds(301))
        #expect(!isDue)
    }

    @Test func `tokens imported in the meantime are not spent by the retry`() {
        var accountState = self.accountState(Self.refused)
        let imported = AccountRecord.valid(grant: GrantID("imported"))
        _ = accountState.replace(
            AccountVault.Entry(record: imported, version: Version(2)),
            receipt: .stored,
            now: self.now
        )
        let isDue = self.isDue(&accountState, at: .seconds(301))
        #expect(!isDue)
    }

    @Test func `a refresh that began before the reload and succeeds leaves nothing to try`() {
        var accountState = State(account: alice, binding: .acme)
        _ = accountState.observe(AccountVault.Entry(record: Self.refused, version: Version(1)), now: self.now)
        _ = accountState.keepAppointment()
        _ = accountState.reload(binding: .acme, mints: false, asksOtherwise: true, now: self.now.boot)

        let committed = self.snapshot(.valid(generation: 2), 2, after: accountState)
        _ = accountState.land(FlightOutcome(.committed, snapshot: committed), now: self.now.boot)

        let isDue = self.isDue(&accountState, at: .seconds(301))
        #expect(!isDue)
    }
}
