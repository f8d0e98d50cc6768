import TestKit
import Testing

/// The main promise of the gateway, tested with real processes: callers never notice that tokens expire.
@Suite struct RefreshTests {
    @Test func `a request goes out with a fresh token when the access token has expired`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", "--reuse-detection", in: directory)
        let gateway = try await Gateway(mock, in: directory)
        try await gateway.importGrant(from: mock)
        try await mock.expire()

        let echo = try Echo(try await gateway.curl("echo?page=2", ["-H", "Authorization: Bearer the-callers-own"]))

        #expect(echo.path == "/api/echo")
        #expect(echo.query == "page=2")
        #expect(echo.values("Authorization").count == 1)
        #expect(echo.values("Authorization").first?.contains("the-callers-own") == false)
        #expect(echo.values("Host") == [String(mock.address.dropFirst("http://".count))])
        let stats = try await mock.stats()
        #expect(stats.token_requests.ok == 1)
        #expect(stats.api_requests.expired == 1)
        #expect(stats.api_requests.ok == 1)
    }

    @Test func `two error pages from a proxy before the provider leave the grant alive`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", "--reuse-detection", in: directory)
        let gateway = try await Gateway(mock, in: directory)
        try await gateway.importGrant(from: mock)
        try await mock.expire()
        let page = #""status":404,"headers":{"Content-Type":"text/html"},"body":"<html>no such page</html>""#
        try await mock.setFaults(#"[{"on":"token","times":2,\#(page)}]"#)

        let refused = try await gateway.statuses(1, "echo")
        try await eventually("a caller to be served again") { try await gateway.statuses(1, "echo") == ["200": 1] }

        #expect(refused == ["502": 1])
        let stats = try await mock.stats()
        #expect(stats.token_requests.fault == 2)
        #expect(stats.token_requests.ok == 1)
        #expect(stats.reuse_detections == 0)
        let samples = try await gateway.samples()
        #expect(samples.contains(#"martlet_events_total{event="reauthorization_required"} 0"#))
    }

    @Test func `five hundred callers at once share one refresh`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", "--reuse-detection", in: directory)
        let gateway = try await Gateway(mock, in: directory)
        let grant = try await mock.grant("alice")
        let refreshToken = try #require(grant.firstMatch(of: /"refresh_token"\s*:\s*"([^"]+)"/)).output.1
        let imported = try await gateway.martlet("accounts", "import", "alice", input: String(refreshToken))
        #expect(imported.exitCode == 0)
        try await mock.setFaults(#"[{"on":"token","times":1,"delay":"1s"}]"#)

        let statuses = try await gateway.statuses(500, "echo")

        #expect(statuses == ["200": 500])
        let stats = try await mock.stats()
        #expect(stats.token_requests.ok == 1)
        #expect(stats.reuse_detections == 0)
    }

    @Test func `a hundred callers whose tokens are refused at once cause one refresh and one replay each`() async throws
    {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", "--reuse-detection", in: directory)
        let gateway = try await Gateway(mock, in: directory)
        try await gateway.importGrant(from: mock)
        #expect(try await gateway.statuses(1, "echo") == ["200": 1])
        try await mock.expire()

        let statuses = try await gateway.statuses(100, "echo")

        #expect(statuses == ["200": 100])
        let stats = try await mock.stats()
        #expect(stats.token_requests.ok == 1)
        #expect(stats.api_requests.ok == 101)
    }

    @Test func `an upload is replayed in full when its token turns out to be dead`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", "--reuse-detection", in: directory)
        let gateway = try await Gateway(mock, in: directory)
        try await gateway.importGrant(from: mock)
        let body = Payload(size: 32 << 10)
        try directory.write(body.bytes, to: "body")
        try await mock.expire()

        let output = try await gateway.curl("echo", ["-X", "POST", "--data-binary", "@\(directory.path(of: "body"))"])

        let echo = try Echo(output)
        #expect(echo.body_size == 32 << 10)
        #expect(echo.body_sha256 == body.sha256)
        #expect(try await mock.stats().token_requests.ok == 1)
    }

    @Test func `a gateway killed right after a refresh loses nothing, five times in a row`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", "--reuse-detection", in: directory)
        var gateway = try await Gateway(mock, in: directory)
        try await gateway.importGrant(from: mock)

        for round in 1...5 {
            try await mock.expire()
            #expect(try await gateway.statuses(1, "echo") == ["200": 1], "round \(round)")
            gateway.program.signal(9)
            _ = try await gateway.program.ended()
            gateway = try await Gateway(mock, in: directory)
        }
        try await mock.expire()
        #expect(try await gateway.statuses(1, "echo") == ["200": 1])

        let stats = try await mock.stats()
        #expect(stats.token_requests.ok == 6)
        #expect(stats.token_requests.invalid_grant == 0)
        #expect(stats.reuse_detections == 0)
        #expect(stats.refresh_token_uses["alice"]?.allSatisfy { $0 <= 1 } == true)
    }
}
