import Foundation
import TestKit
import Testing
import TokenModel
import TokenStorage
import TokenStorageSQLite

/// `martlet audit`, with and without running gateways.
@Suite struct AuditCommandTests {
    private func audit(_ arguments: String..., in directory: TemporaryDirectory) async throws -> Program.Outcome {
        try await Program.run("martlet", ["audit"] + arguments + ["--config", "martlet.yaml"], in: directory)
    }

    /// The text after `the last is`.
    private static func head(_ output: String) -> String {
        output.split(whereSeparator: \.isWhitespace).last.map(String.init) ?? ""
    }

    private static func stop(_ gateway: Gateway) async throws {
        gateway.program.signal(15)
        _ = try await gateway.program.ended()
    }

    @Test func `changes made by several processes form one chain, which outlives them`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", in: directory)
        let first = try await Gateway(mock, in: directory)
        try await first.importGrant(from: mock)
        let second = try await Gateway(mock, in: directory)
        #expect(try await second.martlet("accounts", "refresh", "alice").exitCode == 0)
        #expect(try await first.martlet("kill", "--account", "alice", "--reason", "laptop stolen").exitCode == 0)
        first.program.signal(1)
        try await eventually("the reload to be recorded") {
            try await second.martlet("audit").output.contains("done, begun as 7")
        }
        let rekeyed = try await Program.run("martlet", ["store", "rekey", "--config", "martlet.yaml"], in: directory)
        #expect(rekeyed.exitCode == 0, "\(rekeyed.errors)")
        #expect(try await second.martlet("revive", "--account", "alice", "--reason", "over").exitCode == 0)

        let shown = try await first.martlet("audit")
        let rows = shown.output.split(separator: "\n").dropFirst()
        let actions = ["import", "refresh", "kill", "reload", "rekey", "revive"]
        #expect(rows.count == 2 * actions.count, "\(shown.output)")
        for (index, row) in rows.enumerated() {
            #expect(row.contains("  \(actions[index / 2])  "), "\(row)")
            #expect(row.contains(index % 2 == 0 ? "(begins)" : ", begun as \(index)"), "\(row)")
        }
        #expect(shown.output.contains("laptop stolen"))
        #expect(shown.output.contains("gateway SIGHUP"))
        #expect(shown.output.contains("command uid "))
        let last = try await first.martlet("audit", "--last", "2", "--json")
        #expect(last.output.contains(#""number":12"#))
        #expect(!last.output.contains(#""number":10,"#))
        let middle = try await first.martlet("audit", "--after", "2", "--limit", "2")
        #expect(middle.output.split(separator: "\n").dropFirst().map { $0.prefix(1) } == ["3", "4"])
        let verified = try await second.martlet("audit", "--verify")
        #expect(verified.exitCode == 0, "\(verified.errors)")
        #expect(verified.output.hasPrefix("12 records, the last is 12:"))

        try await Self.stop(first)
        try await Self.stop(second)
        let alone = try await self.audit("--verify", "--store", in: directory)
        #expect(alone.exitCode == 0, "\(alone.errors)")
        #expect(alone.output == verified.output)
        let kept = try await self.audit("--verify", "--store", "--expect", Self.head(alone.output), in: directory)
        #expect(kept.exitCode == 0, "\(kept.errors)")
        #expect(try await self.audit("--store", "--json", "--last", "2", in: directory).output == last.output)
        #expect(try await self.audit(in: directory).exitCode == 69)
        withExtendedLifetime(mock) {}
    }

    @Test func `a missing or unreadable record is named, and --expect detects a truncated log`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(mock, in: directory)
        for _ in 0..<3 { try await gateway.importGrant(from: mock) }
        let head = Self.head(try await gateway.martlet("audit", "--verify").output)
        #expect(head.hasPrefix("6:"))
        let store = try await SQLiteTokenStore.open(at: directory.path(of: "state/tokens.db"))
        defer { withExtendedLifetime(store) {} }

        // Given a log whose last record was removed
        try await store.remove(.audit(6), expecting: #require(try await store.read(.audit(6))).version)
        let short = try await self.audit("--verify", "--store", in: directory)
        #expect(short.exitCode == 0, "\(short.errors)")
        let missed = try await self.audit("--verify", "--store", "--expect", head, in: directory)
        #expect(missed.exitCode == 1)
        #expect(missed.errors.contains("there is no record 6, which --expect names"), "\(missed.errors)")

        // The gateway that wrote the record reports it as missing.
        let remembered = try await gateway.martlet("audit", "--verify")
        #expect(remembered.exitCode == 1)
        #expect(remembered.errors.contains("record 6 is missing"), "\(remembered.errors)")

        // Given also a record whose bytes were changed
        let stored = try #require(try await store.read(.audit(4)))
        var bytes = stored.value.bytes
        bytes[bytes.count - 1] ^= 1
        try await store.write(
            SealedBytes(bytes: bytes),
            at: .audit(4),
            as: stored.version.next,
            expecting: stored.version
        )
        for place in [[], ["--store"]] {
            let outcome = try await Program.run(
                "martlet",
                ["audit", "--verify"]
                    + (place.isEmpty
                        ? ["--admin", gateway.admin, "--admin-token-file", directory.path(of: "state/admin.token")]
                        : place)
                    + ["--config", "martlet.yaml"],
                in: directory
            )
            #expect(outcome.exitCode == 1)
            #expect(outcome.errors.contains("record 4 does not open"), "\(outcome.errors)")
        }

        // Given also a missing record, that one is the first fault
        try await store.remove(.audit(2), expecting: #require(try await store.read(.audit(2))).version)
        let gone = try await self.audit("--verify", "--store", "--json", in: directory)
        #expect(gone.exitCode == 1)
        #expect(gone.output.contains(#""broken":2"#), "\(gone.output)")
        #expect(gone.errors.contains("there is no record 2"))
        #expect(try await gateway.martlet("audit").output.contains("this record does not open"))

        // Then changes are still recorded.
        try await gateway.importGrant(from: mock)
        await store.close()
        withExtendedLifetime(mock) {}
    }

    @Test func `a takeover is recorded`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let older = try await Gateway(mock, in: directory)
        let younger = try Program("martlet", ["serve", "--config", "martlet.yaml", "--takeover"], in: directory)
        _ = try await younger.address(behind: "admin: ")
        let shown = try await older.martlet("audit")
        #expect(shown.output.split(separator: "\n").count { $0.contains("takeover") } == 2, "\(shown.output)")
        #expect(shown.output.contains("done, begun as 1"))
        younger.signal(15)
        _ = try await younger.ended()
        withExtendedLifetime(mock) {}
    }

    @Test(arguments: [
        ["--verify", "--after", "1"], ["--expect", "1:00"], ["--verify", "--expect", "1:00"], ["--last", "0"],
        ["--last", "1", "--limit", "1"],
    ])
    func `incompatible options are refused in one line`(arguments: [String]) async throws {
        let directory = try TemporaryDirectory()
        let outcome = try await Program.run("martlet", ["audit"] + arguments, in: directory)
        #expect(outcome.exitCode == 64)
        #expect(outcome.errors.split(separator: "\n").count == 1, "\(outcome.errors)")
    }
}
