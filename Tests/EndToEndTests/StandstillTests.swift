import Glibc
import TestKit
import Testing

/// SIGSTOP within a flight, for longer than its claim stands, beside another gateway on the same store.
@Suite struct StandstillTests {
    @Test(arguments: [("after_claim", 1), ("before_exchange", 1), ("after_exchange", 2), ("before_commit", 2)])
    func `another gateway takes over when the claim has lapsed, and the late one throws nothing over`(
        step: String,
        uses: Int
    ) async throws {
        let house = try await Household(grace: "60s", timeout: "1s")
        let stopped = try await house.gatewayAboutToRefresh("\(step)=stop@1")
        let other = try await house.gateway()
        try await house.hasTrimmed()
        let asked = Task { try await stopped.status() }
        try await eventually("it to stand still") { stopped.program.standsStill }

        let start = ContinuousClock.now
        try await other.serves()
        // Its process lives: the claim is waited out.
        #expect(start.duration(to: .now) >= .seconds(4))
        stopped.program.signal(SIGCONT)

        // Its caller's time was over before it went on.
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
