import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// The waiters of an account and what they get. A waiter is a name here.
@Suite struct AccountStateTests {
    private typealias State = AccountState<String>
    private let now = Moment.start

    private func entry(_ record: AccountRecord, _ version: UInt64 = 1) -> AccountVault.Entry {
        AccountVault.Entry(record: record, version: Version(version))
    }

    private func accountState(_ record: AccountRecord?) -> State {
        var accountState = State(account: alice, binding: .acme)
        if let record { _ = accountState.observe(self.entry(record), now: self.now) }
        return accountState
    }

    private func outcome(
        _ result: FlightOutcome.Result,
        _ record: AccountRecord?,
        _ version: UInt64 = 2,
        after accountState: State
    ) -> FlightOutcome {
        FlightOutcome(
            result,
            snapshot: RecordSnapshot(
                record.map { self.entry($0, version) },
                after: accountState.snapshot,
                now: self.now
            )
        )
    }

    /// Asks for `request` and returns the result in words.
    private func ask(
        _ accountState: inout State,
        _ name: String,
        _ request: CredentialRequest = .credential(refused: nil),
        at later: Duration = .zero,
        unless obstacle: CredentialError? = nil
    ) -> String {
        let id = WaiterID(rawValue: UInt64(accountState.waiterCount) + 1)
        let now = self.now.boot.advanced(by: later)
        let answer = accountState.ask(name, as: id, for: request, timeout: .seconds(15), unless: obstacle, now: now)
        switch answer {
        case .now(let waiter, .success(let credential)): return "\(waiter): generation \(credential.generation)"
        case .now(let waiter, .failure(let error)): return "\(waiter): \(error.code.rawValue)"
        case .waits(nil, _): return "waits"
        case .waits(let refresh?, _):
            return refresh.isForced
                ? "forces a flight" : refresh.refused == nil ? "starts a flight" : "starts for a 401"
        }
    }

    private func told(_ served: [State.Served]) -> [String] {
        served.map { served in
            switch served.result {
            case .success(let credential): "\(served.waiter): generation \(credential.generation)"
            case .failure(let error): "\(served.waiter): \(error.code.rawValue)"
            }
        }
    }

    @Test func `the first waiter starts a flight and the others share it`() {
        var accountState = self.accountState(.expired())
        let first = self.ask(&accountState, "a")
        let second = self.ask(&accountState, "b")
        #expect(first == "starts a flight")
        #expect(second == "waits")

        let landing = accountState.land(
            self.outcome(.committed, .valid(generation: 2), after: accountState),
            now: self.now.boot
        )

        #expect(self.told(landing.served) == ["a: generation 2", "b: generation 2"])
        #expect(landing.start == nil)
        #expect(accountState.waiterCount == 0)
        #expect(!accountState.isFlying)
    }

    @Test func `no waiter gets an expired token even if the flight reports success`() {
        var accountState = self.accountState(.expired())
        _ = self.ask(&accountState, "a")
        let landing = accountState.land(
            self.outcome(.committed, .expired(generation: 2), after: accountState),
            now: self.now.boot
        )
        #expect(self.told(landing.served) == ["a: refresh_failed"])
        #expect(landing.event == nil)
    }

    @Test func `a caller with a 401 waits for a new generation while others use the old one`() {
        var accountState = self.accountState(.valid())
        let refused = self.ask(&accountState, "a", .credential(refused: Generation(1)))
        let other = self.ask(&accountState, "b")
        #expect(refused == "starts for a 401")
        #expect(other == "b: generation 1")

        let landing = accountState.land(
            self.outcome(.failed(.any(.refreshFailed)), .valid(), after: accountState),
            now: self.now.boot
        )

        #expect(self.told(landing.served) == ["a: refresh_failed"])
        let later = self.ask(&accountState, "c")
        #expect(later == "c: generation 1")
    }

    @Test func `a 401 for another generation than the current one returns the current one`() {
        var accountState = self.accountState(.valid(generation: 5))
        let older = self.ask(&accountState, "a", .credential(refused: Generation(4)))
        let unknown = self.ask(&accountState, "b", .credential(refused: Generation(9)))
        #expect(older == "a: generation 5")
        #expect(unknown == "b: generation 5")
    }

    @Test func `I11_a token set that a 401 brought is not refreshed for 60 s after it is refused too`() {
        var accountState = self.accountState(.valid())
        _ = self.ask(&accountState, "a", .credential(refused: Generation(1)))
        _ = accountState.land(
            self.outcome(.committed, .valid(generation: 2), after: accountState),
            now: self.now.boot
        )

        let atOnce = self.ask(&accountState, "b", .credential(refused: Generation(2)), at: .seconds(1))
        let within = self.ask(&accountState, "c", .credential(refused: Generation(2)), at: .seconds(60))
        let after = self.ask(&accountState, "d", .credential(refused: Generation(2)), at: .seconds(61))

        #expect(atOnce == "b: generation 2")
        #expect(within == "c: generation 2")
        #expect(after == "starts for a 401")
    }

