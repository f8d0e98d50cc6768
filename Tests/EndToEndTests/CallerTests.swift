import TestKit
import Testing

/// Callers that authenticate with keys, as an operator configures them and curl sends them.
@Suite struct CallerTests {
    /// Creates a key and its configuration line with `martlet callers new`.
    private func newCaller(_ name: String, in directory: TemporaryDirectory) async throws -> (key: String, line: String)
    {
        let outcome = try await Program.run("martlet", ["callers", "new", name], in: directory)
        #expect(outcome.exitCode == 0, "\(outcome.errors)")
        let lines = outcome.output.split(separator: "\n").map(String.init)
        #expect(lines.count == 2)
        let key = try #require(lines.first?.wholeMatch(of: /key: +(martlet_[0-9A-Za-z]{43})/)?.output.1)
        let line = try #require(
            lines.last?.wholeMatch(of: /line: (- \{ name: [^ ]+, key_sha256: [0-9a-f]{64} \})/)?.output.1
        )
        return (String(key), String(line))
    }

    @Test func `a printed key grants what its configuration line allows, and other keys grant nothing`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let reports = try await self.newCaller("reports", in: directory)
        let batch = try await self.newCaller("batch", in: directory)
        #expect(reports.key != batch.key)
        let limited = batch.line.replacing(" }", with: ", methods: [POST] }")
        let gateway = try await Gateway(mock, in: directory, more: "callers:\n  \(reports.line)\n  \(limited)")
        try await gateway.importGrant(from: mock)

        func status(_ arguments: String...) async throws -> String {
            try await gateway.curl("echo", ["-o", "/dev/null", "-w", "%{http_code}"] + arguments)
        }
        #expect(try await status() == "401")
        #expect(try await status("-H", "Martlet-Key: \(reports.key)") == "200")
        #expect(try await status("-H", "Authorization: Bearer \(reports.key)") == "200")
        #expect(try await status("-u", "anything:\(reports.key)") == "200")
        #expect(try await status("-u", "anything:\(reports.key)x") == "401")
        #expect(try await status("-H", "Martlet-Key: \(batch.key)") == "403")
        #expect(try await status("-H", "Martlet-Key: \(batch.key)", "-d", "x") == "200")

        let echo = try Echo(try await gateway.curl("echo", ["-H", "Martlet-Key: \(reports.key)", "-u", "a:b"]))
        #expect(echo.values("Authorization").count == 1)
        #expect(echo.headers.allSatisfy { !$0[0].lowercased().hasPrefix("martlet") && !$0[1].contains(reports.key) })
        let requests = try await mock.stats().api_requests
        #expect(requests.ok == 5 && requests.no_token == 0)
        // This checks the whole log at level trace.
        gateway.program.signal(15)
        #expect(try await !gateway.program.ended().errors.contains(reports.key))
    }

    @Test func `an invalid caller name is a usage error, and help has an example`() async throws {
        let directory = try TemporaryDirectory()
        for arguments in [["callers", "new", "a b"], ["callers", "new"]] {
            let outcome = try await Program.run("martlet", arguments, in: directory)
            #expect(outcome.exitCode == 64)
            #expect(outcome.output.isEmpty)
            #expect(outcome.errors.split(separator: "\n").count == 1)
        }
        for arguments in [["callers", "--help"], ["callers", "new", "--help"]] {
            let outcome = try await Program.run("martlet", arguments, in: directory)
            #expect(outcome.exitCode == 0)
            #expect(outcome.output.contains("martlet callers new reports"))
        }
    }

    @Test func `without callers a browser's request is refused, and curl's is not`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(mock, in: directory)
        try await gateway.importGrant(from: mock)
        for field in ["Origin: https://evil.example", "Sec-Fetch-Site: cross-site", "Host: evil.example"] {
            let output = try await gateway.curl("echo", ["-i", "-H", field])
            #expect(output.hasPrefix("HTTP/1.1 403 "))
            #expect(output.contains("urn:martlet:error:caller_forbidden"))
        }
        #expect(try await mock.stats().api_requests.ok == 0)
        #expect(try await gateway.curl("echo", ["-o", "/dev/null", "-w", "%{http_code}"]) == "200")
    }

    @Test func `curl reaches the gateway over a Unix socket`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let path = directory.path(of: "m.sock")
        let gateway = try await Gateway(mock, in: directory, listener: "unix:\(path)")
        #expect(gateway.callers == "unix:\(path)")
        try await gateway.importGrant(from: mock)

        let outcome = try await Program.run(
            "/usr/bin/curl",
            ["-q", "-sS", "--unix-socket", path, "http://api.local/acme/echo", "-d", "hello"],
            in: directory
        )
        #expect(outcome.exitCode == 0, "\(outcome.errors)")
        let echo = try Echo(outcome.output)
        #expect(echo.method == "POST" && echo.path == "/api/echo" && echo.body_size == 5)
        #expect(try await gateway.martlet("status").output.contains("unix:\(path)"))

        gateway.program.signal(15)
        #expect(try await gateway.program.ended().exitCode == 0)
        #expect(directory.bytes(of: "m.sock") == nil)
        #expect(try await Program.run("/usr/bin/test", ["-e", path], in: directory).exitCode == 1)
    }

    @Test func `a socket left by a killed gateway does not keep the next one from starting`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let listener = "unix:\(directory.path(of: "m.sock"))"
        let first = try await Gateway(mock, in: directory, listener: listener)
        let second = try await Program.run("martlet", ["serve", "--config", "martlet.yaml"], in: directory)
        #expect(second.exitCode == 69)
        #expect(second.errors.contains("another process listens there"))
        first.program.signal(9)
        _ = try await first.program.ended()
        let third = try await Gateway(mock, in: directory, listener: listener)
        #expect(third.callers == listener)
    }
}
