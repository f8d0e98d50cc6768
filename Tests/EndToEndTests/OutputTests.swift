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
}
