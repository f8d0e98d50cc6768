import OAuth
import Simulation
import TestKit
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// Callers that wait for a flight: many of them, up to a deadline, or until they are cancelled.
@Suite(.simulated) struct WaitersTests {
    private let house = Cluster()
    private let provider = ScriptedTokenEndpoint()

    @Test func `I14_ten thousand waiters share one refresh and all are served`() async throws {
        try await self.house.put(.expired())
        self.provider.hold()
        try await self.house.withReplica(self.provider) { replica in
            let answers = (0..<10_000).map { _ in replica.ask() }
            try await until("all to wait") { replica.engine.waiterCount == 10_000 }
            let beyond = await replica.ask().value
            #expect(beyond == .error(.overloaded))

            self.provider.release()

            var served = 0
            for answer in answers where await answer.value.generation == Generation(2) { served += 1 }
            #expect(served == 10_000)
            #expect(self.provider.spent == ["rt-0"])
            #expect(replica.engine.waiterCount == 0)
        }
    }

    @Test func `I14_half of the waiters leaving changes nothing for the others`() async throws {
        try await self.house.put(.expired())
        self.provider.hold()
        try await self.house.withReplica(self.provider) { replica in
            let answers = (0..<500).map { _ in replica.ask() }
            try await until("all to wait") { replica.engine.waiterCount == 500 }
            for (index, answer) in answers.enumerated() where index.isMultiple(of: 2) { answer.cancel() }
            try await until("half to be gone") { replica.engine.waiterCount == 250 }

            self.provider.release()

            for (index, answer) in answers.enumerated() {
                let answer = await answer.value
                if index.isMultiple(of: 2) {
                    #expect(answer == .error(.refreshFailed))
                } else {
                    #expect(answer.generation == Generation(2))
                }
            }
            #expect(self.provider.spent == ["rt-0"])
        }
    }

    @Test func `I14_a flight that nobody waits for goes on through an outage of the store`() async throws {
        try await self.house.put(.expired())
        self.provider.hold()
        try await self.house.withReplica(self.provider) { replica in
            let answer = replica.ask()
            try await until("the use") { self.provider.heldCount == 1 }
            answer.cancel()
            #expect(await answer.value == .error(.refreshFailed))
            self.house.store.fail(.full)
            self.provider.release()
            try await until("some refused commits", within: .seconds(2)) { self.house.store.failedWrites >= 5 }
            self.house.store.recover()
            try await until("the commit", within: .seconds(1)) {
                try await self.house.record()?.generation == Generation(2)
            }
            #expect(self.provider.spent == ["rt-0"])
        }
    }

    @Test func `a caller that is cancelled before it asks does not wait`() async throws {
        try await self.house.put(.expired())
        try await self.house.withReplica(self.provider) { replica in
            // The request has not begun to run yet.
            let cancelled = replica.ask()
            cancelled.cancel()
            #expect(await cancelled.value == .error(.refreshFailed))
            #expect(self.provider.spent.isEmpty)
            #expect(replica.engine.waiterCount == 0)
        }
    }

    @Test func `I14_a waiter gets an error after the provider's timeout, and the flight goes on`() async throws {
        try await self.house.put(.expired())
        self.provider.hold()
        try await self.house.withReplica(self.provider) { replica in
            let early = replica.ask()
            try await until("the use") { self.provider.heldCount == 1 }
            await self.house.clock.pass(.seconds(7))
            let late = replica.ask()
            try await until("both to wait") { replica.engine.waiterCount == 2 }
            await self.house.clock.pass(.seconds(1))

            let first = await early.value
            #expect(first == .error(.refreshFailed))
            #expect(replica.engine.waiterCount == 1)

            self.provider.release()
            let second = await late.value
            #expect(second.generation == Generation(2))
        }
    }

