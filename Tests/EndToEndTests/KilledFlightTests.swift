import Glibc
import TestKit
import Testing

/// A kill while a process that is about to die holds the only copy of new tokens.
@Suite struct KilledFlightTests {
    @Test
    func
        `I5_tokens that come after a kill and its revival, by a gateway that dies with the commit, are revoked by another`()
        async throws
    {
        let house = try await SharedStoreFixture(grace: "0s")
        // The gateway holds the provider's response and continues after SIGCONT. Its first write fails because the kill
        // has emptied the record, so its second write is the one that is stored.
        let holder = try await house.gatewayAboutToRefresh(
            "before_commit=stop@1;after_commit=kill@2",
            // The old tokens belong to the same family. Revoking them would revoke the new ones too.
            faults: #"[{"on":"revoke","times":0,"status":400}]"#
        )
        let other = try await house.gateway()
        try await house.waitForEmptyWAL()
        let asked = Task { try await holder.status() }
        try await eventually("the provider's answer to be in hand") { holder.program.standsStill }

        let kill = try await other.martlet("kill", "--account", "alice", "--reason", "stolen", "--wait", "1s")
        #expect(kill.exitCode == 1)
        try await eventually("the record to be emptied, and the provider to have been asked") {
            try await other.martlet("kills").output.contains("2 refused by the provider")
        }
        #expect(try await other.martlet("revive", "--account", "alice", "--reason", "over").exitCode == 0)
        try await house.mock.setFaults("[]")
        let between = try #require(try await house.mock.stats().live["alice"])
        #expect(between.refresh == 1 && between.access == 1)
        holder.program.signal(SIGCONT)
        #expect(try await holder.program.ended().exitCode == SIGKILL)
        _ = try await asked.value

        // Each gateway searches for such tokens once a minute, and when it starts.
        let third = try await house.gateway()
        defer { withExtendedLifetime(third) {} }
        try await eventually("the new tokens to be dead at the provider", limit: .seconds(90)) {
            try await house.mock.stats().live["alice"].map { $0.refresh == 0 && $0.access == 0 } ?? false
        }
        try await eventually("the report to say so") {
            try await other.martlet("kills").output.contains("2 revoked")
        }
        #expect(try await other.curl("echo").contains("urn:martlet:error:account_empty"))
    }
}
