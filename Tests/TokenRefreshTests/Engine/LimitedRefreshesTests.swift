import Simulation
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// An account that has reached its refresh limit.
@Suite(.simulated) struct LimitedRefreshesTests {
    private let house = Cluster()
    private let provider = ScriptedTokenEndpoint()

    @Test func `a refresh beyond the limit reports that the gateway held it back`() async throws {
        try await self.house.put(.valid())
        try await self.house.withReplica(self.provider) { replica in
            for _ in 0..<5 { #expect(await replica.engine.refreshNow(alice)?.lastError == nil) }
            let spent = self.provider.spent
            let held = await replica.engine.refreshNow(alice)
            #expect(held?.state == .valid)
            #expect(held?.lastError == "refresh_limit")
            // The limit ends within seconds, so it is no issue.
            #expect(held?.issue == nil)
            #expect(self.provider.spent == spent)
        }
    }

    @Test func `an import lifts the refresh limit, since its grant was not refreshed yet`() async throws {
        // Given an account that has reached its refresh limit
        try await self.house.put(.valid())
        try await self.house.withReplica(self.provider) { replica in
            for _ in 0..<5 { _ = await replica.engine.refreshNow(alice) }
            #expect(await replica.engine.refreshNow(alice)?.lastError == "refresh_limit")

            // When tokens are imported
            try await replica.engine.importTokens(Secret("rt-5"), for: alice)

            // Then they are refreshed at first use, and with a full limit
            let answer = await replica.ask().value
            #expect(answer.generation == Generation(1))
            try await replica.hasLanded()
            for _ in 0..<4 { #expect(await replica.engine.refreshNow(alice)?.lastError == nil) }
            #expect(await replica.engine.refreshNow(alice)?.lastError == "refresh_limit")
        }
    }
}
