import TestKit
import Testing

/// Tokens that are replaced before anybody has to wait, minted, and adopted: through real processes.
@Suite struct BackgroundTests {
    /// What came of a steady load: how often each status, and the longest time a request took, in seconds.
    private func load(_ gateway: Gateway, requests: Int, rate: Int) async throws -> (statuses: [String: Int], Double) {
        let output = try await gateway.curl(
            "echo?n=[1-\(requests)]",
            ["--rate", "\(rate)/s", "-o", "/dev/null", "-w", "%{http_code} %{time_total}\\n"],
            limit: .seconds(120)
        )
        var statuses: [String: Int] = [:]
        var longest = 0.0
        for line in output.split(separator: "\n") {
            let parts = line.split(separator: " ")
            statuses[String(parts[0]), default: 0] += 1
            longest = max(longest, Double(parts[1]) ?? .infinity)
        }
        return (statuses, longest)
    }

    @Test func `under steady load no request waits for a refresh, and none fails`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", "--reuse-detection", "--access-ttl", "8s", in: directory)
        let gateway = try await Gateway(mock, in: directory)
        try await gateway.importGrant(from: mock)
        // Who had to wait for a refresh would wait for longer than any request takes by itself.
        try await mock.setFaults(#"[{"on":"token","times":0,"delay_answer":"2s"}]"#)

        let (statuses, longest) = try await self.load(gateway, requests: 1_000, rate: 50)

        #expect(statuses == ["200": 1_000])
        #expect(longest < 1.5)
        let stats = try await mock.stats()
        // 20 s; a token is replaced 4 to 5 s after it came, and that takes 2 s.
        #expect((2...4).contains(stats.token_requests.ok))
        #expect(stats.token_requests.invalid_grant == 0)
        #expect(stats.reuse_detections == 0)
        #expect(stats.api_requests.ok == 1_000)
        #expect(stats.api_requests.expired == 0)
        #expect(stats.api_requests.no_token == 0)
    }

    @Test func `an account that is not used any more is not refreshed any more`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", "--reuse-detection", "--access-ttl", "2s", in: directory)
        let gateway = try await Gateway(mock, in: directory)
        try await gateway.importGrant(from: mock)
        #expect(try await gateway.statuses(1, "echo") == ["200": 1])

        try await eventually("the refresh of the token that was used") { try await mock.stats().token_requests.ok == 1 }
        try await eventually("the next one to end unused") {
            try await gateway.martlet("accounts", "show", "alice").output.contains("expired")
        }

        #expect(try await mock.stats().token_requests.ok == 1)
        #expect(try await gateway.statuses(1, "echo") == ["200": 1])
        #expect(try await mock.stats().token_requests.invalid_grant == 0)
    }

    @Test func `client_credentials: minted at first use, shared, replaced ahead, and nothing to import`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--access-ttl", "4s", in: directory)
        let gateway = try await Gateway(
            mock,
            settings: "token_params: { account: robot-1 }",
            grant: "client_credentials",
            in: directory
        )
        let before = try await gateway.martlet("accounts", "show", "alice")
        #expect(before.output.contains("expired"))
        #expect(try await mock.stats().token_requests.ok == 0)

        let statuses = try await gateway.statuses(100, "echo")
        #expect(statuses == ["200": 100])
        #expect(try await mock.stats().token_requests.ok == 1)
        // The parameter went along: the mock mints for whom it names.
        #expect(try Echo(try await gateway.curl("echo")).account == "robot-1")

        let (later, _) = try await self.load(gateway, requests: 400, rate: 50)
        #expect(later == ["200": 400])
        let stats = try await mock.stats()
        // 8 s; a token is replaced 2 to 2.5 s after it came.
        #expect((3...6).contains(stats.token_requests.ok))
        #expect(stats.api_requests.expired == 0)

        let refreshed = try await gateway.martlet("accounts", "refresh", "alice")
        #expect(refreshed.exitCode == 0)
        let imported = try await gateway.martlet("accounts", "import", "alice", input: "a-refresh-token")
        #expect(imported.exitCode == 1)
        #expect(imported.errors.contains("client_credentials"))
    }

    @Test func `tokens of a provider under another name wait until they are adopted`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", "--reuse-detection", in: directory)
        let first = try await Gateway(mock, in: directory)
        try await first.importGrant(from: mock)
        #expect(try await first.statuses(1, "echo") == ["200": 1])
        first.program.signal(15)
        _ = try await first.program.ended()

        let gateway = try await Gateway(mock, provider: "renamed", in: directory)
        let refused = try await gateway.curl("echo", ["-i"])
        #expect(refused.hasPrefix("HTTP/1.1 503 "))
        #expect(refused.contains("urn:martlet:error:reauthorization_required"))
        #expect(refused.contains("adopt"))
        let refresh = try await gateway.martlet("accounts", "refresh", "alice")
        #expect(refresh.exitCode == 1)
        #expect(refresh.errors.contains("martlet accounts adopt alice"))
        #expect(try await mock.stats().token_requests.ok == 0)

        let adopted = try await gateway.martlet("accounts", "adopt", "alice")

        #expect(adopted.exitCode == 0, "\(adopted.errors)")
        #expect(try await gateway.statuses(1, "echo") == ["200": 1])
        try await mock.expire()
        #expect(try await gateway.statuses(1, "echo") == ["200": 1])
        #expect(try await mock.stats().token_requests.ok == 1)
    }
}
