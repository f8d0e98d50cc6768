import Foundation
import Glibc
import TestKit
import Testing

/// A store that becomes unavailable between the claim and the commit.
@Suite struct JournalTests {
    /// A gateway whose provider has just rotated a refresh token, and whose store is unavailable. The caller was
    /// served.
    private func gatewayInTrouble(in house: SharedStoreFixture) async throws -> Gateway {
        let gateway = try await house.gatewayAboutToRefresh("after_exchange=stop@1")
        let asked = Task { try await gateway.status() }
        try await eventually("the provider's answer to be in hand") { gateway.program.standsStill }
        try house.directory.move("state/tokens.db", to: "state/aside.db")
        gateway.program.signal(SIGCONT)
        #expect(try await asked.value == "200")
        try await eventually("the report") { gateway.program.complaints.contains("new tokens stand in the journal") }
        return gateway
    }

    private func expectNothingLost(_ house: SharedStoreFixture, by next: Gateway) async throws {
        #expect(try await next.status() == "200")
        #expect(try await house.mock.stats().token_requests.ok == 1)
        try await house.mock.expire()
        #expect(try await next.status() == "200")
        let stats = try await house.mock.stats()
        #expect(stats.refresh_token_uses["alice"] == [1, 1])
        #expect(stats.reuse_detections == 0)
    }

    @Test func `I13_I19_a refresh that the store never recorded survives kill -9`() async throws {
        let house = try await SharedStoreFixture(grace: "0s", timeout: "15s")
        let first = try await self.gatewayInTrouble(in: house)
        first.program.signal(SIGKILL)
        _ = try await first.program.ended()
        try house.directory.move("state/aside.db", to: "state/tokens.db")

        let second = try await house.gateway()

        #expect(second.program.complaints.contains("new tokens were in the journals of earlier starts"))
        try await self.expectNothingLost(house, by: second)
    }

    @Test func `a stop does not wait for an unavailable store once the journal has the tokens`() async throws {
        let house = try await SharedStoreFixture(grace: "0s", timeout: "15s")
        let first = try await self.gatewayInTrouble(in: house)
        first.program.signal(SIGTERM)
        #expect(try await first.program.ended().exitCode == 0)
        try house.directory.move("state/aside.db", to: "state/tokens.db")

        try await self.expectNothingLost(house, by: try await house.gateway())
    }

    @Test func `when the store comes back the gateway commits, and it leaves no journal when it stops`() async throws {
        let house = try await SharedStoreFixture(grace: "0s", timeout: "15s")
        let gateway = try await self.gatewayInTrouble(in: house)
        try house.directory.move("state/aside.db", to: "state/tokens.db")

        try await eventually("the commit") { gateway.program.complaints.contains("an account was refreshed") }
        gateway.program.signal(SIGTERM)
        #expect(try await gateway.program.ended().exitCode == 0)

        for name in ["boots", "journal"] {
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: house.directory.path(of: "state/\(name)")).isEmpty,
                "\(name)"
            )
        }
        try await self.expectNothingLost(house, by: try await house.gateway())
    }

    @Test func `a second gateway on the same host uses the tokens in the journal of a killed one`() async throws {
        let house = try await SharedStoreFixture(grace: "0s", timeout: "15s")
        let second = try await house.gateway()
        let first = try await self.gatewayInTrouble(in: house)
        first.program.signal(SIGKILL)
        _ = try await first.program.ended()
        try house.directory.move("state/aside.db", to: "state/tokens.db")

        // The second gateway finds the claim. It takes the journal over before it breaks the claim.
        try await second.serves()

        let stats = try await house.mock.stats()
        #expect(stats.refresh_token_uses["alice"] == [1])
        #expect(stats.reuse_detections == 0)
    }

    @Test func `a journal without its sealing key is kept and reported, and used once the key is back`() async throws {
        let house = try await SharedStoreFixture(grace: "0s", timeout: "15s")
        let first = try await self.gatewayInTrouble(in: house)
        first.program.signal(SIGKILL)
        _ = try await first.program.ended()
        try house.directory.move("state/aside.db", to: "state/tokens.db")
        func store(_ arguments: String...) async throws -> Program.Outcome {
            try await Program.run(
                "martlet",
                ["store"] + arguments + ["--config", "martlet.yaml"],
                in: house.directory
            )
        }
        // The account's record is claimed, so it stays under the old key.
        let rekeyed = try await store("rekey")
        #expect(rekeyed.exitCode == 1, "\(rekeyed.errors)")
        #expect(try await store("verify").output.contains("1 of 1 entries of journals open"))
        let both = try #require(house.directory.bytes(of: "state/sealing.key"))
        let lines = both.split(separator: UInt8(ascii: "\n"))
        try self.write(Array(lines.dropLast().joined(separator: [UInt8(ascii: "\n")])), in: house)

        #expect(try await store("verify").exitCode == 1)
        let second = try await house.gateway()
        #expect(second.program.complaints.contains("journal_key_missing"))
        second.program.signal(SIGTERM)
        _ = try await second.program.ended()
        try self.write(both, in: house)

        try await self.expectNothingLost(house, by: try await house.gateway())
    }

    private func write(_ keys: [UInt8], in house: SharedStoreFixture) throws {
        try house.directory.write(keys, to: "state/sealing.key")
        try house.directory.setMode(0o600, of: "state/sealing.key")
    }
}
