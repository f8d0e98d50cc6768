import OAuth
import Simulation
import TestKit
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// Callers of one or several replicas with one store and one provider.
@Suite(.simulated) struct RefreshEngineTests {
    private let house = Cluster()
    private let provider = ScriptedTokenEndpoint()

    @Test func `a valid token is returned without asking the provider`() async throws {
        try await self.house.put(.valid())
        try await self.house.withReplica(self.provider) { replica in
            let credential = try await replica.engine.credential(for: alice)

            #expect(credential.generation == Generation(1))
            #expect(credential.accessToken == Secret("at-0"))
            #expect(credential.observedEpoch == Epoch(7))
            #expect(self.provider.spent.isEmpty)
            #expect(replica.events == [.installed(credential)])
        }
    }

    @Test func `an expired token is refreshed once and then returned at once`() async throws {
        try await self.house.put(.expired())
        try await self.house.withReplica(self.provider) { replica in
            let first = try await replica.engine.credential(for: alice)
            let second = try await replica.engine.credential(for: alice)

            #expect(first == second)
            #expect(first.generation == Generation(2))
            #expect(first.accessToken == Secret("at-1"))
            #expect(first.usableUntil == self.house.clock.now.advanced(by: .seconds(3_600)))
            #expect(self.provider.spent == ["rt-0"])
            #expect(replica.events.last == .installed(first))
        }
    }

    @Test func `I1_two replicas that need a token at the same time send one refresh`() async throws {
        try await self.house.put(.expired())
        self.provider.hold()
        try await self.house.withReplica(self.provider) { first in
            try await self.house.withReplica(self.provider) { second in
                let answers = [first.ask(), second.ask(), first.ask(), second.ask()]
                try await until("the refresh to reach the provider") { self.provider.heldCount == 1 }
                // The other replica reads the record a few times, sees the claim and waits.
                for _ in 0..<8 { await self.house.clock.step() }
                #expect(self.provider.spent == ["rt-0"])

                self.provider.release()

                for answer in answers { #expect(await answer.value.generation == Generation(2)) }
                #expect(self.provider.spent == ["rt-0"])
            }
        }
    }

    @Test func `I1_three replicas with many 401s send one refresh per refused generation`() async throws {
        try await self.house.put(.valid())
        let rounds = 4
        try await self.house.withReplica(self.provider) { a in
            try await self.house.withReplica(self.provider) { b in
                try await self.house.withReplica(self.provider) { c in
                    for round in 1...rounds {
                        var answers: [Asked] = []
                        for replica in [a, b, c] {
                            replica.engine.accepted(Generation(UInt64(round)), for: alice)
                            for _ in 0..<5 { answers.append(replica.ask(refused: Generation(UInt64(round)))) }
                        }
                        for answer in answers {
                            #expect(await answer.value.generation == Generation(UInt64(round + 1)))
                        }
                        await self.house.clock.pass(.seconds(1))
                    }
                }
            }
        }
        #expect(self.provider.spent == (0..<rounds).map { "rt-\($0)" })
        #expect(self.provider.mostAtOnce == 1)
    }

    @Test func `I2_a success is stored even if another replica declared the grant dead meanwhile`() async throws {
        let slow = self.provider
        try await self.house.put(.expired())
        slow.hold()
        // The same provider as another replica sees it: rt-0 is spent.
        let other = ScriptedTokenEndpoint()
        other.answer(.dead(.code("invalid_grant")))
        try await self.house.withReplica(slow) { first in
            try await self.house.withReplica(other) { second in
                let waits = first.ask()
                try await until("the first use") { slow.heldCount == 1 }
                _ = second.ask()
                try await until("the second use", within: .seconds(20)) { !other.spent.isEmpty }
                let died = await second.ask().value
                #expect(died == .error(.reauthorizationRequired))
                #expect(try await self.house.record()?.failureRecord?.dead == true)

                slow.release()

                // By then the first replica's caller has got a timeout error.
                _ = await waits.value
                try await until("the success to stand") { try await self.house.record()?.generation == Generation(2) }
                let record = try await self.house.record()
                #expect(record?.failureRecord == nil)
                #expect(record?.tokens?.refreshToken == Secret("rt-1"))
                try await until("the other replica to see it") { await second.ask().value.generation == Generation(2) }
            }
        }
    }

    @Test func `a claim that the store rejected does not hide another process's write of its version`() async throws {
        try await self.house.put(.valid())
        try await self.house.withReplica(self.provider) { replica in
            _ = try await replica.engine.credential(for: alice)
            await self.house.clock.settle()
            self.house.store.fail(.full)
            let refused = await replica.engine.refreshNow(alice)
            #expect(refused?.refreshError != nil)
            self.house.store.recover()

            try await self.house.put(.valid(grant: GrantID("imported")))

            // The hint is heeded at once.
            await self.house.clock.settle()
            #expect(try await replica.engine.credential(for: alice).grant == GrantID("imported"))
            #expect(self.provider.spent.isEmpty)
        }
    }

    @Test func `no refresh token is spent if the store is unreachable when a token is needed`() async throws {
        try await self.house.put(.expired())
        self.house.store.fail(.away)
        try await self.house.withReplica(self.provider) { replica in
            let away = await replica.ask().value
            self.house.store.fail(.full)
            await self.house.clock.pass(.seconds(1))
            let full = await replica.ask().value
            self.house.store.recover()
            await self.house.clock.pass(.seconds(1))
            let back = await replica.ask().value

            #expect(away == .error(.storeLost))
            #expect(full == .error(.storeLost))
            #expect(back.generation == Generation(2))
            #expect(self.provider.spent == ["rt-0"])
        }
    }

    @Test func `I23_a valid token is used while the store is unreachable, but not after its expiry`() async throws {
        try await self.house.put(.valid())
        try await self.house.withReplica(self.provider) { replica in
            _ = try await replica.engine.credential(for: alice)
            try await replica.hasLanded()
            self.house.store.fail(.away)
            await self.house.clock.pass(.seconds(3_600) - .nanoseconds(1))
            #expect(await replica.ask().value.generation == Generation(1))
            await self.house.clock.pass(.nanoseconds(1))
            #expect(await replica.ask().value == .error(.storeLost))
        }
    }
}
