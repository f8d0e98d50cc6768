import Glibc
import TestKit
import Testing

/// A gateway that SIGSTOP stops during a flight, longer than its claim lasts, next to another gateway on the same
/// store.
@Suite struct StandstillTests {
    @Test(arguments: [("after_claim", 1), ("before_exchange", 1), ("after_exchange", 2), ("before_commit", 2)])
    func `another gateway takes over when the claim ends, and the late one overwrites nothing`(
        step: String,
        uses: Int
    ) async throws {
        let house = try await SharedStoreFixture(grace: "60s", timeout: "1s")
        let stopped = try await house.gatewayAboutToRefresh("\(step)=stop@1")
        let other = try await house.gateway()
        try await house.waitForEmptyWAL()
        let start = ContinuousClock.now
        let asked = Task { try await stopped.status() }
        try await eventually("it to stand still") { stopped.program.standsStill }

        try await other.serves()
        // The process of the claim still exists, so the other gateway waits until the claim ends.
        #expect(start.duration(to: .now) >= .seconds(5))
        stopped.program.signal(SIGCONT)

        // The caller's time ended before the gateway continued.
        _ = try await asked.value
        try await stopped.serves()
        try await house.mock.expire()
        #expect(try await stopped.status() == "200")
        #expect(try await other.status() == "200")
        let stats = try await house.mock.stats()
        #expect(stats.reuse_detections == 0)
        #expect(stats.token_requests.invalid_grant == 0)
        #expect(stats.refresh_token_uses["alice"]?.first == uses)
        #expect(stats.refresh_token_uses["alice"]?.dropFirst().allSatisfy { $0 == 1 } == true)
    }
}
