import TestKit
import Testing

/// The kill switch, tested with real processes.
@Suite struct KillTests {
    @Test func `a killed account's callers are refused at once, and its tokens are dead at the provider`() async throws
    {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", "--reuse-detection", in: directory)
        let gateway = try await Gateway(mock, in: directory)
        try await gateway.importGrant(from: mock)
        #expect(try await gateway.statuses(1, "echo") == ["200": 1])

        let kill = try await gateway.martlet("kill", "--account", "alice", "--reason", "laptop stolen")

        #expect(kill.exitCode == 0, "\(kill.errors)")
        #expect(kill.output.contains("complete"))
        let refused = try await gateway.curl("echo", ["-o", "/dev/stderr", "-w", "%{http_code}"])
        #expect(refused == "503")
        try await eventually("both tokens to be dead at the provider") {
            try await mock.stats().live["alice"].map { $0.refresh == 0 && $0.access == 0 } ?? false
        }
        #expect(try await mock.stats().dead_uses.isEmpty)
        let account = try await gateway.martlet("accounts", "show", "alice")
        #expect(account.output.contains("killed"))
    }

    @Test func `an import into a killed account is refused until a revive, then the account serves again`() async throws
    {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", "--reuse-detection", in: directory)
        let gateway = try await Gateway(mock, in: directory)
        try await gateway.importGrant(from: mock)
        #expect(try await gateway.martlet("kill", "--all", "--reason", "drill").exitCode == 0)

        let early = try await gateway.martlet("accounts", "import", "alice", input: try await mock.grant("alice"))
        #expect(early.exitCode == 1)
        #expect(early.errors.contains("killed"))
        let wrong = try await gateway.martlet("revive", "--account", "alice", "--reason", "wrong scope")
        #expect(wrong.exitCode == 1)
        #expect(wrong.errors.contains("martlet revive --all --reason TEXT lifts that"), "\(wrong.errors)")
        #expect(try await gateway.martlet("revive", "--all", "--reason", "over").exitCode == 0)
        let empty = try await gateway.curl("echo", ["-w", "%{http_code}"])
        #expect(empty.contains("account_empty") && empty.contains("its tokens were killed or removed"))

        try await gateway.importGrant(from: mock)
        #expect(try await gateway.statuses(1, "echo") == ["200": 1])
    }

    @Test func `a kill survives kill -9 of the gateway right after it`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", "--reuse-detection", in: directory)
        let first = try await Gateway(mock, in: directory)
        try await first.importGrant(from: mock)
        #expect(try await first.martlet("kill", "--account", "alice", "--reason", "drill").exitCode == 0)
        first.program.signal(9)
        _ = try await first.program.ended()

        let second = try await Gateway(mock, in: directory)
        #expect(try await second.curl("echo").contains("urn:martlet:error:killed"))
    }

    @Test func `tokens imported after a revive also serve in a gateway that starts later`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", in: directory)
        let first = try await Gateway(mock, in: directory)
        try await first.importGrant(from: mock)
        #expect(try await first.martlet("kill", "--account", "alice", "--reason", "drill").exitCode == 0)
        #expect(try await first.martlet("revive", "--account", "alice", "--reason", "over").exitCode == 0)
        try await first.importGrant(from: mock)
        #expect(try await first.statuses(1, "echo") == ["200": 1])

        let second = try await Gateway(mock, in: directory)
        #expect(try await second.statuses(1, "echo") == ["200": 1])
    }

    @Test func `a refresh that is delayed during a kill restores nothing, and its tokens are revoked`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", in: directory)
        let gateway = try await Gateway(mock, settings: "timeout: 15s", in: directory)
        try await gateway.importGrant(from: mock)
        try await mock.setFaults(#"[{"on":"token","times":1,"delay_answer":"12s"}]"#)
        async let refresh = gateway.martlet("accounts", "refresh", "alice")
        try await eventually("the provider to be asked") { try await mock.stats().token_requests_at_once.any >= 1 }

        #expect(try await gateway.martlet("kill", "--account", "alice", "--reason", "drill").exitCode == 0)
        #expect(try await gateway.martlet("revive", "--account", "alice", "--reason", "over").exitCode == 0)
        #expect(try await refresh.exitCode != 0)

        #expect(try await gateway.curl("echo").contains("account_empty"))
        try await eventually("what came late to be dead at the provider") {
            try await mock.stats().live["alice"].map { $0.refresh == 0 && $0.access == 0 } ?? false
        }
    }

    @Test func `a kill cuts a download, and a kill with --drain lets it end`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", in: directory)
        let gateway = try await Gateway(mock, in: directory)
        try await gateway.importGrant(from: mock)
        async let drained = gateway.curl("stream/20?every=100ms")
        try await eventually("the stream to run") { try await mock.stats().api_requests.ok == 1 }
        let drain = try await gateway.martlet("kill", "--account", "alice", "--reason", "drill", "--drain")
        #expect(drain.exitCode == 0)
        #expect(try await drained.split(separator: "\n\n").count == 20)

        #expect(try await gateway.martlet("revive", "--account", "alice", "--reason", "over").exitCode == 0)
        try await gateway.importGrant(from: mock)
        async let cut = Program.run(
            "/usr/bin/curl",
            ["-q", "--noproxy", "*", "-sS", "\(gateway.callers)/acme/stream/600?every=100ms"],
            in: directory
        )
        try await eventually("the stream to run") { try await mock.stats().api_requests.ok == 2 }
        #expect(try await gateway.martlet("kill", "--account", "alice", "--reason", "drill").exitCode == 0)
        #expect(try await cut.exitCode != 0)
    }
}
