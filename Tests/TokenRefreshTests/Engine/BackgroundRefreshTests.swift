import OAuth
import Simulation
import TestKit
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// Refreshes that no caller waits for.
@Suite(.simulated) struct BackgroundRefreshTests {
    private let house = Cluster()
    private let provider = ScriptedTokenEndpoint()

    /// Limits with which only the scheduler sleeps, so that time goes from one appointment to the next.
    private let onlyAppointments = RefreshLimits(rereadInterval: .seconds(1_000_000))

    private func use(_ credential: UpstreamCredential, _ replica: Replica) {
        replica.engine.used(TokenVersion(credential), of: alice)
    }

    @Test func `a token in use is replaced before it expires, and no caller waits`() async throws {
        try await self.house.put(.valid())
        try await self.house.withReplica(self.provider, limits: self.onlyAppointments) { replica in
            let first = try await replica.engine.credential(for: alice)
            self.use(first, replica)

            try await until("the new pass", within: .seconds(7_200)) { replica.events.count == 2 }

            #expect(self.provider.spent == ["rt-0"])
            // The jitter of this house is 1, so the refresh comes three quarters of 720 s before the end.
            #expect(self.house.clock.now.duration(to: first.usableUntil) == .seconds(540))
            let second = try await replica.engine.credential(for: alice)
            #expect(second.generation == Generation(2))
            #expect(replica.events == [.installed(first), .installed(second)])
            #expect(replica.engine.waiterCount == 0)
        }
    }

    @Test func `an unused token expires without a refresh, and the account is kept alive a day later`() async throws {
        try await self.house.put(.valid())
        // A held response prevents another appointment after the first.
        self.provider.hold()
        try await self.house.withReplica(self.provider, limits: self.onlyAppointments) { replica in
            let start = self.house.clock.now
            _ = try await replica.engine.credential(for: alice)

            try await until("the first refresh", within: .seconds(172_800)) { self.provider.spent == ["rt-0"] }

            // A day less a tenth, since the jitter of this house is 1.
            #expect(start.duration(to: self.house.clock.now) == .seconds(86_400 - 8_640))
        }
    }

    @Test func `a use of a token that is already ripe refreshes it at once`() async throws {
        try await self.house.put(.valid())
        try await self.house.withReplica(self.provider) { replica in
            let first = try await replica.engine.credential(for: alice)
            await self.house.clock.pass(.seconds(3_500))
            #expect(self.provider.spent.isEmpty)

            self.use(first, replica)
            await self.house.clock.settle()
            #expect(replica.events.count == 2)
        }
    }

