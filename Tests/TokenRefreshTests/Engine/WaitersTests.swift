import OAuth
import TestKit
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// Callers that wait for a flight: many of them, up to a deadline, or until they are cancelled.
@Suite struct WaitersTests {
    private let house = Cluster()
    private let provider = ScriptedTokenEndpoint()

    @Test func `I14_ten thousand waiters share one refresh and all are served`() async throws {
        try await self.house.put(.expired())
        self.provider.hold()
        try await self.house.withReplica(self.provider) { replica in
            let answers = (0..<10_000).map { _ in replica.ask() }
            try await eventually("all to wait", limit: .seconds(60)) { replica.engine.waiterCount == 10_000 }
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
            try await eventually("all to wait") { replica.engine.waiterCount == 500 }
            for (index, answer) in answers.enumerated() where index.isMultiple(of: 2) { answer.cancel() }
            try await eventually("half to be gone") { replica.engine.waiterCount == 250 }

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

    @Test func `I14_a flight that nobody waits for any more still stores its tokens`() async throws {
        try await self.house.put(.expired())
        self.provider.hold()
        try await self.house.withReplica(self.provider) { replica in
            let answer = replica.ask()
            try await eventually("the use") { self.provider.heldCount == 1 }
            answer.cancel()
            let gone = await answer.value
            #expect(gone == .error(.refreshFailed))

            self.provider.release()

            try await eventually("the commit") { try await self.house.record()?.generation == Generation(2) }
        }
    }

    @Test func `I14_a flight that nobody waits for goes on through an outage of the store`() async throws {
        try await self.house.put(.expired())
        self.provider.hold()
        try await self.house.withReplica(self.provider) { replica in
            let answer = replica.ask()
            try await eventually("the use") { self.provider.heldCount == 1 }
            self.house.store.fail(.full)
            self.provider.release()
            try await eventually("a refused commit") { self.house.store.failedWrites > 0 }
            answer.cancel()
            _ = await answer.value
            for _ in 0..<5 { try await self.house.clock.advanceToSleeper(within: .milliseconds(400)) }
            self.house.store.recover()
            try await self.house.clock.advance(bySleepersWithin: .milliseconds(400), until: "the commit") {
                try await self.house.record()?.generation == Generation(2)
            }
            #expect(self.provider.spent == ["rt-0"])
        }
    }

    @Test func `a caller that is cancelled before it asks does not wait`() async throws {
        try await self.house.put(.expired())
        try await self.house.withReplica(self.provider) { replica in
            let engine = replica.engine
            let cancelled = Task { () -> CredentialError.Code? in
                while !Task.isCancelled { await Task.yield() }
                do throws(CredentialError) {
                    _ = try await engine.credential(for: alice)
                    return nil
                } catch {
                    return error.code
                }
            }
            cancelled.cancel()
            let code = await cancelled.value
            #expect(code == .refreshFailed)
            #expect(self.provider.spent.isEmpty)
            #expect(engine.waiterCount == 0)
        }
    }

    @Test func `I14_a waiter gets an error after the provider's timeout, and the flight goes on`() async throws {
        try await self.house.put(.expired())
        self.provider.hold()
        try await self.house.withReplica(self.provider) { replica in
            let early = replica.ask()
            try await eventually("the use") { self.provider.heldCount == 1 }
            self.house.clock.advance(by: .seconds(7))
            let late = replica.ask()
            try await eventually("both to wait") { replica.engine.waiterCount == 2 }
            self.house.clock.advance(by: .seconds(1))

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
            try await eventually("the use") { self.provider.heldCount == 1 }
            // Callers that join at an age of 3 s and of 8 s wait until 8 s and until 10 s.
            self.house.clock.advance(by: .seconds(3))
            let joiner = replica.ask()
            try await eventually("two to wait") { replica.engine.waiterCount == 2 }
            self.house.clock.advance(by: .seconds(5))
            let joined = await joiner.value
            let last = replica.ask()
            try await eventually("the last to wait") { replica.engine.waiterCount == 1 }
            self.house.clock.advance(by: .milliseconds(1_999))
            #expect(replica.engine.waiterCount == 1)
            try await self.house.clock.advance(bySleepersWithin: .milliseconds(1), until: "the last to be told") {
                replica.engine.waiterCount == 0
            }
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
            try await eventually("the use") { self.provider.heldCount == 1 }
            first.cancel()
            _ = await first.value
            self.house.clock.advance(by: .seconds(7))
            let second = replica.ask()
            try await eventually("it to wait") { replica.engine.waiterCount == 1 }
            // The first caller's watch finds no waiter due, and continues with the second caller's deadline.
            try await self.house.clock.advanceToSleeper(within: .seconds(1))
            #expect(replica.engine.waiterCount == 1)
            try await self.house.clock.advance(bySleepersWithin: .seconds(2), until: "the deadline") {
                replica.engine.waiterCount == 0
            }
            let told = await second.value
            #expect(told == .error(.refreshFailed))
        }
    }

    @Test func `a stop lets the flight in progress end first`() async throws {
        try await self.house.put(.expired())
        self.provider.hold()
        try await self.house.withReplica(self.provider) { replica in
            let answer = replica.ask()
            try await eventually("the use") { self.provider.heldCount == 1 }
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
            let answer = await replica.ask().value
            #expect(answer == .error(.refreshFailed))
        }
    }

    @Test func `a run that is cancelled waits for the exchange and keeps its tokens`() async throws {
        try await self.house.put(.expired())
        self.provider.hold()
        try await self.house.withReplica(self.provider) { replica in
            let answer = replica.ask()
            try await eventually("the use") { self.provider.heldCount == 1 }
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
            try await eventually("the use") { self.provider.heldCount == 1 }
            self.house.store.fail(.full)
            self.provider.release()
            try await eventually("a refused commit") { self.house.store.failedWrites > 0 }
            replica.running.cancel()
            let told = await answer.value
            #expect(told == .error(.refreshFailed))
            await replica.running.value
        }
    }
}
