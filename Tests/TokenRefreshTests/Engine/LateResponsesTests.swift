import OAuth
import Simulation
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// A provider that rotates the refresh token at once and responds long after callers have given up.
@Suite(.simulated) struct LateResponsesTests {
    private let house = Cluster()
    private let provider = ScriptedTokenEndpoint(answerTimeout: .seconds(60))

    @Test func `callers get an error at the timeout, and tokens that come after 55 s are kept`() async throws {
        try await self.house.put(.expired())
        self.provider.hold()
        try await self.house.withReplica(self.provider) { replica in
            let early = replica.ask()
            try await until("the use") { self.provider.heldCount == 1 }
            await self.house.clock.pass(.seconds(8))
            let told = await early.value
            await self.house.clock.pass(.seconds(47))

            self.provider.release()
            try await until("the commit") { try await self.house.record()?.generation == Generation(2) }
            let served = await replica.ask().value

            #expect(told == .error(.refreshFailed))
            #expect(served.generation == Generation(2))
            #expect(self.provider.spent == ["rt-0"])
        }
    }

    @Test func `another replica sends the same refresh token only after the claim's whole term`() async throws {
        try await self.house.put(.expired())
        self.provider.hold()
        try await self.house.withReplica(self.provider) { first in
            _ = first.ask()
            try await until("the use") { self.provider.heldCount == 1 }
            let claim = try await self.house.record()?.claim
            #expect(claim?.standsFor == .seconds(64))
            try await self.house.withReplica(self.provider) { second in
                let begin = self.house.clock.now
                #expect(await second.ask().value == .error(.refreshFailed))
                #expect(begin.duration(to: self.house.clock.now) == .seconds(8))
                try await until("the claim to be broken", within: .seconds(120)) { self.provider.spent.count == 2 }
                #expect(begin.duration(to: self.house.clock.now) == .seconds(64))
            }
        }
    }

    @Test func `an errand that waits longer than callers do does not keep other errands from beginning`() async throws {
        let accounts = (0..<Agenda.mostBackgroundJobs + 1).map { AccountID("account-\($0)") }
        for account in accounts {
            try await self.house.put(.valid().with { $0.tokens?.lifetime = .zero }, for: account)
        }
        self.provider.hold()
        let timing = RefreshTiming(keepAlive: .seconds(60))
        try await self.house.withReplica(self.provider, accounts: accounts, timing: timing) { _ in
            try await until("as many as may be at once", within: .seconds(120)) {
                self.provider.heldCount >= Agenda.mostBackgroundJobs
            }
            try await until("one more", within: .seconds(20)) {
                self.provider.heldCount == Agenda.mostBackgroundJobs + 1
            }
        }
    }

    @Test func `a stop waits for the response to a request that was sent, and keeps its tokens`() async throws {
        try await self.house.put(.expired())
        self.provider.hold()
        try await self.house.withReplica(self.provider) { replica in
            let early = replica.ask()
            try await until("the use") { self.provider.heldCount == 1 }
            await self.house.clock.pass(.seconds(8))
            _ = await early.value
            replica.engine.stop()
            await self.house.clock.pass(.seconds(40))

            self.provider.release()
            await replica.running.value

            #expect(try await self.house.record()?.generation == Generation(2))
            #expect(self.provider.spent == ["rt-0"])
        }
    }

    @Test func `a process that stops does not send a refresh token a second time`() async throws {
        try await self.house.put(.expired())
        self.provider.answer(.ambiguous(.timedOut))
        self.provider.hold()
        try await self.house.withReplica(self.provider) { replica in
            _ = replica.ask()
            try await until("the use") { self.provider.heldCount == 1 }
            replica.engine.stop()
            self.provider.release()
            await replica.running.value

            let record = try await self.house.record()
            #expect(self.provider.spent == ["rt-0"])
            #expect(record?.claim == nil)
            #expect(record?.failureRecord?.spent == .maybe)
        }
    }
}