    @Test func `I11_a token set that an upstream accepted is refreshed at once by a later 401`() {
        var accountState = self.accountState(.valid())
        _ = self.ask(&accountState, "a", .credential(refused: Generation(1)))
        _ = accountState.land(
            self.outcome(.committed, .valid(generation: 2), after: accountState),
            now: self.now.boot
        )
        accountState.accepted(Generation(2))

        let answer = self.ask(&accountState, "b", .credential(refused: Generation(2)), at: .seconds(1))

        #expect(answer == "starts for a 401")
    }

    @Test func `a 401 in a process that knows nothing of the account is judged by the stored record`() {
        var accountState = State(account: alice, binding: .acme)
        let first = self.ask(&accountState, "a", .credential(refused: Generation(1)))
        #expect(first == "starts a flight")

        // The store has exactly the refused generation, so another flight starts to replace it.
        let landing = accountState.land(
            self.outcome(.settled, .valid(), 1, after: accountState),
            now: self.now.boot
        )

        #expect(landing.served.isEmpty)
        #expect(landing.start?.refused == TokenVersion(grant: GrantID("g"), generation: Generation(1)))
        #expect(accountState.isFlying)
    }

    @Test func `a record that changed during the flight starts another flight for waiters that it does not serve`() {
        var accountState = self.accountState(.expired())
        _ = self.ask(&accountState, "a")
        let imported = AccountRecord.expired(grant: GrantID("new"))
        let landing = accountState.land(
            self.outcome(.settled, imported, after: accountState),
            now: self.now.boot
        )
        #expect(landing.start == .usable)
        #expect(accountState.waiterCount == 1)

        let stopped = accountState.land(
            self.outcome(.settled, imported, after: accountState),
            unless: .any(.refreshFailed),
            now: self.now.boot
        )
        #expect(self.told(stopped.served) == ["a: refresh_failed"])
        #expect(stopped.start == nil)
    }

    @Test func `a backoff that a reload ended stays ended when an earlier flight lands`() {
        let failureRecord = AccountRecord.FailureRecord.sample(
            retryIn: .seconds(60),
            reason: "account_config.invalid_scope"
        )
        let record = AccountRecord.expired().with { $0.failureRecord = failureRecord }
        var accountState = self.accountState(record)
        _ = self.ask(&accountState, "operator", .refresh)
        let blocked = self.outcome(.failed(.any(.providerConfig)), record, 1, after: accountState)
        let renewed = self.outcome(.failed(.any(.providerConfig)), record, 2, after: self.accountState(nil))

        _ = accountState.reload(binding: .acme, mints: false, now: self.now.boot)
        _ = accountState.land(blocked, now: self.now.boot)
        #expect(accountState.snapshot?.retryAt == self.now.boot)

        // A backoff that was written after the reload counts.
        _ = accountState.land(renewed, now: self.now.boot)
        #expect(accountState.snapshot?.retryAt == self.now.boot.advanced(by: .seconds(60)))
    }

    @Test func `a normal flight does not serve an operator's refresh, which gets a forced flight`() {
        var accountState = State(account: alice, binding: .acme)
        _ = self.ask(&accountState, "a")
        let operators = self.ask(&accountState, "operator", .refresh)
        #expect(operators == "waits")

        let landing = accountState.land(
            self.outcome(.settled, .valid(), 1, after: accountState),
            now: self.now.boot
        )

        #expect(self.told(landing.served) == ["a: generation 1"])
        #expect(landing.start == .forced)
    }

    @Test func `a record without a usable credential is not read again for one second`() {
        var accountState = self.accountState(
            .expired().with { $0.failureRecord = .sample(dead: true, reason: "invalid_grant") }
        )
        let atOnce = self.ask(&accountState, "a", at: .milliseconds(999))
        let later = self.ask(&accountState, "b", at: .seconds(1))
        #expect(atOnce == "a: reauthorization_required")
        #expect(later == "starts a flight")
    }

    @Test func `no flight starts for 250 ms after a failed one`() {
        var accountState = State(account: alice, binding: .acme)
        _ = self.ask(&accountState, "a")
        _ = accountState.land(FlightOutcome(.failed(.any(.storeLost)), snapshot: nil), now: self.now.boot)
        let atOnce = self.ask(&accountState, "b", at: .milliseconds(249))
        let later = self.ask(&accountState, "c", at: .milliseconds(250))
        #expect(atOnce == "b: store_lost")
        #expect(later == "starts a flight")
    }

    @Test func `a doubtful token causes one refresh and is served if that refresh fails`() {
        let future = self.now.wall.advanced(by: .seconds(7_200))
        let doubtful = AccountRecord.valid().with { $0.tokens = .sample(receivedAt: future) }
        var accountState = self.accountState(doubtful)
        #expect(!accountState.hasAnnouncedCredential)
        let first = self.ask(&accountState, "a")
        #expect(first == "starts a flight")

        let landing = accountState.land(
            self.outcome(.failed(.any(.refreshFailed)), doubtful, after: accountState),
            now: self.now.boot
        )

        #expect(self.told(landing.served) == ["a: generation 1"])
        #expect(accountState.hasAnnouncedCredential)
        let next = self.ask(&accountState, "b", at: .seconds(5))
        #expect(next == "b: generation 1")
        let expired = self.ask(&accountState, "c", at: .seconds(3_600))
        #expect(expired == "starts a flight")
    }

