import TestKit
import Testing

/// What operators see of a gateway that starts, and of one that drains.
@Suite struct StoppingTests {
    @Test func `a gateway that drains says so and is not ready`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(mock, in: directory, more: "shutdown_grace: 10m")
        try await gateway.importGrant(from: mock)
        #expect(try await gateway.martlet("health").exitCode == 0)
        let stream = try Program(
            "/usr/bin/curl",
            ["-q", "--noproxy", "*", "-sSN", "\(gateway.callers)/acme/stream/1000?every=1s"],
            in: directory
        )
        try await eventually("the first event") { stream.written.contains("data:") }

        gateway.program.signal(15)
        try await eventually("it to say so") { gateway.program.written.contains("stopping") }

        #expect(gateway.program.written.contains("\nstopping, waiting up to 600 s for 1 request\n"))
        try await eventually("it to be not ready") { try await gateway.martlet("health").exitCode == 1 }
        let health = try await gateway.martlet("health")
        #expect(health.errors.contains("not ready: it is stopping"), "\(health.errors)")
        let status = try await gateway.martlet("status")
        #expect(status.output.contains("not ready") && status.output.contains("(not bound)"))
        let readiness = try await Program.run(
            "/usr/bin/curl",
            ["-q", "--noproxy", "*", "-s", "-o", "/dev/null", "-w", "%{http_code}", "\(gateway.metrics)/readyz"],
            in: directory
        )
        #expect(readiness.output == "503")
        stream.signal(15)
        let gone = try await gateway.program.ended()
        #expect(gone.exitCode == 0)
        #expect(gone.errors.contains(#""message":"martlet serves""#))
        #expect(gone.errors.contains(#""message":"stopping, waiting up to 600 s for 1 request""#))
    }

    @Test func `a gateway that stops waits for a provider that rotates at once and responds late`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", "--reuse-detection", in: directory)
        let first = try await Gateway(mock, settings: "timeout: 300ms", in: directory)
        try await first.importGrant(from: mock)
        try await mock.expire()
        try await mock.setFaults(#"[{"on":"token","times":1,"delay_answer":"12s"}]"#)

        let early = try await first.statuses(1, "echo")
        first.program.signal(15)
        let gone = try await first.program.ended()
        let second = try await Gateway(mock, settings: "timeout: 300ms", in: directory)
        let late = try await second.statuses(1, "echo")

        #expect(early == ["503": 1])
        #expect(gone.exitCode == 0)
        #expect(gone.errors.contains("waiting for providers' answers to token requests that were sent"))
        #expect(late == ["200": 1])
        #expect(try await mock.stats().token_requests.ok == 1)
    }

    @Test func `a second signal ends the gateway at once`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(mock, in: directory)
        try await gateway.importGrant(from: mock)
        let stream = try Program(
            "/usr/bin/curl",
            ["-q", "--noproxy", "*", "-sSN", "\(gateway.callers)/acme/stream/1000?every=300ms"],
            in: directory
        )
        try await eventually("the first event") { stream.written.contains("data:") }
        gateway.program.signal(15)
        try await eventually("it to stop") { gateway.program.written.contains("stopping") }

        gateway.program.signal(15)

        let gone = try await gateway.program.ended()
        #expect(gone.exitCode == 143)
        #expect(gone.errors.contains("stopped at once by a second signal"))
        stream.signal(15)
    }

    @Test func `an operator learns why a refresh failed and that the old token is still valid`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let first = try await Gateway(mock, in: directory)
        try await first.importGrant(from: mock)
        first.program.signal(15)
        #expect(try await first.program.ended().exitCode == 0)
        // The provider expects another secret.
        let text = try #require(directory.bytes(of: "martlet.yaml"))
        let replaced = String(decoding: text, as: UTF8.self)
            .replacing("client_secret: { file: client-secret }", with: "client_secret: { file: other-secret }")
        try directory.write(Array("canary-secret\n".utf8), to: "other-secret")
        try directory.setMode(0o600, of: "other-secret")
        try directory.write(Array(replaced.utf8), to: "martlet.yaml")
        let program = try Program("martlet", ["serve", "--config", "martlet.yaml"], in: directory)
        let admin = try await program.address(behind: "admin: ")

        let refreshed = try await Program.run(
            "martlet",
            [
                "accounts", "refresh", "alice", "--admin", admin,
                "--admin-token-file", directory.path(of: "state/admin.token"),
            ],
            in: directory
        )

        #expect(refreshed.exitCode == 1)
        #expect(refreshed.errors.split(separator: "\n").count == 1)
        #expect(
            refreshed.errors.contains("was not refreshed (config.invalid_client), and its old token is still valid")
        )
        #expect(refreshed.errors.contains("client_secret and client_auth of providers.mock"))
        program.signal(15)
        let lines = try await program.ended().errors.split(separator: "\n")
        let exchange = lines.filter { $0.contains("token endpoint gave no tokens") }
        #expect(exchange.count == 1)
        for fact in [
            #""account.name":"alice""#, #""http.status":401,"#, #""reason":"invalid_client""#,
            #""url.full":"\#(mock.address)/oauth/token""#, #""level":"warning""#,
        ] { #expect(exchange.first?.contains(fact) == true, "\(exchange)") }
        #expect(lines.contains { $0.contains("a refresh failed") && $0.contains(#""level":"warning""#) })
        #expect(!lines.contains { $0.contains("canary-secret") })
    }

    @Test func `an import says whether it replaced tokens, and refuses invalid input`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(mock, in: directory)
        let first = try await gateway.martlet("accounts", "import", "alice", input: try await mock.grant("alice"))
        #expect(first.output.hasPrefix("imported tokens for alice; "))
        let rubbish = try await gateway.martlet("accounts", "import", "alice", input: "\"mrt_canary\"\n")
        #expect(rubbish.exitCode == 64)
        #expect(rubbish.errors.contains("jq -r") && !rubbish.errors.contains("canary"))
        #expect(try await gateway.statuses(1, "echo") == ["200": 1])
        let second = try await gateway.martlet("accounts", "import", "alice", input: try await mock.grant("alice"))
        #expect(second.output.hasPrefix("replaced the tokens of alice; "))
        let nobody = try await gateway.martlet("accounts", "show", "nobody")
        #expect(nobody.exitCode == 64)
        #expect(nobody.errors.contains("martlet accounts list") && !nobody.errors.contains("/v1/"))
        let callers = try await Program.run(
            "martlet",
            ["status", "--admin", gateway.callers, "--admin-token-file", directory.path(of: "state/admin.token")],
            in: directory
        )
        #expect(callers.exitCode == 69)
        #expect(callers.errors.contains("that is not an admin address"), "\(callers.errors)")
    }
}
