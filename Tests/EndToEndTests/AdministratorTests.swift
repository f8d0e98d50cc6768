import TestKit
import Testing

/// Administrators with their own tokens and roles, and a gateway with many silent connections on its admin listener.
@Suite struct AdministratorTests {
    /// Creates a token and its line for the token file with `martlet admin new`.
    private func newAdministrator(
        _ name: String,
        _ role: String,
        in directory: TemporaryDirectory
    ) async throws -> (token: String, line: String) {
        let outcome = try await Program.run("martlet", ["admin", "new", name, "--role", role], in: directory)
        #expect(outcome.exitCode == 0, "\(outcome.errors)")
        let lines = outcome.output.split(separator: "\n").map(String.init)
        #expect(lines.count == 2)
        let token = try #require(lines.first?.wholeMatch(of: /token: (martlet_admin_[0-9A-Za-z]{43})/)?.output.1)
        #expect(lines.last == "line:  \(name) \(role) \(token)")
        return (String(token), "\(name) \(role) \(token)\n")
    }

    @Test func `a new token admits the administrator in its line, with that role, and the audit log names them`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(mock, in: directory)
        try await gateway.importGrant(from: mock)
        let vera = try await self.newAdministrator("vera", "viewer", in: directory)
        let kim = try await self.newAdministrator("kim", "killer", in: directory)
        func martlet(as token: String, _ arguments: String...) async throws -> Program.Outcome {
            try directory.write(Array("\(token)\n".utf8), to: "own.token")
            try directory.setMode(0o600, of: "own.token")
            let access = ["--admin", gateway.admin, "--admin-token-file", directory.path(of: "own.token")]
            return try await Program.run("martlet", arguments + access, in: directory)
        }
        #expect(try await martlet(as: vera.token, "status").exitCode == 77)

        let file = String(decoding: try #require(directory.bytes(of: "state/admin.token")), as: UTF8.self)
        try directory.write(Array((file + vera.line + kim.line).utf8), to: "state/admin.token")
        #expect(try await gateway.reload().contains("admin tokens"))

        #expect(try await martlet(as: vera.token, "status").exitCode == 0)
        #expect(try await martlet(as: vera.line, "accounts", "list").exitCode == 0)
        let refused = try await martlet(as: vera.token, "kill", "--account", "alice", "--reason", "drill")
        #expect(refused.exitCode == 77)
        #expect(refused.errors.contains("the admin token is vera's, a viewer"), "\(refused.errors)")
        #expect(refused.errors.split(separator: "\n").count == 1)
        #expect(try await martlet(as: kim.token, "kill", "--account", "alice", "--reason", "drill").exitCode == 0)
        #expect(try await martlet(as: kim.token, "revive", "--account", "alice", "--reason", "over").exitCode == 77)
        #expect(try await gateway.martlet("revive", "--account", "alice", "--reason", "over").exitCode == 0)

        let audit = try await martlet(as: vera.token, "audit")
        let rows = audit.output.split(separator: "\n").filter { $0.contains(" account alice ") }
        #expect(rows.count { $0.contains("  kim 127.0.0.1:") && $0.contains("  kill  ") } == 2, "\(audit.output)")
        #expect(rows.count { $0.contains("  admin 127.0.0.1:") && $0.contains("  revive  ") } == 2)
        #expect(try await gateway.martlet("audit", "--verify").exitCode == 0)
        gateway.program.signal(15)
        let log = try await gateway.program.ended().errors
        for token in [vera.token, kim.token] { #expect(!log.contains(token)) }
    }

    @Test(arguments: [
        ["admin", "new", "dana"], ["admin", "new", "dana", "--role", "boss"],
        ["admin", "new", "a b", "--role", "viewer"], ["admin", "new", "admin", "--role", "viewer"],
        ["admin", "new", "rita", "--role", "registrar"],
        ["admin", "new", "rita", "--role", "registrar", "--accounts", "*"],
        ["admin", "new", "kim", "--role", "killer", "--accounts", "customer-*"],
    ])
    func `no token is created with an unknown role or an invalid name`(
        arguments: [String]
    ) async throws {
        let outcome = try await Program.run("martlet", arguments, in: try TemporaryDirectory())
        #expect(outcome.exitCode == 64)
        #expect(outcome.output.isEmpty)
        #expect(outcome.errors.split(separator: "\n").count == 1)
    }

    @Test func `a registrar's line is printed with its accounts`() async throws {
        let arguments = ["admin", "new", "signup", "--role", "registrar", "--accounts", "customer-*"]
        let outcome = try await Program.run("martlet", arguments, in: try TemporaryDirectory())
        #expect(outcome.exitCode == 0)
        #expect(outcome.output.contains(/\nline:  signup registrar:customer-\* martlet_admin_[0-9A-Za-z]{43}\n/))
    }

    @Test func `status and kill work despite 600 silent connections to the admin listener`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(mock, in: directory)
        try await gateway.importGrant(from: mock)
        let crowd = try Crowd(600, to: gateway.admin)
        let status = try await gateway.martlet("status")
        #expect(status.exitCode == 0, "\(status.errors)")
        let kill = try await gateway.martlet("kill", "--all", "--reason", "drill")
        #expect(kill.exitCode == 0, "\(kill.errors)")
        // The gateway closes every silent connection within the time limit for a first request head.
        try await eventually("all silent ones to be closed") { crowd.peek().allSatisfy { $0 == nil } }
        withExtendedLifetime(mock) {}
    }
}
