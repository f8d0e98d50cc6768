import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// Who waits, and what they are told. Waiters are names.
@Suite struct AccountDeskTests {
    private typealias Desk = AccountDesk<String>
    private let now = Moment.start

    private func entry(_ record: AccountRecord, _ version: UInt64 = 1) -> AccountVault.Entry {
        AccountVault.Entry(record: record, version: Version(version))
    }

    private func desk(_ record: AccountRecord?) -> Desk {
        var desk = Desk(account: alice, binding: .acme)
        if let record { _ = desk.observe(self.entry(record), now: self.now) }
        return desk
    }

    private func outcome(
        _ result: FlightOutcome.Result,
        _ record: AccountRecord?,
        _ version: UInt64 = 2,
        after desk: Desk
    ) -> FlightOutcome {
        FlightOutcome(result, sight: Sight(record.map { self.entry($0, version) }, after: desk.sight, now: self.now))
    }

    /// Asks, and says in a word what came of it.
    private func ask(
        _ desk: inout Desk,
        _ name: String,
        _ wish: Wish = .pass(refused: nil),
        at later: Duration = .zero,
        unless obstacle: PassError? = nil
    ) -> String {
        let id = WaiterID(rawValue: UInt64(desk.waiterCount) + 1)
        let answer = desk.ask(
            name,
            as: id,
            for: wish,
            timeout: .seconds(15),
            unless: obstacle,
            now: self.now.boot.advanced(by: later)
        )
        switch answer {
        case .now(let waiter, .success(let pass)): return "\(waiter): generation \(pass.generation)"
        case .now(let waiter, .failure(let error)): return "\(waiter): \(error.code.rawValue)"
        case .waits(nil, _): return "waits"
        case .waits(let demand?, _):
            return demand.isForced ? "forces a flight" : demand.refused == nil ? "starts a flight" : "starts for a 401"
        }
    }

    private func told(_ served: [Desk.Served]) -> [String] {
        served.map { served in
            switch served.result {
            case .success(let pass): "\(served.waiter): generation \(pass.generation)"
            case .failure(let error): "\(served.waiter): \(error.code.rawValue)"
            }
        }
    }

    @Test func `a valid token is given at once`() {
        var desk = self.desk(.valid())
        let answer = self.ask(&desk, "a")
        #expect(answer == "a: generation 1")
    }

    @Test func `the first who needs a flight starts it and the others share it`() {
        var desk = self.desk(.expired())
        let first = self.ask(&desk, "a")
        let second = self.ask(&desk, "b")
        #expect(first == "starts a flight")
        #expect(second == "waits")

        let landing = desk.land(
            self.outcome(.committed, .valid(generation: 2), after: desk),
            now: self.now.boot
        )

        #expect(self.told(landing.served) == ["a: generation 2", "b: generation 2"])
        #expect(landing.start == nil)
        #expect(desk.waiterCount == 0)
        #expect(!desk.isFlying)
    }

    @Test func `nobody is served an expired token, whatever the flight says`() {
        var desk = self.desk(.expired())
        _ = self.ask(&desk, "a")
        let landing = desk.land(
            self.outcome(.committed, .expired(generation: 2), after: desk),
            now: self.now.boot
        )
        #expect(self.told(landing.served) == ["a: refresh_failed"])
        #expect(landing.event == nil)
    }

    @Test func `a 401 waits for a new generation while others go on with the old one`() {
        var desk = self.desk(.valid())
        let refused = self.ask(&desk, "a", .pass(refused: Generation(1)))
        let other = self.ask(&desk, "b")
        #expect(refused == "starts for a 401")
        #expect(other == "b: generation 1")

        let landing = desk.land(
            self.outcome(.failed(.any(.refreshFailed)), .valid(), after: desk),
            now: self.now.boot
        )

        #expect(self.told(landing.served) == ["a: refresh_failed"])
        let later = self.ask(&desk, "c")
        #expect(later == "c: generation 1")
    }

    @Test func `a 401 for a generation that is not the current one gets the current one`() {
        var desk = self.desk(.valid(generation: 5))
        let older = self.ask(&desk, "a", .pass(refused: Generation(4)))
        let unknown = self.ask(&desk, "b", .pass(refused: Generation(9)))
        #expect(older == "a: generation 5")
        #expect(unknown == "b: generation 5")
    }

    @Test func `I11_what a 401 brought and an upstream refuses again comes back as it is`() {
        var desk = self.desk(.valid())
        _ = self.ask(&desk, "a", .pass(refused: Generation(1)))
        _ = desk.land(
            self.outcome(.committed, .valid(generation: 2), after: desk),
            now: self.now.boot
        )

        let atOnce = self.ask(&desk, "b", .pass(refused: Generation(2)), at: .seconds(1))
        let within = self.ask(&desk, "c", .pass(refused: Generation(2)), at: .seconds(60))
        let after = self.ask(&desk, "d", .pass(refused: Generation(2)), at: .seconds(61))

        #expect(atOnce == "b: generation 2")
        #expect(within == "c: generation 2")
        #expect(after == "starts for a 401")
    }

