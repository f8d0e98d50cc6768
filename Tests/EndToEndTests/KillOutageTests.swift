import Foundation
import Glibc
import TestKit
import Testing

/// Kills while the store is unavailable or was replaced by an older copy, tested with real processes.
@Suite struct KillOutageTests {
    @Test
    func `a kill during a store outage stops the gateway, survives its end, and is stored when the store is back`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", in: directory)
        let first = try await Gateway(mock, in: directory)
        try await first.importGrant(from: mock)
        #expect(try await first.statuses(1, "echo") == ["200": 1])
        try directory.move("state/tokens.db", to: "state/aside.db")

        let kill = try await first.martlet("kill", "--account", "alice", "--reason", "stolen", "--wait", "1s")

        #expect(kill.exitCode == 1)
        #expect(kill.output.contains("pending: the store has not taken it"))
        #expect(kill.output.contains("another replica stops when its lease ends"))
        #expect(kill.errors.contains("the gateway keeps it"))
        // The lease may have expired by now, which is another reason to refuse.
        let refusal = try await first.curl("echo")
        #expect(["killed", "store_lost"].contains { refusal.contains("urn:martlet:error:\($0)") })
        let kills = try await first.martlet("kills")
        #expect(kills.output.contains("stolen"))
        try await eventually("the report") { first.program.complaints.contains("a kill does not stand in the store") }

