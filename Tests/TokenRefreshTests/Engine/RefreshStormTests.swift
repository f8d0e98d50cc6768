import OAuth
import Simulation
import Synchronization
import TestKit
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// The tokens of many accounts have ended, and more refreshes are due than the provider's rate lets through.
@Suite(.simulated) struct RefreshStormTests {
    private let house = Cluster()
    private let provider: FamilyTokenEndpoint
    private let rate = RefreshRate(perSecond: 50, burst: 50)

    init() { self.provider = FamilyTokenEndpoint(self.house.clock) }

    /// What callers got, and when.
    private final class Answers: Sendable {
        struct Refusal: Sendable {
            let at: BootInstant
            let retryAfter: Duration
        }

        private let state = Mutex<(refusals: [AccountID: Refusal], served: Set<AccountID>)>(([:], []))

        var refusals: [AccountID: Refusal] { self.state.withLock { $0.refusals } }
        var served: Set<AccountID> { self.state.withLock { $0.served } }

        /// Asks for the credential of each account, all at once.
        @discardableResult
        func ask(_ accounts: [AccountID], _ replica: Replica) -> [Task<Void, Never>] {
            accounts.map { account in
                Task(executorPreference: Simulation.running) {
                    do throws(CredentialError) {
                        _ = try await replica.engine.credential(for: account)
                        self.state.withLock { _ = $0.served.insert(account) }
                    } catch {
                        let refusal = Refusal(at: Simulation.running.now, retryAfter: error.retryAfter ?? .zero)
                        self.state.withLock { $0.refusals[account] = refusal }
                    }
                }
            }
        }
    }

    private func put(_ accounts: [AccountID]) async throws {
        for account in accounts { try await self.house.put(.member(account), for: account) }
    }

    private func customers() throws -> AccountFamilyConfiguration { try .customers(at: self.provider, rate: self.rate) }

    /// Never more arrivals than a full bucket and the rate since `start` allow.
    private func checkRate(since start: BootInstant) {
        for (index, arrival) in self.provider.arrivals.enumerated() {
            let allowed = 50 + start.duration(to: arrival.at) / .seconds(1) * 50
            #expect(Double(index + 1) <= allowed + 1, "\(index + 1) arrivals after \(start.duration(to: arrival.at))")
        }
    }

    @Test func `a thousand accounts are refreshed at the rate, each once, in the order in which they were asked for`()
        async throws
    {
        // The names are sorted otherwise than the waves come.
        let first = (0..<700).map { AccountID("customer-z\($0)") }
        let second = (0..<300).map { AccountID("customer-a\($0)") }
        try await self.put(first + second)
        try await self.house.withFamily(self.customers()) { replica in
            let (start, answers) = (self.house.clock.now, Answers())
            // Given a first wave, of which some find a place within their patience
            answers.ask(first, replica)
            try await until("all that were turned away to know") { answers.refusals.count == 700 - 450 }
            // And a second one a moment later
            await self.house.clock.pass(.milliseconds(1))
            answers.ask(second, replica)
            try await until("all that were turned away to know") { answers.refusals.count == 1_000 - 450 }
            try await until("those with a place to wait for it") { replica.engine.flightCount == 400 }
            let refusals = answers.refusals
            // When they ask again meanwhile, none costs a call of the store or the provider
            let calls = self.house.store.calls.count
            let (again, sent) = (Answers(), self.provider.arrivals.count)
            for task in again.ask(Array(refusals.keys), replica) { await task.value }
            #expect(again.refusals.count == 550)
            #expect(self.house.store.calls.count == calls)
            #expect(self.provider.arrivals.count == sent)

            // Then all are refreshed, each once
            try await until("all refreshes", within: .seconds(300)) { self.provider.arrivals.count >= 1_000 }
            try await replica.hasLanded()
            let arrivals = self.provider.arrivals
            #expect(Set(arrivals.map(\.account)).count == 1_000)
            #expect(arrivals.count == 1_000)
            #expect(self.provider.spentTwice.isEmpty)
            self.checkRate(since: start)
            // At the rate, and not below.
            #expect(start.duration(to: self.house.clock.now) < .seconds(30))
            // Those of the first wave come before those of the second.
            let waves = arrivals.map(\.account).filter { refusals[$0] != nil }
                .map { $0.rawValue.hasPrefix("customer-z") }
            let lastOfFirst = try #require(waves.lastIndex(of: true))
            let firstOfSecond = try #require(waves.firstIndex(of: false))
            // As many are in progress at once as may begin in two seconds.
            #expect(lastOfFirst - firstOfSecond < 100)
            // What they were told was true. Those of one wave were told at the same time, so any of them may come first.
            for wave in [first, second] {
                let members = Set(wave)
                let told = wave.compactMap { refusals[$0]?.retryAfter }.sorted()
                let waits = arrivals.compactMap { arrival in
                    members.contains(arrival.account) ? refusals[arrival.account]?.at.duration(to: arrival.at) : nil
                }
                for (told, wait) in zip(told, waits.sorted()) {
                    let error = max(told - wait, wait - told)
                    #expect(error <= told / 10 + .milliseconds(500), "\(told) told, \(wait) waited")
                }
            }
            let longest = try #require(refusals.values.map(\.retryAfter).max())
            #expect(longest > .seconds(17) && longest < .seconds(22), "\(longest)")
        }
    }