    @Test func `I11_what an upstream has taken is refreshed by a later 401 at once`() {
        var desk = self.desk(.valid())
        _ = self.ask(&desk, "a", .pass(refused: Generation(1)))
        _ = desk.land(
            self.outcome(.committed, .valid(generation: 2), after: desk),
            now: self.now.boot
        )
        desk.accepted(Generation(2))

        let answer = self.ask(&desk, "b", .pass(refused: Generation(2)), at: .seconds(1))

        #expect(answer == "starts for a 401")
    }

    @Test func `a 401 that meets a process knowing nothing is judged by what the store says`() {
        var desk = Desk(account: alice, binding: .acme)
        let first = self.ask(&desk, "a", .pass(refused: Generation(1)))
        #expect(first == "starts a flight")

        // The store has just the refused generation: one more flight, for it.
        let landing = desk.land(
            self.outcome(.settled, .valid(), 1, after: desk),
            now: self.now.boot
        )

        #expect(landing.served.isEmpty)
        #expect(landing.start?.refused == TokenMark(grant: GrantID("g"), generation: Generation(1)))
        #expect(desk.isFlying)
    }

    @Test func `a record that changed under the flight starts another for those it does not serve`() {
        var desk = self.desk(.expired())
        _ = self.ask(&desk, "a")
        let imported = AccountRecord.expired(grant: GrantID("new"))
        let landing = desk.land(
            self.outcome(.settled, imported, after: desk),
            now: self.now.boot
        )
        #expect(landing.start == .usable)
        #expect(desk.waiterCount == 1)

        let stopped = desk.land(
            self.outcome(.settled, imported, after: desk),
            unless: .any(.refreshFailed),
            now: self.now.boot
        )
        #expect(self.told(stopped.served) == ["a: refresh_failed"])
        #expect(stopped.start == nil)
    }

    @Test func `a backoff that a reload has ended stays ended when a flight of before lands`() {
        let trouble = AccountRecord.Trouble.sample(retryIn: .seconds(60), reason: "account_config.invalid_scope")
        let record = AccountRecord.expired().with { $0.trouble = trouble }
        var desk = self.desk(record)
        _ = self.ask(&desk, "operator", .refresh)
        let blocked = self.outcome(.failed(.any(.providerConfig)), record, 1, after: desk)
        let renewed = self.outcome(.failed(.any(.providerConfig)), record, 2, after: self.desk(nil))

        _ = desk.follow(binding: .acme, mints: false, now: self.now.boot)
        _ = desk.land(blocked, now: self.now.boot)
        #expect(desk.sight?.retryAt == self.now.boot)

        // But what was written since then counts
        _ = desk.land(renewed, now: self.now.boot)
        #expect(desk.sight?.retryAt == self.now.boot.advanced(by: .seconds(60)))
    }

    @Test func `an operator's refresh waits for a flight of its own kind`() {
        var desk = Desk(account: alice, binding: .acme)
        _ = self.ask(&desk, "a")
        let operators = self.ask(&desk, "operator", .refresh)
        #expect(operators == "waits")

        let landing = desk.land(
            self.outcome(.settled, .valid(), 1, after: desk),
            now: self.now.boot
        )

        #expect(self.told(landing.served) == ["a: generation 1"])
        #expect(landing.start == .forced)
    }

    @Test func `a record that says no is not read again for a second`() {
        var desk = self.desk(.expired().with { $0.trouble = .sample(dead: true, reason: "invalid_grant") })
        let atOnce = self.ask(&desk, "a", at: .milliseconds(999))
        let later = self.ask(&desk, "b", at: .seconds(1))
        #expect(atOnce == "a: reauthorization_required")
        #expect(later == "starts a flight")
    }

    @Test func `a flight that failed is not repeated for a quarter of a second`() {
        var desk = Desk(account: alice, binding: .acme)
        _ = self.ask(&desk, "a")
        _ = desk.land(FlightOutcome(.failed(.any(.storeLost)), sight: nil), now: self.now.boot)
        let atOnce = self.ask(&desk, "b", at: .milliseconds(249))
        let later = self.ask(&desk, "c", at: .milliseconds(250))
        #expect(atOnce == "b: store_lost")
        #expect(later == "starts a flight")
    }

    @Test func `a doubtful token asks for a refresh once, and is served after that has failed`() {
        let future = self.now.wall.advanced(by: .seconds(7_200))
        let doubtful = AccountRecord.valid().with { $0.tokens = .sample(receivedAt: future) }
        var desk = self.desk(doubtful)
        #expect(!desk.hasAnnouncedPass)
        let first = self.ask(&desk, "a")
        #expect(first == "starts a flight")

        let landing = desk.land(
            self.outcome(.failed(.any(.refreshFailed)), doubtful, after: desk),
            now: self.now.boot
        )

        #expect(self.told(landing.served) == ["a: generation 1"])
        #expect(desk.hasAnnouncedPass)
        let next = self.ask(&desk, "b", at: .seconds(5))
        #expect(next == "b: generation 1")
        let expired = self.ask(&desk, "c", at: .seconds(3_600))
        #expect(expired == "starts a flight")
    }