    @Test func `a caller that joins a token request waits for the rest of the timeout, but at least for 2 s`()
        async throws
    {
        try await self.house.put(.expired())
        self.provider.hold()
        try await self.house.withReplica(self.provider) { replica in
            _ = replica.ask()
            try await until("the use") { self.provider.heldCount == 1 }
            // Callers that join at an age of 3 s and of 8 s wait until 8 s and until 10 s.
            await self.house.clock.pass(.seconds(3))
            let joiner = replica.ask()
            try await until("two to wait") { replica.engine.waiterCount == 2 }
            await self.house.clock.pass(.seconds(5))
            let joined = await joiner.value
            let last = replica.ask()
            try await until("the last to wait") { replica.engine.waiterCount == 1 }
            await self.house.clock.pass(.milliseconds(1_999))
            #expect(replica.engine.waiterCount == 1)
            await self.house.clock.pass(.milliseconds(1))
            #expect(replica.engine.waiterCount == 0)
            let told = await last.value

            #expect(joined == .error(.refreshFailed))
            #expect(told == .error(.refreshFailed))
            #expect(self.provider.spent == ["rt-0"])
        }
    }

    @Test func `I14_a caller that comes while an earlier watch over deadlines sleeps gets its error on time too`()
        async throws
    {
        try await self.house.put(.expired())
        self.provider.hold()
        try await self.house.withReplica(self.provider) { replica in
            let first = replica.ask()
            try await until("the use") { self.provider.heldCount == 1 }
            first.cancel()
            _ = await first.value
            await self.house.clock.pass(.seconds(7))
            let second = replica.ask()
            try await until("it to wait") { replica.engine.waiterCount == 1 }
            // The first caller's watch finds no waiter due, and continues with the second caller's deadline.
            await self.house.clock.pass(.milliseconds(1_999))
            #expect(replica.engine.waiterCount == 1)
            await self.house.clock.pass(.milliseconds(1))
            #expect(replica.engine.waiterCount == 0)
            #expect(await second.value == .error(.refreshFailed))
        }
    }

    @Test func `a stop lets the flight in progress end first`() async throws {
        try await self.house.put(.expired())
        self.provider.hold()
        try await self.house.withReplica(self.provider) { replica in
            let answer = replica.ask()
            try await until("the use") { self.provider.heldCount == 1 }
            replica.engine.stop()
            let late = await replica.ask().value
            #expect(late == .error(.refreshFailed))

            self.provider.release()

            let served = await answer.value
            #expect(served.generation == Generation(2))
            await replica.running.value
            let still = await replica.ask().value
            #expect(still.generation == Generation(2))
        }
    }

    @Test func `an idle engine stops at once`() async throws {
        try await self.house.withReplica(self.provider) { replica in
            replica.engine.stop()
            await replica.running.value
            #expect(await replica.ask().value == .error(.refreshFailed))
            #expect(self.house.clock.now == Moment.start.boot)
        }
    }

    @Test func `a run that is cancelled waits for the exchange and keeps its tokens`() async throws {
        try await self.house.put(.expired())
        self.provider.hold()
        try await self.house.withReplica(self.provider) { replica in
            let answer = replica.ask()
            try await until("the use") { self.provider.heldCount == 1 }
            replica.running.cancel()
            self.provider.release()
            await replica.running.value
            _ = await answer.value
            #expect(try await self.house.record()?.generation == Generation(2))
        }
    }

    @Test func `a run that is cancelled while the store rejects writes gives every waiter an error`() async throws {
        try await self.house.put(.expired())
        self.provider.hold()
        try await self.house.withReplica(self.provider) { replica in
            let answer = replica.ask()
            try await until("the use") { self.provider.heldCount == 1 }
            self.house.store.fail(.full)
            self.provider.release()
            try await until("a refused commit") { self.house.store.failedWrites > 0 }
            replica.running.cancel()
            let told = await answer.value
            #expect(told == .error(.refreshFailed))
            await replica.running.value
        }
    }
}