    @Test func `I22_a 10 s token in use for 60 s is always replaced before it expires`() async throws {
        self.provider.issue(lifetime: .seconds(10))
        try await self.house.put(.valid().with { $0.tokens = .sample(lifetime: .seconds(10)) })
        try await self.house.withReplica(self.provider, limits: self.onlyAppointments) { replica in
            let start = self.house.clock.now
            var current = try await replica.engine.credential(for: alice)
            self.use(current, replica)
            while start.duration(to: self.house.clock.now) < .seconds(60) {
                let seen = replica.events.count
                try await until("the next pass", within: .seconds(10)) { replica.events.count > seen }
                guard case .installed(let next) = try #require(replica.events.last) else {
                    Issue.record("a pass was withdrawn")
                    return
                }
                #expect(self.house.clock.now < current.usableUntil)
                current = next
                self.use(current, replica)
            }
            // One refresh every 6.25 s.
            #expect(self.provider.spent.count == 10)
            #expect(replica.events.count == 11)
        }
    }

    @Test func `where a refresh invalidates the old token, it comes when that token has expired`() async throws {
        try await self.house.put(.valid())
        let timing = RefreshTiming(mode: .onExpiry)
        try await self.house.withReplica(self.provider, timing: timing, limits: self.onlyAppointments) { replica in
            let first = try await replica.engine.credential(for: alice)
            self.use(first, replica)

            try await until("the refresh", within: .seconds(7_200)) { self.provider.spent == ["rt-0"] }

            #expect(self.house.clock.now == first.usableUntil)
        }
    }

    @Test func `an account that nobody has used in this process is kept alive`() async throws {
        try await self.house.put(.expired())
        self.provider.hold()
        try await self.house.withReplica(self.provider, limits: self.onlyAppointments) { _ in
            let start = self.house.clock.now

            try await until("the refresh", within: .seconds(172_800)) { self.provider.spent == ["rt-0"] }

            #expect(start.duration(to: self.house.clock.now) == .seconds(86_400 - 7_200 - 8_640))
        }
    }

    @Test func `I23_a valid token is served while its refresh fails, and the refresh is tried again`() async throws {
        try await self.house.put(.valid())
        self.provider.answer(.notSent(.connectFailed), .notSent(.connectFailed))
        try await self.house.withReplica(self.provider) { replica in
            let first = try await replica.engine.credential(for: alice)
            self.use(first, replica)
            await self.house.clock.pass(.seconds(3_060))
            #expect(self.provider.spent.count == 1)
            #expect(try await replica.engine.credential(for: alice) == first)

            try await until("the refresh", within: .seconds(120)) { replica.events.count == 2 }
            #expect(self.provider.spent.count == 3)
            #expect(self.house.clock.now < first.usableUntil)
        }
    }

    @Test func `I1_two replicas that both use a token refresh it once, and share a backoff`() async throws {
        try await self.house.put(.valid())
        self.provider.answer(.throttled(retryAfter: .seconds(200)))
        try await self.house.withReplica(self.provider, limits: self.onlyAppointments) { first in
            try await self.house.withReplica(self.provider, limits: self.onlyAppointments) { second in
                for replica in [first, second] {
                    self.use(try await replica.engine.credential(for: alice), replica)
                }
                await self.house.clock.pass(.seconds(3_060))
                #expect(try await self.house.record()?.failureRecord?.retryIn == .seconds(200))
                let refused = self.house.clock.now

                try await until("the refresh", within: .seconds(300)) {
                    first.events.count == 2 && second.events.count == 2
                }
                #expect(refused.duration(to: self.house.clock.now) == .seconds(200))
                #expect(self.provider.spent.count == 2)
                #expect(self.provider.mostAtOnce == 1)
            }
        }
    }

    @Test func `a token is minted at first use under one claim and replaced while it is in use`() async throws {
        let (grant, limits) = (AccountGrant.clientCredentials, self.onlyAppointments)
        try await self.house.withReplica(self.provider, grant: grant, limits: limits) { first in
            try await self.house.withReplica(self.provider, grant: grant, limits: limits) { second in
                let status = await first.engine.status(of: alice)
                #expect(status?.state == .expired)
                #expect(self.provider.minted == 0)

                self.provider.hold()
                let answers = [first.ask(), first.ask(), second.ask()]
                try await until("the mint") { self.provider.heldCount == 1 }
                self.provider.release()
                for answer in answers { #expect(await answer.value.generation == Generation(1)) }
                #expect(self.provider.minted == 1)

                self.use(try await first.engine.credential(for: alice), first)
                try await until("the next", within: .seconds(7_200)) { first.events.count == 2 }
                #expect(self.provider.minted == 2)

                // Nobody uses the second token.
                await self.house.clock.pass(.seconds(200_000))
                let refreshed = await first.engine.refreshNow(alice)
                #expect(refreshed?.state == .valid)
                #expect(self.provider.minted == 3)
            }
        }
    }

    @Test func `an account that mints accepts no import`() async throws {
        try await self.house.withReplica(self.provider, grant: .clientCredentials) { replica in
            let error = await #expect(throws: AccountChangeError.self) {
                try await replica.engine.importTokens(Secret("rt-0"), for: alice)
            }
            #expect(error?.code == .minted)
            let record = try await self.house.record()
            #expect(record == nil)
        }
    }

    @Test func `I7_tokens issued to another client are not sent until they are adopted`() async throws {
        try await self.house.put(
            .expired().with {
                $0.binding.clientID = "old-app"
                $0.failureRecord = .sample(tries: 3, dead: true, reason: "refused.no_known_reason")
            }
        )
        try await self.house.withReplica(self.provider) { replica in
            let refused = await replica.ask().value
            let forced = await replica.engine.refreshNow(alice)
            #expect(refused == .error(.reauthorizationRequired))
            #expect(forced?.state == .reauthorizationRequired)
            #expect(forced?.lastError == "bound_elsewhere")
            #expect(self.provider.spent.isEmpty)

            try await replica.engine.adopt(alice)

            let served = await replica.ask().value
            #expect(served.generation == Generation(2))
            #expect(self.provider.spent == ["rt-0"])
            #expect(try await self.house.record()?.binding == .acme)
            let version = try await self.house.vault.read(alice)?.version
            try await replica.engine.adopt(alice)
            #expect(try await self.house.vault.read(alice)?.version == version)
            #expect(self.house.log.lines.count { $0.contains("tokens were adopted") } == 1)
        }
    }

    @Test func `an adoption keeps the knowledge that the refresh token may be spent`() async throws {
        try await self.house.put(
            .expired().with {
                $0.binding.provider = ProviderID("old")
                $0.failureRecord = .sample(spent: .maybe, retryIn: .seconds(30), reason: "ambiguous.timed_out")
            }
        )
        try await self.house.withReplica(self.provider) { replica in
            try await replica.engine.adopt(alice)
            let failureRecord = try await self.house.record()?.failureRecord
            #expect(failureRecord?.spent == .maybe)
            #expect(failureRecord?.retryIn == .zero)
        }
    }

    @Test func `an abandoned claim beside a valid token is not shown as a refresh forever`() async throws {
        try await self.house.put(.valid().with { $0.claim = FlightBench.others })
        try await self.house.withReplica(self.provider) { replica in
            let first = await replica.engine.status(of: alice)
            await self.house.clock.pass(.seconds(13))
            let later = await replica.engine.status(of: alice)
            #expect(first?.state == .refreshing)
            #expect(later?.state == .valid)
        }
    }

    @Test func `an abandoned claim is broken when the token in use expires, before anybody asks`() async throws {
        try await self.house.put(.valid().with { $0.claim = FlightBench.others })
        try await self.house.withReplica(self.provider) { replica in
            let first = try await replica.engine.credential(for: alice)
            self.use(first, replica)
            await self.house.clock.pass(.seconds(3_500))
            try await until("the refresh", within: .seconds(300)) {
                if case .installed(let credential)? = replica.events.last {
                    return credential.generation == Generation(2)
                }
                return false
            }
            #expect(self.provider.spent == ["rt-0"])
            #expect(self.house.clock.now >= first.usableUntil)
        }
    }

    @Test func `a hundred accounts that are due together are all refreshed, a few at a time`() async throws {
        let accounts = (0..<100).map { AccountID("a\($0)") }
        for account in accounts {
            try await self.house.put(.valid().with { $0.tokens?.refreshToken = Secret("rt-\(account)") }, for: account)
        }
        self.provider.answerAll(with: .success(.sample()))
        self.provider.hold()
        try await self.house.withReplica(self.provider, accounts: accounts) { replica in
            for account in accounts {
                let credential = try await replica.engine.credential(for: account)
                replica.engine.used(TokenVersion(credential), of: account)
            }
            await self.house.clock.pass(.seconds(3_060))
            #expect(self.provider.heldCount == Agenda.mostBackgroundJobs)
            self.provider.release()
            try await until("all") { self.provider.spent.count == 100 }
            #expect(self.provider.mostAtOnce <= Agenda.mostBackgroundJobs)
            #expect(Set(self.provider.spent).count == 100)
        }
    }

    @Test func `a provider that hangs does not delay the refreshes of other providers`() async throws {
        // Given two providers, of which the first has more accounts than errands and does not respond,
        let other = ProviderID("globex")
        let healthy = ScriptedTokenEndpoint()
        let hung = (0..<40).map { AccountID("a\($0)") }
        let well = (0..<10).map { AccountID("b\($0)") }
        for account in hung { try await self.house.put(.valid(), for: account) }
        for account in well {
            try await self.house.put(
                .valid().with {
                    $0.binding.provider = other
                    $0.tokens?.refreshToken = Secret("rt-\(account)")
                },
                for: account
            )
        }
        self.provider.answerAll(with: .success(.sample()))
        self.provider.hold()
        healthy.answerAll(with: .success(.sample()))
        let plans =
            hung.map { AccountConfiguration(account: $0, provider: acme, endpoint: self.provider) }
            + well.map { AccountConfiguration(account: $0, provider: other, endpoint: healthy) }
        try await self.house.withReplica(plans, of: [self.provider, healthy]) { replica in
            // when all are due together,
            for account in hung + well {
                let credential = try await replica.engine.credential(for: account)
                replica.engine.used(TokenVersion(credential), of: account)
            }
            await self.house.clock.pass(.seconds(3_060))

            // then all accounts of the second are refreshed at once, and only a few of the first are tried.
            #expect(Set(healthy.spent).count == 10)
            #expect(self.provider.mostAtOnce <= Agenda.mostBackgroundJobs)

            // And when the first provider responds at last, its other accounts are refreshed too.
            self.provider.release()
            try await until("all of the other") { self.provider.spent.count == 40 }
        }
    }

    @Test func `no refresh begins while the process is stopping`() async throws {
        try await self.house.put(.valid())
        try await self.house.withReplica(self.provider) { replica in
            self.use(try await replica.engine.credential(for: alice), replica)
            replica.engine.stop()
            await self.house.clock.pass(.seconds(3_100))
            await replica.running.value
            #expect(self.provider.spent.isEmpty)
        }
    }
}
