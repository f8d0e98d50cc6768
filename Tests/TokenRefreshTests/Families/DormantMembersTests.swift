import OAuth
import Simulation
import Synchronization
import TestKit
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// Members of a family that nobody uses, and those that come into use and out of it again.
@Suite(.simulated) struct DormantMembersTests {
    private let house = Cluster()
    private let provider: FamilyTokenEndpoint
    private let member = AccountID.customer(1)
    /// Limits with which little sleeps, so that days pass in a few steps.
    private let calm = RefreshLimits(rereadInterval: .seconds(3_600))
    private let day = Duration.seconds(86_400)

    init() { self.provider = FamilyTokenEndpoint(self.house.clock) }

    private func put(_ numbers: Range<Int>, _ change: (inout AccountRecord) -> Void = { _ in }) async throws {
        for number in numbers {
            try await self.house.put(AccountRecord.member(.customer(number)).with(change), for: .customer(number))
        }
    }

    @Test func `at the start one listing reads all members, and none comes into use`() async throws {
        try await self.put(0..<1_500)
        let before = self.house.store.calls.count
        try await self.house.withFamily(.customers(at: self.provider)) { replica in
            await self.house.clock.pass(.seconds(20))
            let calls = self.house.store.calls.dropFirst(before)
            // Two pages and the end, and the same again for the first comparison.
            let others = calls.filter { $0.operation != .records || $0.place != "accounts/" }
            #expect(others.isEmpty, "\(others.map { "\($0.operation) \($0.place)" })")
            #expect(calls.count <= 6)
            #expect(replica.engine.index.count == 1_500)
            #expect(replica.events.isEmpty)
            #expect(self.provider.refreshed.isEmpty)
        }
    }

    @Test func `the first request reads the record, and refreshes it if its token has expired`() async throws {
        try await self.put(1..<2)
        try await self.house.put(.member(.customer(2), isValid: true), for: .customer(2))
        try await self.house.withFamily(.customers(at: self.provider)) { replica in
            let before = self.house.store.calls.count
            #expect(await replica.ask(.customer(2)).value.generation == Generation(1))
            try await replica.hasLanded()
            #expect(self.house.store.calls.dropFirst(before).map(\.operation) == [.read])

            #expect(await replica.ask(.customer(1)).value.generation == Generation(2))
            try await replica.hasLanded()
            #expect(self.house.store.calls.dropFirst(before + 1).map(\.operation) == [.read, .write, .write])
            #expect(self.provider.refreshed == [.customer(1)])
        }
    }

