import Glibc
import TestKit
import Testing

/// `kill -9` at each step of a flight, with a provider that rotates refresh tokens and detects their reuse.
@Suite struct CrashTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let step: String
        var grace = "0s"
        /// The faults that the provider has first.
        var faults = "[]"
        /// The maximum number of uses of each refresh token.
        var uses = 1

        var testDescription: String { "\(self.step), grace \(self.grace)" }
    }

    private static let error = #"[{"on":"token","times":1,"status":500}]"#
    private static let errors = #"[{"on":"token","times":2,"status":500}]"#

    static let harmless = [
        Case(step: "before_read"),
        Case(step: "after_read"),
        Case(step: "before_claim"),
        Case(step: "after_claim"),
        Case(step: "before_exchange"),
        Case(step: "sending"),
        Case(step: "after_commit"),
        Case(step: "before_renewal", faults: error, uses: 2),
        Case(step: "after_renewal", faults: error, uses: 2),
        Case(step: "before_write_back", faults: errors, uses: 3),
        Case(step: "after_write_back", faults: errors, uses: 3),
        Case(step: "after_exchange", grace: "20s", uses: 2),
        Case(step: "before_commit", grace: "20s", uses: 2),
    ]

    @Test(arguments: harmless)
    func `I19_a gateway killed at a harmless step serves at once after a restart`(at place: Case) async throws {
        let house = try await SharedStoreFixture(grace: place.grace)
        let first = try await house.gatewayAboutToRefresh("\(place.step)=kill", faults: place.faults)
        #expect(try await first.status() == nil)
        #expect(try await first.program.ended().exitCode == SIGKILL)

        let second = try await house.gateway()
        try await second.serves()
        try await house.mock.expire()
        #expect(try await second.status() == "200")

        let stats = try await house.mock.stats()
        #expect(stats.reuse_detections == 0)
        #expect(stats.token_requests.invalid_grant == 0)
        #expect(stats.token_requests_at_once.per_refresh_token == 1)
        let uses = stats.refresh_token_uses["alice"] ?? []
        #expect((uses.first ?? 0) <= place.uses && uses.dropFirst().allSatisfy { $0 == 1 }, "\(uses)")
        #expect(first.deaths + second.deaths == 0)
    }

    /// Nothing can close this window: the provider has rotated, no copy is durable, and the provider has no grace
    /// period.
    @Test(arguments: ["after_exchange", "before_commit"])
    func `I19_a gateway killed with the only tokens in memory loses the grant and reports that once`(step: String)
        async throws
    {
        let house = try await SharedStoreFixture(grace: "0s")
        let first = try await house.gatewayAboutToRefresh("\(step)=kill")
        #expect(try await first.status() == nil)
        _ = try await first.program.ended()

        let second = try await house.gateway()
        #expect(try await second.status() != "200")
        #expect(try await second.status() != "200")
        second.program.signal(SIGKILL)
        _ = try await second.program.ended()
        let third = try await house.gateway()
        #expect(try await third.status() != "200")

        let stats = try await house.mock.stats()
        #expect(stats.refresh_token_uses["alice"] == [2])
        #expect(stats.reuse_detections == 1)
        #expect([first.deaths, second.deaths, third.deaths] == [0, 1, 0])
        #expect(try await third.martlet("accounts", "show", "alice").output.contains("reauthorization_required"))
    }

    @Test(.timeLimit(.minutes(5)), arguments: [1, 2])
    func `a gateway that is killed and paused at random steps keeps its grant`(seed: Int) async throws {
        let house = try await SharedStoreFixture(grace: "300s")
        let steps = ["before_claim", "after_claim", "sending", "after_exchange", "before_commit", "after_commit"]
        let mishaps =
            steps.map { "\($0)=kill%0.12" } + ["after_claim=pause:300ms%0.1", "after_exchange=pause:300ms%0.1"]
        func failpoints(_ life: Int) -> String {
            (mishaps + ["seed=\(seed * 1_000 + life)"]).joined(separator: ";")
        }
        var gateway = try await house.gateway(failpoints(0))
        try await gateway.importGrant(from: house.mock)
        var lives = 1
        for _ in 1...6 {
            try await house.mock.expire()
            while try await gateway.status() != "200" {
                guard !gateway.program.isRunning else { continue }
                gateway = try await house.gateway(failpoints(lives))
                lives += 1
            }
        }

        let stats = try await house.mock.stats()
        #expect(stats.reuse_detections == 0)
        #expect(stats.token_requests.invalid_grant == 0)
        #expect(stats.token_requests_at_once.per_refresh_token == 1)
        #expect(stats.token_requests.ok >= 6)
    }
}
