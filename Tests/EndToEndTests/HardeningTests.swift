import Foundation
import TestKit
import Testing

/// What other processes can see of the memory of the process.
@Suite struct HardeningTests {
    @Test func `an ordinary user's gateway works, writes no core dump, and lets only root read its memory`()
        async throws
    {
        // Given a gateway that runs as an ordinary user
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        try Gateway.configure(mock.address, in: directory)
        let gateway = try self.start(in: directory)
        let callers = try await gateway.address(behind: "callers: ")
        let admin = try await gateway.address(behind: "admin: ")
        #expect(try self.owner(of: directory.path(of: "state")) != 0)

        // Then it works like any other: operators and callers reach it, and it reaches upstreams
        let imported = try await Program.run(
            "martlet",
            [
                "accounts", "import", "alice", "--admin", admin,
                "--admin-token-file", directory.path(of: "state/admin.token"),
            ],
            in: directory,
            input: try await mock.grant("alice")
        )
        #expect(imported.exitCode == 0, "\(imported.errors)")
        let answer = try await Program.run(
            "/usr/bin/curl",
            ["-q", "--noproxy", "*", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "\(callers)/acme/echo"],
            in: directory
        )
        #expect(answer.output == "200", "\(answer.errors)")

        // And its limits allow no core dump, and it can gain no privileges
        let limits = try String(contentsOfFile: "/proc/\(gateway.id)/limits", encoding: .utf8)
        let core = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") })
        #expect(core.split(separator: " ").count { $0 == "0" } == 2, "\(core)")
        let status = try String(contentsOfFile: "/proc/\(gateway.id)/status", encoding: .utf8)
        #expect(status.contains("NoNewPrivs:\t1"))

        // And its memory belongs to root, not to its user (proc(5))
        #expect(try self.owner(of: "/proc/\(gateway.id)/mem") == 0)
    }

    @Test func `a command that reads tokens writes no core dump either`() async throws {
        // Given a command that waits for tokens on a pipe that this test keeps open
        let directory = try TemporaryDirectory()
        try directory.write(Array("admin-token-of-this-test\n".utf8), to: "admin.token")
        try directory.setMode(0o600, of: "admin.token")
        try directory.makePipe("tokens")
        let pipe = unsafe open(directory.path(of: "tokens"), O_RDWR | O_CLOEXEC)
        try #require(pipe >= 0)
        let options = ["--admin", "http://127.0.0.1:1", "--admin-token-file", directory.path(of: "admin.token")]
        let program = try Program(
            "martlet",
            ["accounts", "import", "alice", "--file", directory.path(of: "tokens")] + options,
            in: directory
        )
        let id = program.id

        // Then its limits come to allow no core dump, and its memory comes to belong to root
        try await eventually("the program to forbid a core") {
            try #require(program.isRunning, "it ended: \(program.complaints)")
            return try self.allowsNoCore(id)
        }
        try await eventually("its memory to be root's") { try self.owner(of: "/proc/\(id)/mem") == 0 }

        // The command may not have opened the pipe yet. If the test closed the pipe too early, the command would never
        // see its end.
        program.signal(SIGKILL)
        _ = try await program.ended()
        close(pipe)
    }

    @Test(arguments: [
        ["accounts", "list"], ["status"], ["kill", "--all", "--reason", "a test"], ["audit"], ["replicas", "list"],
    ])
    func `a command that holds the admin token writes no core dump`(command: [String]) async throws {
        // Given a listener that accepts connections and never responds, so that the command waits
        let directory = try TemporaryDirectory()
        let silent = try SilentListener()
        let options = ["--admin", "http://127.0.0.1:\(silent.port)", "--admin-token-file", "admin.token"]
        try directory.write(Array("admin-token-of-this-test\n".utf8), to: "admin.token")
        try directory.setMode(0o600, of: "admin.token")
        let program = try Program("martlet", command + options, in: directory)

        // When it has connected and holds the token
        try await eventually("the command to connect") {
            try #require(program.isRunning, "it ended: \(program.complaints)")
            return silent.hasConnection
        }

        // Then its limits allow no core dump
        #expect(try self.allowsNoCore(program.id))
        program.signal(SIGKILL)
        _ = try await program.ended()
        withExtendedLifetime(silent) {}
    }

    @Test func `a command that creates a key writes no core dump`() async throws {
        // Given a command whose output nobody reads
        let directory = try TemporaryDirectory()
        let pipe = try StuckPipe("output", in: directory)
        let command = "exec \(Program.path(of: "martlet")) callers new reports >\(pipe.path)"
        let program = try Program("/bin/sh", ["-c", command], in: directory)

        // Then its limits come to allow no core dump while it holds the key
        try await eventually("the program to forbid a core") {
            try #require(program.isRunning, "it ended: \(program.complaints)")
            return try self.allowsNoCore(program.id)
        }
        program.signal(SIGKILL)
        _ = try await program.ended()
        withExtendedLifetime(pipe) {}
    }

    private func allowsNoCore(_ id: Int32) throws -> Bool {
        let limits = try String(contentsOfFile: "/proc/\(id)/limits", encoding: .utf8)
        let core = limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") }
        return core?.split(separator: " ").count { $0 == "0" } == 2
    }

    private func owner(of path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.ownerAccountID] as? Int
    }

    /// Starts the gateway as this user, or as user nobody if this user is root.
    private func start(in directory: TemporaryDirectory) throws -> Program {
        let command = [Program.path(of: "martlet"), "serve", "--config", "martlet.yaml"]
        guard geteuid() == 0 else { return try Program(command[0], Array(command[1...]), in: directory) }
        for path in [directory.path, directory.path(of: "client-secret"), directory.path(of: "martlet.yaml")] {
            let given = unsafe chown(path, 65_534, 65_534)
            try #require(given == 0)
        }
        let nobody = ["--reuid", "65534", "--regid", "65534", "--clear-groups"]
        return try Program("/usr/bin/setpriv", nobody + command, in: directory)
    }
}
