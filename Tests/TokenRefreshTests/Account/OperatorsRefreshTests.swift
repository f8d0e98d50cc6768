import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// The result for an operator who asked for a refresh and not for a credential.
@Suite struct OperatorsRefreshTests {
    private typealias State = AccountState<String>
    private let now = Moment.start
    private var deadline: BootInstant { self.now.boot.advanced(by: .seconds(15)) }
    private let entry = AccountVault.Entry(record: .valid(), version: Version(1))

    /// A valid token, with an operator waiting for its refresh.
    private func accountState() -> State {
        var accountState = State(account: alice, binding: .acme)
        _ = accountState.observe(self.entry, now: self.now)
        _ = accountState.ask(
            "operator",
            as: WaiterID(rawValue: 1),
            for: .refresh,
            timeout: .seconds(15),
            now: self.now.boot
        )
        return accountState
    }

    private func error(_ served: State.Served?) -> CredentialError? {
        if case .failure(let error)? = served?.result { error } else { nil }
    }

    @Test func `an operator gets the error of a failed refresh although the token is still valid`() {
        var accountState = self.accountState()
        #expect(accountState.waiterCount == 1)

        let snapshot = RecordSnapshot(self.entry, after: accountState.snapshot, now: self.now)
        let landing = accountState.land(
            FlightOutcome(.failed(.any(.providerConfig)), snapshot: snapshot),
            now: self.now.boot
        )

        #expect(landing.served.count == 1)
        #expect(self.error(landing.served.first)?.code == .providerConfig)
        #expect(self.error(landing.served.first)?.isUnderWay == false)
    }

    @Test func `a wait that times out leaves the refresh in progress`() {
        var accountState = self.accountState()
        let late = accountState.expire(now: self.deadline)
        #expect(self.error(late.first)?.isUnderWay == true)
        #expect(accountState.isFlying)
    }

    @Test func `a refresh that a stop ended is not in progress`() {
        var accountState = self.accountState()
        let stopped = accountState.close()
        #expect(self.error(stopped.first)?.isUnderWay == false)
    }
}