        first.program.signal(SIGKILL)
        _ = try await first.program.ended()
        try directory.move("state/aside.db", to: "state/tokens.db")
        let second = try await Gateway(mock, in: directory)
        #expect(try await second.curl("echo").contains("urn:martlet:error:killed"))
        try await eventually("the kill to be complete") {
            try await second.martlet("kills").output.contains("complete")
        }
        try await eventually("the audit log to have it") {
            try await second.martlet("audit").output.contains("it was kept since")
        }
        try await eventually("both tokens to be dead at the provider") {
            try await mock.stats().live["alice"].map { $0.refresh == 0 && $0.access == 0 } ?? false
        }
        #expect(try await mock.stats().dead_uses.isEmpty)
    }

    @Test func `an older store is refused, and if it is accepted anyway, killed tokens stay dead`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", in: directory)
        let first = try await Gateway(mock, in: directory)
        try await first.importGrant(from: mock)
        try await Self.stop(first)
        let backup = try #require(directory.bytes(of: "state/tokens.db"))
        let second = try await Gateway(mock, in: directory)
        #expect(try await second.martlet("kill", "--account", "alice", "--reason", "drill").exitCode == 0)
        let verified = try await second.martlet("audit", "--verify")
        let head = try #require(verified.output.split(whereSeparator: \.isWhitespace).last.map(String.init))
        try await Self.stop(second)
        for name in ["tokens.db-wal", "tokens.db-shm"] { try? directory.remove("state/\(name)") }
        try directory.write(backup, to: "state/tokens.db")
        try directory.setMode(0o600, of: "state/tokens.db")

        let refused = try await Program.run("martlet", ["serve", "--config", "martlet.yaml"], in: directory)
        #expect(refused.exitCode == 78)
        #expect(refused.errors.contains("--accept-older-store"))

        let third = try await Gateway(mock, in: directory, options: ["--accept-older-store"])
        #expect(try await third.curl("echo").contains("urn:martlet:error:killed"))
        #expect(try await mock.stats().dead_uses.isEmpty)
        let shown = try await third.martlet("audit")
        let rows = shown.output.split(separator: "\n").filter { $0.contains("accept_older_store") }
        #expect(rows.count == 2, "\(shown.output)")
        #expect(rows.first?.contains("the store lacks 1 entry of the kill log, the last of epoch 1") == true)
        #expect(rows.last?.contains("done, begun as ") == true)
        // The audit chain continues from the end of the backup and differs from the former one.
        #expect(try await third.martlet("audit", "--verify").exitCode == 0)
        let forked = try await third.martlet("audit", "--verify", "--expect", head)
        #expect(forked.exitCode == 1)
        #expect(forked.errors.contains("is not the one that --expect names"), "\(forked.errors)")
        try await Self.stop(third)
        let fourth = try await Gateway(mock, in: directory)
        #expect(try await fourth.curl("echo").contains("urn:martlet:error:killed"))
    }

    @Test func `a kill whose gateway ends before its response is reported as possibly done`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", in: directory)
        let (gateway, other) = (try await Gateway(mock, in: directory), try await Gateway(mock, in: directory))
        // A kill waits for this replica until its lease ends.
        other.program.signal(SIGSTOP)
        defer { other.program.signal(SIGKILL) }
        let kill = try Program(
            "martlet",
            [
                "kill", "--all", "--reason", "drill", "--wait", "60s", "--admin", gateway.admin, "--admin-token-file",
                directory.path(of: "state/admin.token"),
            ],
            in: directory
        )
        try await eventually("the kill to be under way") { try await gateway.martlet("kills").output.contains("drill") }
        gateway.program.signal(SIGKILL)

        let outcome = try await kill.ended()
        #expect(outcome.exitCode == 69)
        #expect(outcome.errors.contains("it may have been done all the same: martlet kills shows"), "\(outcome.errors)")
        // The command sends nothing if it can't connect.
        let refused = try await gateway.martlet("kill", "--all", "--reason", "drill")
        #expect(refused.exitCode == 69)
        #expect(!refused.errors.contains("it may have been done"), "\(refused.errors)")
    }

    @Test func `a missing store is not recreated without --accept-older-store, and kills still hold afterwards`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", in: directory)
        let first = try await Gateway(mock, in: directory)
        try await first.importGrant(from: mock)
        #expect(try await first.martlet("kill", "--account", "alice", "--reason", "drill").exitCode == 0)
        try await Self.stop(first)
        for name in ["tokens.db", "tokens.db-wal", "tokens.db-shm"] { try? directory.remove("state/\(name)") }

        let refused = try await Program.run("martlet", ["serve", "--config", "martlet.yaml"], in: directory)
        #expect(refused.exitCode == 78)
        #expect(refused.errors.contains("keeps the kill log of the store"))
        #expect(refused.errors.contains("--accept-older-store"))

        let second = try await Gateway(mock, in: directory, options: ["--accept-older-store"])
        #expect(try await second.curl("echo").contains("urn:martlet:error:killed"))
        try await Self.stop(second)
        let third = try await Gateway(mock, in: directory)
        #expect(try await third.curl("echo").contains("urn:martlet:error:killed"))
    }

    @Test func `a kill outlives a gateway whose store is in memory`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", in: directory)
        let first = try await Gateway(mock, in: directory, more: "store: { driver: memory }")
        #expect(try await first.martlet("kill", "--all", "--reason", "drill").exitCode == 0)
        first.program.signal(SIGKILL)
        _ = try await first.program.ended()

        let second = try await Gateway(mock, in: directory, more: "store: { driver: memory }")
        #expect(try await second.curl("echo").contains("urn:martlet:error:killed"))
        #expect(try await second.martlet("revive", "--all", "--reason", "over").exitCode == 0)
        try await Self.stop(second)

        let third = try await Gateway(mock, in: directory, more: "store: { driver: memory }")
        #expect(try await third.curl("echo").contains("urn:martlet:error:account_empty"))
    }

    @Test func `a kill command takes exactly one scope`() async throws {
        let directory = try TemporaryDirectory()
        for scope in [
            ["--account", "a", "--account", "b"], ["--provider", "a", "--provider", "b"], ["--all", "--account", "a"],
        ] {
            let outcome = try await Program.run("martlet", ["kill", "--reason", "drill"] + scope, in: directory)
            #expect(outcome.exitCode == 64)
            #expect(outcome.errors.contains("exactly one"))
        }
    }

    @Test func `a killed token that is imported again after a revive is refused`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", in: directory)
        let gateway = try await Gateway(mock, in: directory)
        let grant = try await mock.grant("alice")
        #expect(try await gateway.martlet("accounts", "import", "alice", input: grant).exitCode == 0)
        #expect(try await gateway.martlet("kill", "--all", "--reason", "drill").exitCode == 0)
        let revival = try await gateway.martlet("revive", "--all", "--reason", "over")
        #expect(revival.output.contains("import new ones"))
        // The report of the kill follows the hint about the import.
        #expect(revival.output.contains("lifted: kill") && revival.output.contains("epoch 1"))
        let again = try await gateway.martlet("accounts", "import", "alice", input: grant)
        #expect(again.exitCode == 1)
        #expect(again.errors.contains("stays dead"))
    }

    static func stop(_ gateway: Gateway) async throws {
        gateway.program.signal(SIGTERM)
        #expect(try await gateway.program.ended().exitCode == 0)
    }
}
