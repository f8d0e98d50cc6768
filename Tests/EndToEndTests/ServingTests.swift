import TestKit
import Testing

/// How the running gateway handles bad requests, a stop, and operators.
@Suite struct ServingTests {
    @Test func `a malformed request gets status 400 and is not forwarded`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(mock, in: directory)
        try await gateway.importGrant(from: mock)

        let output = try await gateway.curl(
            "echo",
            ["-i", "-H", "Content-Length: 3", "-H", "Transfer-Encoding: chunked", "-d", "abc"]
        )

        #expect(output.hasPrefix("HTTP/1.1 400 "))
        #expect(output.contains("urn:martlet:error:bad_request"))
        #expect(output.lowercased().contains("connection: close"))
        let requests = try await mock.stats().api_requests
        #expect(requests.ok == 0)
        #expect(requests.no_token == 0)
    }

    @Test func `the response names an account without tokens`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(mock, in: directory)

        let output = try await gateway.curl("echo", ["-i"])

        #expect(output.hasPrefix("HTTP/1.1 503 "))
        #expect(output.contains("urn:martlet:error:account_empty"))
        #expect(output.contains(#""account":"alice""#))
        #expect(try await mock.stats().api_requests.no_token == 0)
    }

    @Test func `SIGTERM lets the request in progress end, then the program exits with 0`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(mock, in: directory)
        try await gateway.importGrant(from: mock)
        let stream = try Program(
            "/usr/bin/curl",
            ["-q", "--noproxy", "*", "-sSN", "\(gateway.callers)/acme/stream/3?every=500ms"],
            in: directory
        )
        try await eventually("the first event") { stream.written.contains("data:") }

        gateway.program.signal(15)

        let outcome = try await stream.ended()
        #expect(outcome.exitCode == 0)
        #expect(outcome.output.split(separator: "\n").count { $0.hasPrefix("data:") } == 3)
        let gone = try await gateway.program.ended()
        #expect(gone.exitCode == 0)
        #expect(!gone.errors.contains("ERROR"), "\(gone.errors)")
    }

    @Test func `a malformed token response leaves the stored token usable`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", in: directory)
        let gateway = try await Gateway(mock, in: directory)
        try await gateway.importGrant(from: mock)
        try await mock.setFaults(#"[{"on":"token","times":1,"status":200,"headers":{},"body":"<html>"}]"#)
        try await mock.expire()

        // The first response is ambiguous, so the gateway sends the same refresh token once more.
        #expect(try await gateway.statuses(1, "echo") == ["200": 1])
        #expect(try await mock.stats().token_requests.ok == 1)
    }

    @Test func `an operator lists, refreshes and removes an account, and no output shows a token`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", "--opaque", in: directory)
        let gateway = try await Gateway(mock, in: directory)
        let grant = try await mock.grant("alice")
        let tokens = grant.matches(of: /_token"\s*:\s*"([^"]+)"/).map { String($0.output.1) }
        #expect(tokens.count == 2)

        let imported = try await gateway.martlet("accounts", "import", "alice", input: grant)
        let refreshed = try await gateway.martlet("accounts", "refresh", "alice")
        let listed = try await gateway.martlet("accounts", "list")
        let status = try await gateway.martlet("status")
        let removed = try await gateway.martlet("accounts", "remove", "alice")
        let shown = try await gateway.martlet("accounts", "show", "alice")

        for outcome in [imported, refreshed, listed, status, removed, shown] {
            #expect(outcome.exitCode == 0, "\(outcome.errors)")
            for token in tokens { #expect(!(outcome.output + outcome.errors).contains(token)) }
        }
        #expect(listed.output.contains("alice"))
        #expect(shown.output.contains("empty"))
        #expect(try await gateway.martlet("health").exitCode == 0)
        let log = gateway.program.complaints + gateway.program.written
        for secret in tokens + ["mock-secret"] { #expect(!log.contains(secret)) }
        #expect(log.contains("trace") || log.contains("debug"))
    }
}
