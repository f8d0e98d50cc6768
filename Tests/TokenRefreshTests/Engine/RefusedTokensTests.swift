import OAuth
import Simulation
import TestKit
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// Requests to which an upstream responded 401.
@Suite(.simulated) struct RefusedTokensTests {
    private let house = Cluster()
    private let provider = ScriptedTokenEndpoint()

    @Test func `I11_a hundred 401s for one generation cause one refresh`() async throws {
        try await self.house.put(.valid())
        try await self.house.withReplica(self.provider) { replica in
            _ = try await replica.engine.credential(for: alice)
            let answers = (0..<100).map { _ in replica.ask(refused: Generation(1)) }
            for answer in answers { #expect(await answer.value.generation == Generation(2)) }
            #expect(self.provider.spent == ["rt-0"])
        }
    }

    /// Simulates a request to an upstream that responds 401 to it and to its replay.
    ///
    /// - Parameter isReplayed: whether the request's body could be sent again.
    private func requestInVain(_ replica: Replica, isReplayed: Bool = true) async throws {
        let current = try await replica.engine.credential(for: alice)
        let next = try await replica.engine.credential(for: alice, refused: current.generation)
        if isReplayed, next.generation != current.generation {
            replica.engine.refusedAgain(TokenVersion(next), for: alice)
        }
    }

    @Test func `I11_an upstream that always responds 401 causes at most one refresh per minute`() async throws {
        try await self.house.put(.valid())
        try await self.house.withReplica(self.provider) { replica in
            for _ in 0..<600 {
                try await self.requestInVain(replica)
                await self.house.clock.pass(.seconds(1))
            }
            #expect((9...10).contains(self.provider.spent.count))
        }
    }

    @Test(arguments: [true, false])
    func `I11_such an upstream causes at most one refresh per minute and replica if two replicas meet it`(
        isReplayed: Bool
    ) async throws {
        try await self.house.put(.valid())
        try await self.house.withReplica(self.provider) { one in
            try await self.house.withReplica(self.provider) { other in
                for second in 0..<600 {
                    try await self.requestInVain(second.isMultiple(of: 2) ? one : other, isReplayed: isReplayed)
                    await self.house.clock.pass(.seconds(1))
                }
                #expect((9...20).contains(self.provider.spent.count))
            }
        }
    }

    @Test func `a refresh that fails after a 401 is an error only for the caller with the 401`() async throws {
        try await self.house.put(.valid())
        self.provider.answer(.throttled(retryAfter: .seconds(60)))
        try await self.house.withReplica(self.provider) { replica in
            _ = try await replica.engine.credential(for: alice)
            let refused = await replica.ask(refused: Generation(1)).value
            let again = await replica.ask(refused: Generation(1)).value
            let other = await replica.ask().value
            #expect(refused == .error(.refreshFailed))
            #expect(again == .error(.refreshFailed))
            #expect(other.generation == Generation(1))
            #expect(self.provider.spent == ["rt-0"])
        }
    }

    @Test func `a 401 to a generation that another replica has replaced costs a read, not a refresh`() async throws {
        // This store sends no hints of changes.
        let house = Cluster(store: FaultyTokenStore(hints: false))
        try await house.put(.valid())
        try await house.withReplica(self.provider) { replica in
            _ = try await replica.engine.credential(for: alice)
            try await house.put(.valid(generation: 2))
            let answer = await replica.ask(refused: Generation(1)).value
            #expect(answer.generation == Generation(2))
            #expect(self.provider.spent.isEmpty)
        }
    }
}
