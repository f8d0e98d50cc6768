import OAuth
import Simulation
import TestKit
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// Imports, removals, forced refreshes, states, and writes of other processes.
@Suite(.simulated) struct AccountChangesTests {
    private let house = Cluster()
    private let provider = ScriptedTokenEndpoint()

    @Test func `an import without an access token is refreshed at first use`() async throws {
        try await self.house.withReplica(self.provider) { replica in
            let before = await replica.ask().value
            try await replica.engine.importTokens(Secret("rt-0"), for: alice)
            let stored = try await self.house.record()
            let after = await replica.ask().value

            #expect(before == .error(.accountEmpty))
            #expect(stored?.generation == Generation.none)
            #expect(stored?.binding == .acme)
            #expect(after.generation == Generation(1))
            #expect(self.provider.spent == ["rt-0"])
        }
    }

    @Test(arguments: [
        (Duration?.none, Duration.seconds(3_600)), (.seconds(60), .seconds(60)), (.seconds(-1), .zero),
        (.seconds(1_000_000), .seconds(86_400)),
    ])
    func `an imported access token is used until it expires, without asking the provider`(
        expiresIn: Duration?,
        lifetime: Duration
    ) async throws {
        try await self.house.withReplica(self.provider) { replica in
            try await replica.engine.importTokens(
                Secret("rt-0"),
                accessToken: Secret("at-0"),
                expiresIn: expiresIn,
                for: alice
            )
            let usableUntil = self.house.clock.now.advanced(by: lifetime)
            let stored = try await self.house.record()
            #expect(stored?.generation == Generation(1))
            #expect(stored?.tokens?.lifetime == lifetime)
            if lifetime > .zero {
                let credential = try await replica.engine.credential(for: alice)
                #expect(credential.usableUntil == usableUntil)
                #expect(replica.events == [.installed(credential)])
                #expect(self.provider.spent.isEmpty)
            } else {
                #expect(replica.events.isEmpty)
            }
        }
    }

    @Test func `an import during a flight makes this flight drop its new tokens`() async throws {
        try await self.house.put(.expired())
        self.provider.hold()
        try await self.house.withReplica(self.provider) { replica in
            let answer = replica.ask()
            try await until("the use") { self.provider.heldCount == 1 }

            try await replica.engine.importTokens(Secret("rt-9"), accessToken: Secret("at-9"), for: alice)

            let served = await answer.value
            #expect(served.generation == Generation(1))
            let imported = try await self.house.record()
            self.provider.release()
            try await until("the flight to end") { self.house.log.lines.contains { $0.contains("were dropped") } }
            #expect(try await self.house.record() == imported)
            let later = await replica.ask().value
            #expect(later == served)
            // Tokens that an import replaces are dropped and not revoked.
            #expect(self.provider.revoked.isEmpty)
        }
    }

    @Test func `an import without an access token during a flight is refreshed by another flight`() async throws {
        try await self.house.put(.expired())
        self.provider.hold()
        try await self.house.withReplica(self.provider) { replica in
            let answer = replica.ask()
            try await until("the use") { self.provider.heldCount == 1 }
            try await replica.engine.importTokens(Secret("rt-1"), for: alice)
            self.provider.release()
            let served = await answer.value
            #expect(served.generation == Generation(1))
            #expect(self.provider.spent == ["rt-0", "rt-1"])
        }
    }

