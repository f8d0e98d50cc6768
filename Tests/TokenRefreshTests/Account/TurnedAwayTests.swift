import OAuth
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// An account that waits for its turn, since more refreshes were due than the provider's rate lets through.
@Suite struct TurnedAwayTests {
    private typealias State = AccountState<String>
    private let now = Moment.start

    private func entry(_ record: AccountRecord, _ version: UInt64 = 1) -> AccountVault.Entry {
        AccountVault.Entry(record: record, version: Version(version))
    }

    private func at(_ seconds: Int) -> BootInstant { self.now.boot.advanced(by: .seconds(seconds)) }

    /// The error of a flight whose turn comes after `wait`.
    private func crowded(_ wait: Duration) -> CredentialError {
        CredentialError(.refreshFailed, "", retryAfter: wait, restraint: .provider)
    }

    private func ask(
        _ accountState: inout State,
        _ request: CredentialRequest = .credential(refused: nil),
        at seconds: Int
    ) -> String {
        let id = WaiterID(rawValue: UInt64(seconds))
        switch accountState.ask("a", as: id, for: request, timeout: .seconds(8), now: self.at(seconds)) {
        case .now(_, .success(let credential)): return "generation \(credential.generation)"
        case .now(_, .failure(let error)):
            return "\(error.code.rawValue) for \(error.retryAfter.map { "\($0.components.seconds) s" } ?? "ever")"
        case .waits(let start, _): return start == nil ? "waits" : "starts a flight"
        }
    }

    /// Lets a flight of the account end with `error`, or with new tokens.
    private func land(_ accountState: inout State, _ error: CredentialError?, at seconds: Int) {
        let record = error == nil ? AccountRecord.valid(generation: 2) : .expired()
        let snapshot = RecordSnapshot(self.entry(record, 2), after: accountState.snapshot, now: self.now)
        let result = error.map { FlightOutcome.Result.failed($0) } ?? .committed
        _ = accountState.land(FlightOutcome(result, snapshot: snapshot), now: self.at(seconds))
    }

    /// An account that was turned away at the start for 60 s.
    private func turnedAway() -> State {
        var accountState = State(account: alice, binding: .acme)
        _ = accountState.observe(self.entry(.expired()), now: self.now)
        _ = self.ask(&accountState, at: 0)
        self.land(&accountState, self.crowded(.seconds(60)), at: 0)
        return accountState
    }

    private func appointment(_ accountState: inout State, at seconds: Int) -> BootInstant? {
        accountState.appointment(RefreshTiming(), now: self.at(seconds)) { 0 }
    }

    @Test func `until its turn each request is told how long it is still to wait, and starts nothing`() {
        var accountState = self.turnedAway()
        let answers = [5, 30, 59].map { self.ask(&accountState, at: $0) }
        #expect(answers == ["refresh_failed for 55 s", "refresh_failed for 30 s", "refresh_failed for 1 s"])
        #expect(accountState.waiterCount == 0)
    }

    @Test func `its refresh is due since the first request, however often it is turned away`() {
        var accountState = self.turnedAway()
        let first = self.appointment(&accountState, at: 10)
        _ = accountState.keepAppointment()
        let during = self.appointment(&accountState, at: 60)
        self.land(&accountState, self.crowded(.seconds(5)), at: 60)
        let second = self.appointment(&accountState, at: 61)
        let later = self.ask(&accountState, at: 62)

        #expect([first, second] == [self.at(0), self.at(0)])
        #expect(during == nil)
        #expect(later == "refresh_failed for 3 s")
    }

    @Test func `a request during the refresh waits for it`() {
        var accountState = self.turnedAway()
        _ = accountState.keepAppointment()
        #expect(self.ask(&accountState, at: 20) == "waits")
    }

    @Test func `when its turn should have come, a request starts a flight of its own`() {
        var accountState = self.turnedAway()
        #expect(self.ask(&accountState, at: 60) == "starts a flight")
    }

    @Test func `an operator's refresh does not wait for a turn`() {
        var accountState = self.turnedAway()
        #expect(self.ask(&accountState, .refresh, at: 5) == "starts a flight")
    }

    @Test func `new tokens, of this process or of another one, end the wait`() {
        var own = self.turnedAway()
        _ = own.keepAppointment()
        self.land(&own, nil, at: 10)
        var others = self.turnedAway()
        _ = others.observe(self.entry(.valid(generation: 2), 5), now: self.now.advanced(by: .seconds(10)))

        #expect(self.ask(&own, at: 11) == "generation 2")
        #expect(self.ask(&others, at: 11) == "generation 2")
        #expect(own.turnedAway == nil)
        #expect(others.turnedAway == nil)
    }

    @Test func `a flight that shows that the grant is dead ends the wait`() {
        var accountState = self.turnedAway()
        _ = accountState.keepAppointment()
        self.land(&accountState, .any(.reauthorizationRequired), at: 10)
        #expect(accountState.turnedAway == nil)
        #expect(self.ask(&accountState, at: 11) == "starts a flight")
    }

    @Test(arguments: [CredentialError.any(.refreshFailed), .any(.providerConfig), .any(.storeLost)])
    func `a turn is not lost while nobody may ask the provider, or the store is away`(error: CredentialError) {
        var accountState = self.turnedAway()
        let since = accountState.turnedAway?.since
        _ = accountState.keepAppointment()
        self.land(&accountState, error, at: 10)
        #expect(accountState.turnedAway?.since == since)
        #expect(self.appointment(&accountState, at: 11) == since)
    }

    @Test func `a kill counts at once`() {
        var accountState = self.turnedAway()
        var epochs = KillEpochs()
        epochs.raise(.account(alice), at: Epoch(8), holds: true)
        _ = accountState.apply(epochs, now: self.at(5))
        // The flight finds the kill.
        #expect(self.ask(&accountState, at: 6) == "starts a flight")
    }
}
