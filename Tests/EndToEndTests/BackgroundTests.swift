import TestKit
import Testing

/// Tokens that are refreshed in advance, minted and adopted, tested with real processes.
@Suite struct BackgroundTests {
    /// Sends requests one after the other.
    ///
    /// - Returns: how many got which status, and how many tokens these requests need at most if each is replaced halfway
    ///   through `lifetime`.
    private func load(_ gateway: Gateway, requests: Int, rate: Int, lifetime: Duration) async throws
        -> (statuses: [String: Int], mostTokens: Int)
    {
        let start = ContinuousClock.now
        let output = try await gateway.curl(
            "echo?n=[1-\(requests)]",
            ["--rate", "\(rate)/s", "-o", "/dev/null", "-w", "%{http_code}\\n"],
            limit: .seconds(120)
        )
        let statuses = output.split(separator: "\n").map { (String($0), 1) }
        return (Dictionary(statuses, uniquingKeysWith: +), Int(start.duration(to: .now) / (lifetime / 2)) + 2)
    }

    @Test func `under steady load tokens are replaced before they expire, and no request fails`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", "--reuse-detection", "--access-ttl", "6s", in: directory)
        let gateway = try await Gateway(mock, in: directory)
        try await gateway.importGrant(from: mock)
        // The gateway can't know the age of an imported token.
        #expect(try await gateway.martlet("accounts", "refresh", "alice").exitCode == 0)

        let (statuses, most) = try await self.load(gateway, requests: 500, rate: 50, lifetime: .seconds(6))

        #expect(statuses == ["200": 500])
        let stats = try await mock.stats()
        // One refresh comes before the load. The load lasts 10 s, and a token is replaced 3 to 3.75 s after its issue.
        #expect((3...most).contains(stats.token_requests.ok))
        #expect(stats.token_requests.invalid_grant == 0)
        #expect(stats.reuse_detections == 0)
        #expect(stats.api_requests.ok == 500)
        #expect(stats.api_requests.expired == 0)
        #expect(stats.api_requests.no_token == 0)
    }

    @Test func `an account that is no longer used is no longer refreshed`() async throws {
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

        // There are two refreshes, or three if the machine was so slow that the request came too late for the first
        // token.
        let known = try await mock.stats().token_requests.ok
        #expect(known <= 3)
        #expect(try await gateway.statuses(1, "echo") == ["200": 1])
        #expect(try await mock.stats().token_requests.ok == known + 1)
        #expect(try await mock.stats().token_requests.invalid_grant == 0)
    }

    @Test func `client_credentials tokens are minted at first use, shared, refreshed on demand, and can't be imported`()
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
        // The parameter was sent: the mock mints tokens for the account in it.
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

    @Test func `under steady load a client_credentials token is replaced before it expires`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--access-ttl", "4s", in: directory)
        let gateway = try await Gateway(mock, grant: "client_credentials", in: directory)

        let (statuses, most) = try await self.load(gateway, requests: 400, rate: 50, lifetime: .seconds(4))

        #expect(statuses == ["200": 400])
        let stats = try await mock.stats()
        // The load lasts 8 s, and a token is replaced 2 to 2.5 s after its issue.
        #expect((3...most).contains(stats.token_requests.ok))
        #expect(stats.api_requests.expired == 0)
        #expect(stats.refresh_token_uses == ["mock-client": []])
    }

    @Test func `tokens of a provider that was renamed wait until they are adopted`() async throws {
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

    @Test func `tokens of another realm on the same host wait until they are adopted`() async throws {
        // Given tokens issued by one realm
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", "--reuse-detection", in: directory)
        func settings(_ realm: String) -> String { "token_endpoint: \"\(mock.address)/oauth/token?realm=\(realm)\"" }
        let first = try await Gateway(mock, settings: settings("a"), in: directory)
        try await first.importGrant(from: mock)
        #expect(try await first.martlet("accounts", "refresh", "alice").exitCode == 0)
        first.program.signal(15)
        _ = try await first.program.ended()

        // When the configuration names another realm
        let gateway = try await Gateway(mock, settings: settings("b"), in: directory)

        // Then that realm receives nothing, and the error names the issuer of the tokens without the query
        let refresh = try await gateway.martlet("accounts", "refresh", "alice")
        #expect(refresh.exitCode == 1)
        #expect(refresh.errors.contains("martlet accounts adopt alice"), "\(refresh.errors)")
        #expect(!refresh.errors.contains("realm="), "\(refresh.errors)")
        #expect(try await gateway.martlet("accounts", "show", "alice").output.contains("bound_elsewhere"))
        #expect(try await mock.stats().token_requests.ok == 1)

        // An operator adopts the tokens for the new realm
        #expect(try await gateway.martlet("accounts", "adopt", "alice").exitCode == 0)
        #expect(try await gateway.martlet("accounts", "refresh", "alice").exitCode == 0)
        #expect(try await mock.stats().token_requests.ok == 2)
    }
}
