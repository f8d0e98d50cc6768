import TestKit
import Testing

/// Tokens that are replaced before anybody has to wait, minted, and adopted: through real processes.
@Suite struct BackgroundTests {
    /// What came of a steady load.
    private struct Load {
        /// From the first request to the last answer.
        let time: Duration
        var statuses: [String: Int] = [:]
        /// The longest that a request took, in seconds.
        var longest = 0.0

        /// How many tokens that are each replaced at the half of `lifetime` may have been needed.
        func mostTokens(lifetime: Duration) -> Int { Int(self.time / (lifetime / 2)) + 2 }
    }

    /// Sends one request after the other.
    private func load(_ gateway: Gateway, requests: Int, rate: Int) async throws -> Load {
        let start = ContinuousClock.now
        let output = try await gateway.curl(
            "echo?n=[1-\(requests)]",
            ["--rate", "\(rate)/s", "-o", "/dev/null", "-w", "%{http_code} %{time_total}\\n"],
            limit: .seconds(120)
        )
        var load = Load(time: start.duration(to: .now))
        for line in output.split(separator: "\n") {
            let parts = line.split(separator: " ")
            load.statuses[String(parts[0]), default: 0] += 1
            load.longest = max(load.longest, Double(parts[1]) ?? .infinity)
        }
        return load
    }

    @Test func `under steady load no request waits for a refresh, and none fails`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", "--reuse-detection", "--access-ttl", "12s", in: directory)
        let gateway = try await Gateway(mock, in: directory)
        try await gateway.importGrant(from: mock)
        // An imported token is older than the gateway can know.
        #expect(try await gateway.martlet("accounts", "refresh", "alice").exitCode == 0)
        // Who had to wait for a refresh would wait for longer than any request takes by itself. Time is what is promised here:
        // a shorter delay, or tokens that end sooner after it, would fail on a busy machine.
        try await mock.setFaults(#"[{"on":"token","times":0,"delay":"2s"}]"#)

        let load = try await self.load(gateway, requests: 1_200, rate: 50)

        #expect(load.statuses == ["200": 1_200])
        #expect(load.longest < 1.8)
        let stats = try await mock.stats()
        // One before; then 24 s, in which a token is replaced 6 to 7.5 s after it came, and that takes 2 s.
        #expect((3...load.mostTokens(lifetime: .seconds(12))).contains(stats.token_requests.ok))
        #expect(stats.token_requests.invalid_grant == 0)
        #expect(stats.reuse_detections == 0)
        #expect(stats.api_requests.ok == 1_200)
        #expect(stats.api_requests.expired == 0)
        #expect(stats.api_requests.no_token == 0)
    }

    @Test func `an account that is not used any more is not refreshed any more`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", "--reuse-detection", "--access-ttl", "3s", in: directory)
        let gateway = try await Gateway(mock, in: directory)
        try await gateway.importGrant(from: mock)
        #expect(try await gateway.martlet("accounts", "refresh", "alice").exitCode == 0)
        #expect(try await gateway.statuses(1, "echo") == ["200": 1])

        try await eventually("the refresh of the token that was used") { try await mock.stats().token_requests.ok >= 2 }
        try await eventually("the next one to end unused") {
            try await gateway.martlet("accounts", "show", "alice").output.contains("expired")
        }

        // Two, or three where the machine was so slow that the request came too late for the first.
        let known = try await mock.stats().token_requests.ok
        #expect(known <= 3)
        #expect(try await gateway.statuses(1, "echo") == ["200": 1])
        #expect(try await mock.stats().token_requests.ok == known + 1)
        #expect(try await mock.stats().token_requests.invalid_grant == 0)
    }

    @Test func `client_credentials: minted at first use, shared, refreshed on demand, and nothing to import`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(
            mock,
            settings: "token_params: { account: robot-1 }",
            grant: "client_credentials",
            in: directory
        )
        let before = try await gateway.martlet("accounts", "show", "alice")
        #expect(before.output.contains("not fetched yet"))
        #expect(try await mock.stats().token_requests.ok == 0)

        let statuses = try await gateway.statuses(100, "echo")
        #expect(statuses == ["200": 100])
        #expect(try await mock.stats().token_requests.ok == 1)
        // The parameter went along: the mock mints for whom it names.
        #expect(try Echo(try await gateway.curl("echo")).account == "robot-1")

        let refreshed = try await gateway.martlet("accounts", "refresh", "alice")
        #expect(refreshed.exitCode == 0)
        #expect(try await mock.stats().token_requests.ok == 2)
        try await mock.expire()
        #expect(try await gateway.statuses(1, "echo") == ["200": 1])
        #expect(try await mock.stats().token_requests.ok == 3)
        let imported = try await gateway.martlet("accounts", "import", "alice", input: "a-refresh-token")
        #expect(imported.exitCode == 1)
        #expect(imported.errors.contains("client_credentials"))
    }

    @Test func `client_credentials: under steady load the token is replaced before it ends`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--access-ttl", "4s", in: directory)
        let gateway = try await Gateway(mock, grant: "client_credentials", in: directory)

        let load = try await self.load(gateway, requests: 400, rate: 50)

        #expect(load.statuses == ["200": 400])
        let stats = try await mock.stats()
        // 8 s; a token is replaced 2 to 2.5 s after it came.
        #expect((3...load.mostTokens(lifetime: .seconds(4))).contains(stats.token_requests.ok))
        #expect(stats.api_requests.expired == 0)
        #expect(stats.refresh_token_uses == ["mock-client": []])
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

    @Test func `tokens of another realm of the same host wait until they are adopted`() async throws {
        // Given tokens that one realm has issued
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", "--reuse-detection", in: directory)
        func settings(_ realm: String) -> String { "token_endpoint: \"\(mock.address)/oauth/token?realm=\(realm)\"" }
        let first = try await Gateway(mock, settings: settings("a"), in: directory)
        try await first.importGrant(from: mock)
        #expect(try await first.martlet("accounts", "refresh", "alice").exitCode == 0)
        first.program.signal(15)
        _ = try await first.program.ended()

        // When the configuration names another
        let gateway = try await Gateway(mock, settings: settings("b"), in: directory)

        // Then it is sent nothing, and whose the tokens are is told without the query
        let refresh = try await gateway.martlet("accounts", "refresh", "alice")
        #expect(refresh.exitCode == 1)
        #expect(refresh.errors.contains("martlet accounts adopt alice"), "\(refresh.errors)")
        #expect(!refresh.errors.contains("realm="), "\(refresh.errors)")
        #expect(try await gateway.martlet("accounts", "show", "alice").output.contains("bound_elsewhere"))
        #expect(try await mock.stats().token_requests.ok == 1)

        // Until an operator says that they belong there
        #expect(try await gateway.martlet("accounts", "adopt", "alice").exitCode == 0)
        #expect(try await gateway.martlet("accounts", "refresh", "alice").exitCode == 0)
        #expect(try await mock.stats().token_requests.ok == 2)
    }
}