    @Test func `what another process wrote serves those who wait, without the flight`() {
        var desk = self.desk(.expired())
        _ = self.ask(&desk, "a")
        _ = self.ask(&desk, "b", .pass(refused: Generation(1)))

        let landing = desk.observe(self.entry(.valid(generation: 2), 2), now: self.now)

        #expect(self.told(landing.served) == ["a: generation 2", "b: generation 2"])
        #expect(landing.event == .installed(.sample(generation: 2)))
        #expect(desk.isFlying)
    }

    @Test func `a read that was overtaken changes nothing`() {
        var desk = self.desk(nil)
        _ = desk.observe(self.entry(.valid(generation: 2), 5), now: self.now)
        let older = desk.observe(self.entry(.expired(), 4), now: self.now)
        let nothing = desk.observe(nil, now: self.now)
        #expect(older.event == nil && nothing.event == nil)
        #expect(desk.sight?.mark?.generation == Generation(2))
    }

    @Test func `I2_a later version with an older token set of the grant is not gone by, and another grant's is`() {
        var desk = self.desk(nil)
        _ = desk.observe(self.entry(.valid(generation: 2), 5), now: self.now)

        let fallen = desk.observe(self.entry(.expired(), 6), now: self.now)
        #expect(fallen.event == nil)
        #expect(desk.sight?.mark?.generation == Generation(2))

        let imported = desk.observe(self.entry(.valid(grant: GrantID("new")), 7), now: self.now)
        #expect(imported.event != nil)
        #expect(desk.sight?.mark?.grant == GrantID("new"))
    }

    @Test func `slots are told of each new pass once, and of its end`() {
        var desk = self.desk(nil)
        let first = desk.observe(self.entry(.valid(), 1), now: self.now)
        let claimed = desk.observe(self.entry(.valid().with { $0.claim = FlightBench.others }, 2), now: self.now)
        let second = desk.observe(self.entry(.valid(generation: 2), 3), now: self.now)
        let forgotten = desk.observe(
            self.entry(AccountRecord.valid(grant: GrantID("new")).with { $0.tokens = nil }, 4),
            now: self.now
        )
        #expect(first.event == .installed(.sample()))
        #expect(claimed.event == nil)
        #expect(second.event == .installed(.sample(generation: 2)))
        #expect(forgotten.event == .dropped(alice))
    }

    @Test func `a record that stops opening leaves the pass that was given`() {
        var desk = self.desk(.valid())
        let isNew = desk.observeUnreadable(.any(.accountUnreadable))
        let again = desk.observeUnreadable(.any(.accountUnreadable))
        let answer = self.ask(&desk, "a")
        #expect(isNew && !again)
        #expect(answer == "a: generation 1")
    }

    @Test func `one watch over deadlines is on while somebody waits, and a new one after it has ended`() {
        var desk = self.desk(.expired())
        var watches: [Bool] = []
        func enter(_ id: UInt64) {
            let answer = desk.ask(
                "\(id)",
                as: WaiterID(rawValue: id),
                for: .pass(refused: nil),
                timeout: .seconds(15),
                now: self.now.boot
            )
            if case .waits(_, let watch) = answer { watches.append(watch) }
        }
        enter(1)
        enter(2)
        _ = desk.cancel(WaiterID(rawValue: 1))
        _ = desk.cancel(WaiterID(rawValue: 2))
        // Nobody waits, but the watch has not noticed yet.
        enter(3)
        _ = desk.cancel(WaiterID(rawValue: 3))
        let due = desk.nextDeadlineOrUnwatched()
        enter(4)

        #expect(due == nil)
        #expect(watches == [true, false, false, true])
    }

    @Test func `whoever would have to wait is told the obstacle instead`() {
        var desk = self.desk(.expired())
        let answer = self.ask(&desk, "a", unless: .any(.overloaded))
        #expect(answer == "a: overloaded")
        #expect(!desk.isFlying)
    }

    @Test func `I14_every waiter comes out exactly once, by its deadline, its going or the close`() {
        var desk = self.desk(.expired())
        _ = desk.ask(
            "late",
            as: WaiterID(rawValue: 1),
            for: .pass(refused: nil),
            timeout: .zero,
            now: self.now.boot
        )
        for id in 2...4 {
            _ = desk.ask(
                "\(id)",
                as: WaiterID(rawValue: UInt64(id)),
                for: .pass(refused: nil),
                timeout: .seconds(15),
                now: self.now.boot
            )
        }
        let due = desk.nextDeadlineOrUnwatched()
        #expect(due == self.now.boot)

        let late = desk.expire(now: self.now.boot)
        let gone = desk.cancel(WaiterID(rawValue: 2))
        let goneTwice = desk.cancel(WaiterID(rawValue: 2))
        let rest = desk.close()
        let afterClose = desk.close()

        #expect(self.told(late) == ["late: refresh_failed"])
        #expect(gone == "2")
        #expect(goneTwice == nil)
        #expect(self.told(rest) == ["3: refresh_failed", "4: refresh_failed"])
        #expect(afterClose.isEmpty)
        let nothingDue = desk.nextDeadlineOrUnwatched()
        #expect(nothingDue == nil)
    }
}
