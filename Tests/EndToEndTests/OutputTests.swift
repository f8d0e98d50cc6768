import Foundation
import Glibc
import TestKit
import Testing

/// Where a command's results go, and what it ends with when they get nowhere.
@Suite struct OutputTests {
    private static func run(
        _ arguments: String,
        into output: String,
        in directory: TemporaryDirectory
    ) async throws -> Program.Outcome {
        try await Program.run(
            "/bin/sh",
            ["-c", "exec \"$0\" \(arguments) \(output)", Program.path(of: "martlet")],
            in: directory
        )
    }

    @Test(arguments: ["--help", "--version", "kill --help", "callers new reports"], [">/dev/full", ">&-"])
    func `a result that is lost is a no`(arguments: String, output: String) async throws {
        // Given a full device, or no standard output at all
        let directory = try TemporaryDirectory()

        // When a command prints there
        let outcome = try await Self.run(arguments, into: output, in: directory)

        // Then it says that this is lost
        #expect(outcome.exitCode == 1)
        #expect(outcome.errors.hasPrefix("martlet: what the command printed is lost: "), "\(outcome.errors)")
        #expect(outcome.errors.split(separator: "\n").count == 1)
    }

    @Test func `help and the version go to standard output`() async throws {
        let directory = try TemporaryDirectory()

        let help = try await Program.run("martlet", ["--help"], in: directory)
        let version = try await Program.run("martlet", ["--version"], in: directory)

        #expect(help.exitCode == 0 && help.output.contains("martlet serve --config martlet.yaml"))
        // What a script goes by stands there unbroken.
        #expect(help.output.contains("64  wrong arguments or input, such as a name that nobody knows"))
        #expect(version.exitCode == 0 && version.output.split(separator: "\n").count == 1)
        #expect(help.errors.isEmpty && version.errors.isEmpty)
    }

    @Test func `a failure is no other one for want of standard error`() async throws {
        let directory = try TemporaryDirectory()

        let outcome = try await Self.run("check --config missing.yaml", into: "2>&-", in: directory)

        #expect(outcome.exitCode == 78)
        #expect(outcome.output.isEmpty)
    }

    @Test func `a watch whose output is lost ends, and says so`() async throws {
        // Given a gateway
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(mock, in: directory)
        let token = directory.path(of: "state/admin.token")

        // When its status is watched into a full device
        let outcome = try await Self.run(
            "status --watch --admin \(gateway.admin) --admin-token-file '\(token)'",
            into: ">/dev/full",
            in: directory
        )

        // Then that ends with a no, as one status does
        #expect(outcome.exitCode == 1)
        #expect(outcome.errors.contains("what the command printed is lost"), "\(outcome.errors)")
        withExtendedLifetime((mock, gateway)) {}
    }

    @Test func `a token that stays on this machine is not said to travel in the clear`() async throws {
        // Given a configuration whose admin API is on every address, as a container's is to be reached from its host
        let directory = try TemporaryDirectory()
        try directory.write(
            Array("admin: { address: 0.0.0.0:1, allow_cleartext: true, token_file: admin.token }\nstate_dir: .\n".utf8),
            to: "martlet.yaml"
        )
        try directory.write(Array("a-token-of-an-operator\n".utf8), to: "admin.token")
        try directory.setMode(0o600, of: "admin.token")

        // When a command goes by it
        let outcome = try await Program.run("martlet", ["status", "--config", "martlet.yaml"], in: directory)

        // Then it asks by loopback, and warns of nothing
        #expect(outcome.exitCode == 69)
        #expect(outcome.errors.contains("http://127.0.0.1:1"), "\(outcome.errors)")
        #expect(!outcome.errors.contains("in the clear"), "\(outcome.errors)")
    }

    @Test(arguments: 1...3)
    func `where output and log are one stream, a line of the log is its first`(_: Int) async throws {
        // Given a gateway with nothing to warn of
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        try Gateway.configure(mock.address, in: directory, more: "limits: { connections: 100 }")
        let text = try String(contentsOfFile: directory.path(of: "martlet.yaml"), encoding: .utf8)
        try directory.write(Array(text.replacing("level: trace", with: "level: info").utf8), to: "martlet.yaml")

        // When it starts as in a container, whose log shows both
        let program = try Program(
            "/bin/sh",
            ["-c", "exec \"$0\" serve --config martlet.yaml 2>&1", Program.path(of: "martlet")],
            in: directory
        )
        try await eventually("it to say that it serves") { program.written.contains("\nmartlet serves callers: ") }
        program.signal(SIGTERM)
        let outcome = try await program.ended()

        // Then what reads that line by line begins with JSON
        #expect(outcome.output.hasPrefix("{"), "\(outcome.output)")
        withExtendedLifetime(mock) {}
    }
}