    @Test(arguments: [
        ("", nil), ("rt\n", nil), ("rt", ""), ("rt", "at\r\nHost: evil"), ("rt", "a t"), ("rt", "\u{7F}"), ("rt", "ä"),
    ])
    func `a malformed token is not imported`(refresh: String, access: String?) async throws {
        try await self.house.withReplica(self.provider) { replica in
            let error = await #expect(throws: AccountChangeError.self) {
                try await replica.engine.importTokens(
                    Secret(refresh),
                    accessToken: access.map { Secret($0) },
                    for: alice
                )
            }
            #expect(error?.code == .invalidTokens)
            let record = try await self.house.record()
            #expect(record == nil)
        }
    }

    @Test func `forgetting revokes both tokens and leaves an empty record`() async throws {
        try await self.house.put(.valid())
        try await self.house.withReplica(self.provider) { replica in
            _ = try await replica.engine.credential(for: alice)
            let outcomes = try await replica.engine.forget(alice)
            let again = try await replica.engine.forget(alice)
            let answer = await replica.ask().value
            let record = try await self.house.record()

            #expect(outcomes.map(\.kind) == [.refreshToken, .accessToken])
            #expect(outcomes.map(\.verdict) == [.revoked, .revoked])
            #expect(outcomes.last?.endsAt == TokenSet.sample().expiresAt)
            #expect(self.provider.revoked == ["rt-0", "at-0"])
            #expect(again.isEmpty)
            // The second removal finds no tokens, so it writes no log entry.
            #expect(self.house.log.lines.count { $0.contains("tokens were forgotten") } == 1)
            #expect(answer == .error(.accountEmpty))
            #expect(record?.tokens == nil && record?.grant != GrantID("g"))
            #expect(replica.events.last == .dropped(alice))
        }
    }

    @Test func `forgetting succeeds although the provider can't be reached`() async throws {
        try await self.house.put(.valid())
        self.provider.answerRevocations(.unreachable(.connectFailed))
        try await self.house.withReplica(self.provider) { replica in
            let outcomes = try await replica.engine.forget(alice)
            #expect(outcomes.map(\.verdict) == [.unreachable(.connectFailed), .unreachable(.connectFailed)])
            #expect(try await self.house.record()?.tokens == nil)
            // The tokens are recorded so that the provider is asked again.
            #expect(self.house.kills.takenAway.map(\.tokens?.refreshToken) == [Secret("rt-0")])
        }
    }

    @Test func `tokens that a refresh commits during a removal are dead, and the sweep is told`() async throws {
        try await self.house.put(.valid())
        let (house, provider) = (self.house, self.provider)
        let next = AccountRecord.valid(generation: 2).with { $0.tokens = .sample(1) }
        try await self.house.withReplica(self.provider) { replica in
            provider.whileRevoking {
                // Like another replica's refresh, whose request was sent before the removal.
                if provider.revoked.isEmpty { try? await house.put(next) }
            }
            let outcomes = try await replica.engine.forget(alice)
            #expect(outcomes.count == 2)
            #expect(self.provider.revoked == ["rt-0", "at-0"])
            let record = try await self.house.record()
            let epochs = try await self.house.kills.read()
            #expect(record?.tokens == next.tokens)
            #expect(epochs.verdict(on: record, of: alice, at: acme) == .dead)
            #expect(self.house.kills.storedDeadCount > 0)
        }
    }

    @Test func `tokens stored after the removal's log entry stay, and the old ones are recorded for revocation`()
        async throws
    {
        // Given a provider that can't be reached for revocations
        try await self.house.put(.valid())
        self.provider.answerRevocations(.unreachable(.connectFailed))
        let (house, provider) = (self.house, self.provider)
        try await self.house.withReplica(self.provider) { replica in
            provider.whileRevoking {
                // And new tokens, which no kill or removal affects
                guard provider.revoked.isEmpty else { return }
                let next = AccountRecord.valid(grant: GrantID("later")).with {
                    $0.tokens = .sample(1)
                    $0.observedEpoch = house.kills.change { _ in }.last
                }
                try? await house.put(next)
            }

            // When the tokens are removed
            _ = try await replica.engine.forget(alice)

            // Then the old tokens are recorded for revocation, and the new ones stay
            #expect(house.kills.changed == [alice])
            #expect(house.kills.takenAway.map { $0.tokens?.refreshToken } == [Secret("rt-0")])
            #expect(try await house.record()?.tokens == .sample(1))
        }
    }

    @Test func `tokens that a flight brings for a forgotten account are revoked`() async throws {
        try await self.house.put(.expired())
        self.provider.hold()
        try await self.house.withReplica(self.provider) { replica in
            let answer = replica.ask()
            try await until("the use") { self.provider.heldCount == 1 }
            _ = try await replica.engine.forget(alice)
            self.provider.release()
            let told = await answer.value
            #expect(told == .error(.accountEmpty))
            try await until("them to be written down to be revoked") {
                let tokens = self.house.kills.takenAway.last?.tokens
                return tokens?.refreshToken == Secret("rt-1") && tokens?.accessToken == Secret("at-1")
            }
            #expect(try await self.house.record()?.tokens == nil)
        }
    }

    @Test func `a forced refresh replaces a valid token, or reports the callers' error`() async throws {
        try await self.house.put(.valid())
        try await self.house.withReplica(self.provider) { replica in
            let refreshed = await replica.engine.refreshNow(alice)
            self.provider.answer(.notSent(.connectFailed))
            let unsent = await replica.engine.refreshNow(alice)
            self.house.store.fail(.full)
            let unwritten = await replica.engine.refreshNow(alice)
            self.house.store.recover()
            let again = await replica.engine.refreshNow(alice)

            let errors = [refreshed, unsent, unwritten, again].map { $0?.refreshError }
            #expect(errors == [nil, .refreshFailed, .storeLost, nil])
            #expect(refreshed?.generation == Generation(2))
            #expect(refreshed?.state == .valid)
            #expect(unsent?.state == .backingOff)
            #expect(unsent?.lastError == "not_sent.connect_failed")
            #expect(again?.generation == Generation(3))
            #expect(await replica.engine.refreshNow(AccountID("nobody")) == nil)
        }
        try await self.house.withReplica(self.provider, limits: RefreshLimits(waiters: 0)) { replica in
            #expect(await replica.engine.refreshNow(alice)?.refreshError == .overloaded)
        }
    }

    @Test(arguments: [
        (AccountRecord?.none, AccountStatus.State.empty),
        (AccountRecord.valid().with { $0.tokens = nil }, .empty),
        (.valid(), .valid),
        (.expired(), .expired),
        (.valid().with { $0.failureRecord = .sample(dead: true, reason: "invalid_grant") }, .reauthorizationRequired),
        (.valid().with { $0.binding.clientID = "other" }, .reauthorizationRequired),
        (.valid().with { $0.claim = FlightBench.others }, .refreshing),
        (.valid().with { $0.failureRecord = .sample(retryIn: .seconds(5)) }, .backingOff),
    ])
    func `the status shows the first matching state`(record: AccountRecord?, state: AccountStatus.State) async throws {
        if let record { try await self.house.put(record) }
        try await self.house.withReplica(self.provider) { replica in
            let status = await replica.engine.status(of: alice)
            #expect(status?.state == state)
            #expect(status?.isConfigured == true)
        }
    }

    @Test func `accounts that are only in the store are listed too`() async throws {
        let left = AccountID("left")
        try await self.house.put(.valid())
        try await self.house.put(.valid(), for: left)
        try await self.house.withReplica(self.provider) { replica in
            let statuses = await replica.engine.overview().named
            #expect(statuses.map(\.account) == [alice, left])
            #expect(statuses.map(\.isConfigured) == [true, false])
            #expect(statuses.map(\.state) == [.valid, .valid])
            #expect(statuses.last?.provider == acme)
        }
    }

    @Test func `a commit of another process reaches the credential caches by a hint`() async throws {
        try await self.house.put(.valid())
        try await self.house.withReplica(self.provider) { replica in
            _ = try await replica.engine.credential(for: alice)
            await self.house.clock.settle()
            try await self.house.put(.valid(generation: 2))
            await self.house.clock.settle()
            #expect(replica.events.count == 2)
            #expect(await replica.ask().value.generation == Generation(2))
        }
    }

    @Test func `fault 21: a removal by another process is noticed although every hint is lost`() async throws {
        let house = Cluster(store: FaultyTokenStore(hints: false))
        try await house.put(.valid())
        try await house.withReplica(self.provider) { replica in
            _ = try await replica.engine.credential(for: alice)
            try await house.put(.valid(grant: GrantID("new")).with { $0.tokens = nil })
            await house.clock.pass(.seconds(10))
            #expect(replica.events.last == .dropped(alice))
        }
    }

    @Test func `a token with a doubtful receipt time is refreshed first`() async throws {
        let future = Moment.start.wall.advanced(by: .seconds(86_400))
        try await self.house.put(.valid().with { $0.tokens = .sample(receivedAt: future) })
        self.provider.answer(.notSent(.connectFailed))
        try await self.house.withReplica(self.provider) { replica in
            let first = await replica.ask().value
            let second = await replica.ask().value
            #expect(first.generation == Generation(1))
            #expect(second.generation == Generation(1))
            #expect(self.provider.spent == ["rt-0"])
        }
    }

    @Test func `I21_wall clock jumps of ten years cause no refresh and extend no token`() async throws {
        try await self.house.put(.valid())
        try await self.house.withReplica(self.provider) { replica in
            let first = try await replica.engine.credential(for: alice)
            for jump in [315_360_000, -630_720_000, 315_363_600, -3_600] {
                self.house.clock.jumpWall(by: .seconds(jump))
                _ = await replica.engine.status(of: alice)
                let credential = try await replica.engine.credential(for: alice)
                #expect(credential == first)
            }
            #expect(self.provider.spent.isEmpty)
        }
    }

    @Test func `the first import into an account is not announced, unless the log has an earlier import`()
        async throws
    {
        try await self.house.withReplica(self.provider) { replica in
            try await replica.engine.importTokens(Secret("rt-0"), for: alice)
            #expect(self.house.kills.changed.isEmpty)
            try await replica.engine.importTokens(Secret("rt-1"), for: alice)
            #expect(self.house.kills.changed == [alice])
            // The store has lost everything, but the log has an earlier import.
            self.house.store.history = StoreHistory()
            try await self.house.withReplica(self.provider) { other in
                try await other.engine.importTokens(Secret("rt-2"), for: alice)
            }
            #expect(self.house.kills.changed == [alice, alice])
        }
    }
}