    @Test func `a record that another process wrote serves the waiters before the flight ends`() {
        var accountState = self.accountState(.expired())
        _ = self.ask(&accountState, "a")
        _ = self.ask(&accountState, "b", .credential(refused: Generation(1)))

        let landing = accountState.observe(self.entry(.valid(generation: 2), 2), now: self.now)

        #expect(self.told(landing.served) == ["a: generation 2", "b: generation 2"])
        #expect(landing.event == .installed(.sample(generation: 2)))
        #expect(accountState.isFlying)
    }

    @Test func `a read that is older than the known version changes nothing`() {
        var accountState = self.accountState(nil)
        _ = accountState.observe(self.entry(.valid(generation: 2), 5), now: self.now)
        let older = accountState.observe(self.entry(.expired(), 4), now: self.now)
        let nothing = accountState.observe(nil, now: self.now)
        #expect(older.event == nil && nothing.event == nil)
        #expect(accountState.snapshot?.tokenVersion?.generation == Generation(2))
    }

    @Test func `I2_a later version with an older generation of the grant is ignored, but another grant is accepted`() {
        var accountState = self.accountState(nil)
        _ = accountState.observe(self.entry(.valid(generation: 2), 5), now: self.now)

        let fallen = accountState.observe(self.entry(.expired(), 6), now: self.now)
        #expect(fallen.event == nil)
        #expect(accountState.snapshot?.tokenVersion?.generation == Generation(2))

        let imported = accountState.observe(self.entry(.valid(grant: GrantID("new")), 7), now: self.now)
        #expect(imported.event != nil)
        #expect(accountState.snapshot?.tokenVersion?.grant == GrantID("new"))
    }

    @Test func `a record that becomes unreadable leaves the known credential usable`() {
        var accountState = self.accountState(.valid())
        let isNew = accountState.observeUnreadable(.any(.accountUnreadable))
        let again = accountState.observeUnreadable(.any(.accountUnreadable))
        let answer = self.ask(&accountState, "a")
        #expect(isNew && !again)
        #expect(answer == "a: generation 1")
    }

    @Test func `one watch over deadlines runs while there are waiters, and a new one starts after it ended`() {
        var accountState = self.accountState(.expired())
        var watches: [Bool] = []
        func enter(_ id: UInt64) {
            let answer = accountState.ask(
                "\(id)",
                as: WaiterID(rawValue: id),
                for: .credential(refused: nil),
                timeout: .seconds(15),
                now: self.now.boot
            )
            if case .waits(_, let watch) = answer { watches.append(watch) }
        }
        enter(1)
        enter(2)
        _ = accountState.cancel(WaiterID(rawValue: 1))
        _ = accountState.cancel(WaiterID(rawValue: 2))
        // Nobody waits, but the watch has not noticed yet.
        enter(3)
        _ = accountState.cancel(WaiterID(rawValue: 3))
        let due = accountState.nextDeadlineOrUnwatched()
        enter(4)

        #expect(due == nil)
        #expect(watches == [true, false, false, true])
    }

    @Test func `a waiter that would have to wait gets the obstacle as its error instead`() {
        var accountState = self.accountState(.expired())
        let answer = self.ask(&accountState, "a", unless: .any(.overloaded))
        #expect(answer == "a: overloaded")
        #expect(!accountState.isFlying)
    }

    @Test func `I14_every waiter leaves exactly once, by its deadline, its cancellation or the close`() {
        var accountState = self.accountState(.expired())
        _ = accountState.ask(
            "late",
            as: WaiterID(rawValue: 1),
            for: .credential(refused: nil),
            timeout: .zero,
            now: self.now.boot
        )
        for id in 2...4 {
            _ = accountState.ask(
                "\(id)",
                as: WaiterID(rawValue: UInt64(id)),
                for: .credential(refused: nil),
                timeout: .seconds(15),
                now: self.now.boot
            )
        }
        let due = accountState.nextDeadlineOrUnwatched()
        #expect(due == self.now.boot)

        let late = accountState.expire(now: self.now.boot)
        let gone = accountState.cancel(WaiterID(rawValue: 2))
        let goneTwice = accountState.cancel(WaiterID(rawValue: 2))
        let rest = accountState.close()
        let afterClose = accountState.close()

        #expect(self.told(late) == ["late: refresh_failed"])
        #expect(gone == "2")
        #expect(goneTwice == nil)
        #expect(self.told(rest) == ["3: refresh_failed", "4: refresh_failed"])
        #expect(afterClose.isEmpty)
        let nothingDue = accountState.nextDeadlineOrUnwatched()
        #expect(nothingDue == nil)
    }
}