    @Test func `accounts in use are refreshed before those that nobody uses`() async throws {
        let used = (0..<60).map { AccountID("customer-z\($0)") }
        let unused = (0..<60).map { AccountID("customer-a\($0)") }
        for account in used + unused {
            // All are due at the start, those in use by their token, the others to be kept alive.
            let record = AccountRecord.member(account, isValid: true).with {
                $0.tokens?.receivedAt = Moment.start.wall.advanced(by: .seconds(-80_000))
                $0.tokens?.lifetime = .seconds(83_000)
            }
            try await self.house.put(record, for: account)
        }
        let family = try AccountFamilyConfiguration.customers(
            at: self.provider,
            timing: RefreshTiming(keepAlive: .seconds(79_000)),
            rate: RefreshRate(perSecond: 10, burst: 1)
        )
        try await self.house.withFamily(family, random: { 0 }) { replica in
            for account in used {
                let credential = try await replica.engine.credential(for: account)
                replica.engine.used(TokenVersion(credential), of: account)
            }
            try await until("all refreshes", within: .seconds(700)) { self.provider.arrivals.count == 120 }
            let order = self.provider.refreshed.map { $0.rawValue.hasPrefix("customer-z") }
            let lastUsed = try #require(order.lastIndex(of: true))
            // Some refreshes of the others have begun before anybody used these.
            #expect(lastUsed < 60 + 2 * Agenda.mostBackgroundJobs)
        }
    }

    @Test func `given a provider that fails in the middle, all accounts are refreshed in the end`() async throws {
        let accounts = (0..<700).map { AccountID.customer($0) }
        try await self.put(accounts)
        try await self.house.withFamily(self.customers()) { replica in
            let answers = Answers()
            let asked = answers.ask(accounts, replica)
            try await until("some refreshes", within: .seconds(300)) { self.provider.arrivals.count >= 200 }
            self.provider.answerAll(with: .notSent(.connectFailed))
            try await until("some failures", within: .seconds(300)) { self.provider.arrivals.count >= 220 }
            for one in asked { await one.value }
            self.provider.answerAll(with: nil)
            // The callers come again, as long as it takes.
            var left = accounts
            for _ in 0..<60 where !left.isEmpty {
                let round = Answers()
                for one in round.ask(left, replica) { await one.value }
                left.removeAll(where: round.served.contains)
                await self.house.clock.pass(.seconds(2))
            }
            #expect(left.isEmpty)
            #expect(self.provider.spentTwice.isEmpty)
            #expect(replica.engine.waiterCount == 0)
        }
    }

    @Test func `given another replica that refreshes some accounts, these are not refreshed again`() async throws {
        let accounts = (0..<650).map { AccountID.customer($0) }
        try await self.put(accounts)
        try await self.house.withFamily(self.customers()) { replica in
            let answers = Answers()
            answers.ask(accounts, replica)
            try await until("all that were turned away to know") { answers.refusals.count == 200 }
            let (done, left) = (Array(answers.refusals.keys.prefix(100)), 550)
            for account in done {
                let record = AccountRecord.member(account, isValid: true).with { $0.generation = Generation(2) }
                try await self.house.put(record, for: account)
            }
            for account in done {
                try await until("its token") { await replica.ask(account).value.generation == Generation(2) }
            }
            try await until("the others", within: .seconds(300)) { self.provider.arrivals.count >= left }
            try await replica.hasLanded()
            #expect(self.provider.arrivals.count == left)
            #expect(Set(self.provider.refreshed).isDisjoint(with: done))
        }
    }

    @Test func `a minted account that was turned away gets its token in its turn`() async throws {
        let minter = ScriptedTokenEndpoint()
        let accounts = (0..<40).map { AccountID("minted-\($0)") }
        let plans = accounts.map {
            AccountConfiguration(
                account: $0,
                provider: acme,
                grant: .clientCredentials,
                endpoint: minter,
                rate: RefreshRate(perSecond: 1, burst: 1)
            )
        }
        try await self.house.withReplica(plans, of: [minter]) { replica in
            var left = accounts
            for _ in 0..<20 where !left.isEmpty {
                let round = Answers()
                for one in round.ask(left, replica) { await one.value }
                left.removeAll(where: round.served.contains)
                await self.house.clock.pass(.seconds(5))
            }
            #expect(left.isEmpty)
            #expect(minter.minted == 40)
        }
    }
}
