import OAuth
import Simulation
import TestKit
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// The log entries about refreshes, for any cause of the refresh.
@Suite(.simulated) struct RefreshLogTests {
    private let house = Cluster()
    private let provider = ScriptedTokenEndpoint()

    private func lines(_ level: String, _ text: String) -> [String] {
        self.house.log.lines.filter { $0.hasPrefix("\(level) \(text) ") }
    }

    @Test func `a refresh causes one log entry with account, provider, generation and expiry`() async throws {
        try await self.house.put(.expired())
        try await self.house.withReplica(self.provider) { replica in
            let outcome = await replica.ask().value
            #expect(outcome.generation == Generation(2))
            let lines = self.lines("info", "an account was refreshed")
            #expect(lines.count == 1)
            let line = try #require(lines.first)
            let endsAt = try #require(try await self.house.record()?.tokens?.expiresAt)
            for fact in [
                "account.name=alice", "provider.name=acme", "token.generation=2", "token.ends_at=\(endsAt.rfc3339)",
            ] { #expect(line.contains(fact), "\(line)") }
            #expect(self.lines("warning", "a refresh failed").isEmpty)
        }
    }

    @Test func `a failed refresh is a warning even if an operator forced it beside a valid token`() async throws {
        try await self.house.put(.valid())
        self.provider.answer(.config(.code("invalid_client")))
        try await self.house.withReplica(self.provider) { replica in
            let status = await replica.engine.refreshNow(alice)
            #expect(status?.state == .valid)
            #expect(status?.lastError == "config.invalid_client")
            let lines = self.lines("warning", "a refresh failed")
            #expect(lines.count == 1)
            let line = try #require(lines.first)
            for fact in [
                "account.name=alice", "provider.name=acme", "error.code=provider_config",
                "refresh.reason=config.invalid_client",
            ] { #expect(line.contains(fact), "\(line)") }
        }
    }

    @Test func `repeated requests for an account without tokens do not fill the log`() async throws {
        try await self.house.withReplica(self.provider) { replica in
            for _ in 0..<3 { #expect(await replica.ask().value == .error(.accountEmpty)) }
            #expect(self.lines("warning", "a refresh failed").isEmpty)
            // Those may have learned it from the first look at all records; later a flight reads it again.
            await self.house.clock.pass(.seconds(2))
            #expect(await replica.ask().value == .error(.accountEmpty))
            await self.house.clock.settle()
            #expect(!self.lines("debug", "a refresh failed").isEmpty)
        }
    }

    @Test func `an operator's refresh while the engine stops is not reported as done`() async throws {
        try await self.house.put(.valid())
        try await self.house.withReplica(self.provider) { replica in
            _ = await replica.ask().value
            try await replica.hasLanded()
            replica.engine.stop()
            let status = await replica.engine.refreshNow(alice)
            #expect(status?.state == .valid)
            #expect(status?.lastError == "refresh_failed")
            #expect(self.provider.spent.isEmpty)
        }
    }

    @Test func `an event from elsewhere is logged and told like the engine's own`() async throws {
        try await self.house.withReplica(self.provider) { replica in
            replica.engine.tell([
                RefreshEvent(
                    .approvalRequired,
                    provider: ProviderID("acme"),
                    account: alice,
                    reason: "approval_required",
                    at: self.house.clock.wall
                )
            ])
            #expect(self.house.told.lines == ["approval_required alice"])
            let line = try #require(
                self.lines("warning", "requests wait for an operator to approve an account").first
            )
            for fact in ["account.name=alice", "provider.name=acme", "event.name=approval_required"] {
                #expect(line.contains(fact), "\(line)")
            }
        }
    }
}
