import Foundation
import TestKit
import Testing

/// More callers than the gateway has connections for.
@Suite struct OverloadTests {
    /// A gateway with a low descriptor limit, and its addresses.
    private struct Cramped {
        let program: Program
        let callers: String
        let admin: String
        let metrics: String
        let directory: TemporaryDirectory

        init(_ mock: Mock, descriptors: Int, in directory: TemporaryDirectory) async throws {
            self.directory = directory
            try Gateway.configure(mock.address, in: directory, more: "limits: { header_timeout: 10m }")
            self.program = try Program(
                "/bin/sh",
                [
                    "-c", "ulimit -n \(descriptors) && exec \"$0\" serve --config martlet.yaml",
                    Program.path(of: "martlet"),
                ],
                in: directory
            )
            self.callers = try await self.program.address(behind: "callers: ")
            self.admin = try await self.program.address(behind: "admin: ")
            self.metrics = try await self.program.address(behind: "metrics: ")
            let imported = try await self.martlet("accounts", "import", "alice", input: try await mock.grant("alice"))
            try #require(imported.exitCode == 0, "\(imported.errors)")
        }

        func martlet(_ arguments: String..., input: String? = nil) async throws -> Program.Outcome {
            try await Program.run(
                "martlet",
                arguments + [
                    "--admin", self.admin, "--admin-token-file", self.directory.path(of: "state/admin.token"),
                ],
                in: self.directory,
                input: input
            )
        }

        /// The status code that curl gets, or 000.
        func status(_ url: String) async throws -> String {
            try await Program.run(
                "/usr/bin/curl",
                ["-q", "--noproxy", "*", "-sS", "--max-time", "60", "-o", "/dev/null", "-w", "%{http_code}", url],
                in: self.directory
            ).output
        }

        /// The number of descriptors that the gateway has open.
        var descriptors: Int {
            (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(self.program.id)/fd").count) ?? 0
        }
    }

    @Test
    func
        `a thousand connections to a gateway with 256 descriptors are shed, and operators and later callers are served`()
        async throws
    {
        // Given a gateway that reports too few descriptors for its default number of connections
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let gateway = try await Cramped(mock, descriptors: 256, in: directory)
        let complaints = gateway.program.complaints
        #expect(complaints.contains("too few descriptors"))
        for remedy in ["ulimit -n", "--ulimit nofile", "LimitNOFILE"] { #expect(complaints.contains(remedy)) }

        // When a thousand callers connect and begin a request
        let crowd = try Crowd(1_000, to: gateway.callers)
        crowd.send("GET /acme/echo HTTP/1.1\r\nHost: localhost\r\n")

        // Then each connection has a place, or is closed for a later one, and some descriptors stay free
        try await eventually("all but those with a place to be shed") {
            crowd.peek().count { $0 == "" } <= 100
        }
        #expect(crowd.peek().count { $0 == "" } >= 32)
        #expect(gateway.descriptors < 256 - 32)

        // And operators and refreshes still work
        #expect(try await gateway.status("\(gateway.admin)/healthz") == "200")
        #expect(try await gateway.status("\(gateway.metrics)/metrics") == "200")
        let refreshed = try await gateway.martlet("accounts", "refresh", "alice")
        #expect(refreshed.exitCode == 0, "\(refreshed.errors)")

        // When those with a place complete their request, then no other caller gets their place
        crowd.send("\r\n")
        try await eventually("their responses") { crowd.peek().allSatisfy { $0 != "" } }
        try await eventually("another caller to be told that there is no place") {
            try await gateway.status("\(gateway.callers)/acme/echo") == "503"
        }

        // When the crowd leaves, then there are free places again
        crowd.leave()
        try await eventually("a place for another caller") {
            try await gateway.status("\(gateway.callers)/acme/echo") == "200"
        }
    }

    @Test func `a reduced default limit is reported once, and a reduced explicit limit is a warning`() async throws {
        // Given a gateway that accepts fewer connections than the default
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let gateway = try await Cramped(mock, descriptors: 2_048, in: directory)
        let program = gateway.program
        let lines = { @Sendable (words: String) -> [Substring] in
            program.complaints.split(separator: "\n").filter { $0.contains(words) }
        }
        func reload(_ count: Int) async throws {
            program.signal(1)
            try await eventually("reload \(count)") { lines(#""config_reloaded""#).count == count }
        }
        #expect(lines("too few descriptors").count == 1)
        #expect(lines("too few descriptors").first?.contains(#""level":"info""#) == true)

        // When it reads the same configuration again, it does not repeat the report
        try await reload(1)
        #expect(lines("too few descriptors").count == 1)

        // When the file sets a limit that is too high, it warns once
        try Gateway.configure(mock.address, in: directory, more: "limits: { connections: 5000 }")
        try await reload(2)
        try await reload(3)
        #expect(lines("too few descriptors").count == 2)
        #expect(lines("too few descriptors").last?.contains(#""level":"warning""#) == true)
    }
}
