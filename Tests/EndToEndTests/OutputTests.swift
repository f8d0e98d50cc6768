import Foundation
import Glibc
import TestKit
import Testing

/// Where a command's output goes, and its exit code when the output can't be written.
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
    func `a command whose output is lost fails`(arguments: String, output: String) async throws {
        // Given a full device or no standard output
        let directory = try TemporaryDirectory()

        // When a command prints to it
        let outcome = try await Self.run(arguments, into: output, in: directory)

        // Then the command reports that its output is lost
        #expect(outcome.exitCode == 1)
        #expect(outcome.errors.hasPrefix("martlet: the output can't be written: "), "\(outcome.errors)")
        #expect(outcome.errors.split(separator: "\n").count == 1)
    }

    @Test func `help and the version go to standard output`() async throws {
        let directory = try TemporaryDirectory()

        let help = try await Program.run("martlet", ["--help"], in: directory)
        let version = try await Program.run("martlet", ["--version"], in: directory)

        #expect(help.exitCode == 0 && help.output.contains("martlet serve --config martlet.yaml"))
        // The line about an exit code is not wrapped, so that scripts and users can find it.
        #expect(help.output.contains("64  wrong arguments or input, such as a name that nobody knows"))
        #expect(version.exitCode == 0 && version.output.split(separator: "\n").count == 1)
        #expect(help.errors.isEmpty && version.errors.isEmpty)
    }

    @Test func `the exit code of a failure does not depend on standard error`() async throws {
        let directory = try TemporaryDirectory()

        let outcome = try await Self.run("check --config missing.yaml", into: "2>&-", in: directory)

        #expect(outcome.exitCode == 78)
        #expect(outcome.output.isEmpty)
    }

    @Test func `a watch whose output is lost ends with an error`() async throws {
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

        // Then the command ends with exit code 1, as `status` without `--watch` does
        #expect(outcome.exitCode == 1)
        #expect(outcome.errors.contains("the output can't be written"), "\(outcome.errors)")
        withExtendedLifetime((mock, gateway)) {}
    }

    @Test func `a token that stays on this machine causes no cleartext warning`() async throws {
        // Given a configuration whose admin API listens on every address, like one in a container that its host must
        // reach
        let directory = try TemporaryDirectory()
        try directory.write(
            Array("admin: { address: 0.0.0.0:1, allow_cleartext: true, token_file: admin.token }\nstate_dir: .\n".utf8),
            to: "martlet.yaml"
        )
        try directory.write(Array("a-token-of-an-operator\n".utf8), to: "admin.token")
        try directory.setMode(0o600, of: "admin.token")

        // When a command uses that configuration
        let outcome = try await Program.run("martlet", ["status", "--config", "martlet.yaml"], in: directory)

        // Then it connects over loopback and prints no warning
        #expect(outcome.exitCode == 69)
        #expect(outcome.errors.contains("http://127.0.0.1:1"), "\(outcome.errors)")
        #expect(!outcome.errors.contains("in the clear"), "\(outcome.errors)")
    }

    @Test(arguments: 1...3)
    func `with output and log on one stream the first line is a log line`(_: Int) async throws {
        // Given a gateway with no warnings to log
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        try Gateway.configure(mock.address, in: directory, more: "limits: { connections: 100 }")
        let text = try String(contentsOfFile: directory.path(of: "martlet.yaml"), encoding: .utf8)
        try directory.write(Array(text.replacing("level: trace", with: "level: info").utf8), to: "martlet.yaml")

        // When it starts as in a container, whose log contains both
        let program = try Program(
            "/bin/sh",
            ["-c", "exec \"$0\" serve --config martlet.yaml 2>&1", Program.path(of: "martlet")],
            in: directory
        )
        try await eventually("it to say that it serves") { program.written.contains("\nmartlet serves callers: ") }
        program.signal(SIGTERM)
        let outcome = try await program.ended()

        // Then a reader that parses the stream by line finds JSON first
        #expect(outcome.output.hasPrefix("{"), "\(outcome.output)")
        withExtendedLifetime(mock) {}
    }
}