    @Test func `many requests at once for an account that nobody has used share one refresh`() async throws {
        try await self.put(1..<2)
        try await self.house.withFamily(.customers(at: self.provider)) { replica in
            let asked = (0..<100).map { _ in replica.ask(self.member) }
            for one in asked { #expect(await one.value.generation == Generation(2)) }
            #expect(self.provider.refreshed == [self.member])
        }
    }

    @Test(arguments: [0.25, 1])
    func `a member is kept alive each day, at its time`(jitter: Double) async throws {
        try await self.put(1..<2)
        let family = try AccountFamilyConfiguration.customers(at: self.provider)
        try await self.house.withFamily(family, limits: self.calm, random: { jitter }) { replica in
            let start = self.house.clock.now
            for day in 1...3 {
                try await until("the refresh", within: self.day) { self.provider.refreshed.count == day }
                try await replica.hasLanded()
            }
            // The tokens came two hours before the start. Each time a day less up to a tenth passes.
            let each = Duration.seconds(86_400) - .seconds(8_640) * jitter
            let times = self.provider.arrivals.map { start.duration(to: $0.at) }
            #expect(times == (1...3).map { each * $0 - .seconds(7_200) })
            #expect(self.provider.spentTwice.isEmpty)
        }
    }

    @Test func `members that are overdue at the start are refreshed within ten minutes, spread over them`() async throws
    {
        try await self.put(0..<40) { $0.tokens?.receivedAt = Moment.start.wall.advanced(by: .seconds(-200_000)) }
        let drawn = Mutex(0)
        let random: @Sendable () -> Double = {
            drawn.withLock { number in
                number += 1
                return Double(number % 40) / 40
            }
        }
        let family = try AccountFamilyConfiguration.customers(at: self.provider)
        try await self.house.withFamily(family, limits: self.calm, random: random) { replica in
            let start = self.house.clock.now
            try await until("all refreshes", within: .seconds(600)) { self.provider.refreshed.count == 40 }
            #expect(Set(self.provider.refreshed).count == 40)
            let minutes = self.provider.arrivals.map { start.duration(to: $0.at).components.seconds / 60 }
            for minute in 0..<9 { #expect(minutes.contains(Int64(minute)), "nothing in minute \(minute)") }
        }
    }

    @Test func `a member is refreshed before its refresh token ends`() async throws {
        self.provider.issue(lifetime: .seconds(600), refreshLifetime: .seconds(7_200))
        try await self.put(1..<2) {
            $0.tokens?.receivedAt = Moment.start.wall
            $0.tokens?.refreshLifetime = .seconds(7_200)
        }
        let limits = RefreshLimits(rereadInterval: .seconds(600))
        try await self.house.withFamily(.customers(at: self.provider), limits: limits) { replica in
            let start = self.house.clock.now
            for count in 1...3 {
                try await until("the refresh", within: .seconds(7_200)) { self.provider.refreshed.count == count }
                try await replica.hasLanded()
            }
            let times = [start] + self.provider.arrivals.map(\.at)
            for (before, after) in zip(times, times.dropFirst()) {
                #expect(before.duration(to: after) < .seconds(7_200))
            }
            #expect(self.provider.spentTwice.isEmpty)
        }
    }

    @Test func `a member whose grant is dead is never sent again`() async throws {
        try await self.put(1..<2) { $0.failureRecord = .sample(dead: true, reason: "invalid_grant") }
        try await self.house.withFamily(.customers(at: self.provider), limits: self.calm) { replica in
            #expect(await replica.ask(self.member).value == .error(.reauthorizationRequired))
            await self.house.clock.pass(self.day * 2)
            #expect(self.provider.refreshed.isEmpty)
        }
    }

    // MARK: - Out of use

    private let ten = RefreshLimits(rereadInterval: .seconds(60))

    @Test func `a member retires ten minutes after its last request, when its token has ended`() async throws {
        self.provider.issue(lifetime: .seconds(300))
        try await self.put(1..<2)
        try await self.house.withFamily(.customers(at: self.provider), limits: self.ten) { replica in
            guard case .credential(let credential) = await replica.ask(self.member).value else {
                Issue.record("no credential")
                return
            }
            try await replica.hasLanded()
            await self.house.clock.pass(.seconds(540))
            #expect(!replica.events.contains(.retired(self.member)))
            await self.house.clock.pass(.seconds(180))
            #expect(replica.events.last == .retired(self.member))
            #expect(replica.events.first == .installed(credential))
            #expect(replica.engine.exists(self.member))
            #expect(self.provider.refreshed == [self.member])
        }
    }

    @Test func `a member in use stays as long as requests carry its tokens`() async throws {
        try await self.put(1..<2)
        try await self.house.withFamily(.customers(at: self.provider), limits: self.ten) { replica in
            let credential = try await replica.engine.credential(for: self.member)
            replica.engine.used(TokenVersion(credential), of: self.member)
            try await replica.hasLanded()
            // The jitter is 1, so the token is replaced after 3,060 s of its hour.
            await self.house.clock.pass(.seconds(3_000))
            #expect(replica.events == [.installed(credential)])
            await self.house.clock.pass(.seconds(120))
            let next = try await replica.engine.credential(for: self.member)
            #expect(next.generation == Generation(3))
            // Nobody uses the new token.
            await self.house.clock.pass(.seconds(780))
            #expect(replica.events == [.installed(credential), .installed(next), .retired(self.member)])
        }
    }

    @Test func `a member that is waited for does not retire`() async throws {
        let provider = ScriptedTokenEndpoint()
        try await self.house.put(.expired(), for: self.member)
        let family = try AccountFamilyConfiguration.customers(at: provider)
        try await self.house.withReplica([], families: [family], of: [provider], limits: self.ten) { replica in
            provider.hold()
            let asked = replica.ask(self.member)
            try await until("the use") { provider.heldCount == 1 }
            #expect(await asked.value == .error(.refreshFailed))
            await self.house.clock.pass(.seconds(1_800))
            #expect(!replica.events.contains(.retired(self.member)))
            provider.release()
            try await replica.hasLanded()
            #expect(try await self.house.record(of: self.member)?.generation == Generation(2))
        }
    }

    @Test func `a member with another replica's claim does not retire`() async throws {
        try await self.put(1..<2)
        try await self.house.withFamily(.customers(at: self.provider), limits: self.ten) { replica in
            let claimed = AccountRecord.member(self.member, isValid: true).with { $0.claim = FlightBench.others }
            try await self.house.put(claimed, for: self.member)
            #expect(await replica.ask(self.member).value.generation == Generation(1))
            try await replica.hasLanded()
            await self.house.clock.pass(.seconds(1_200))
            #expect(!replica.events.contains(.retired(self.member)))

            try await self.house.put(.member(self.member, isValid: true), for: self.member)
            await self.house.clock.pass(.seconds(300))
            #expect(replica.events.last == .retired(self.member))
        }
    }

    @Test(arguments: [false, true])
    func `the refresh that keeps a member alive comes at the same time, whether it was in use meanwhile or not`(
        isUsed: Bool
    ) async throws {
        try await self.house.put(.member(self.member, isValid: true), for: self.member)
        let drawn = Mutex(0.25)
        let random: @Sendable () -> Double = {
            drawn.withLock { jitter in
                defer { jitter = 1 - jitter }
                return jitter
            }
        }
        let limits = RefreshLimits(rereadInterval: .seconds(600))
        try await self.house.withFamily(.customers(at: self.provider), limits: limits, random: random) { replica in
            let start = self.house.clock.now
            if isUsed {
                for _ in 0..<2 {
                    _ = await replica.ask(self.member).value
                    try await replica.hasLanded()
                    await self.house.clock.pass(.seconds(1_300))
                    #expect(replica.events.last == .retired(self.member))
                }
            }
            try await until("the refresh", within: self.day) { !self.provider.refreshed.isEmpty }
            #expect(!isUsed || replica.events.count >= 4)
            #expect(start.duration(to: self.house.clock.now) == .seconds(86_400 - 2_160))
        }
    }

    @Test func `no token of a member that is not in use is in memory`() async throws {
        try await self.put(1..<2)
        try await self.house.withFamily(.customers(at: self.provider)) { replica in
            let known = try #require(replica.engine.index[self.member])
            var words = ""
            dump(known, to: &words)
            #expect(!words.contains("Secret"))
        }
    }
}
