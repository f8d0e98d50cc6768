import Glibc
import TestKit
import Testing

/// Exit codes that scripts rely on.
@Suite struct ExitCodeTests {
    @Test func `every command ends with the same exit code for an unknown name`() async throws {
        // Given a gateway, and commands with names that it does not know
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(mock, in: directory)
        let options = ["--admin", gateway.admin, "--admin-token-file", directory.path(of: "state/admin.token")]
        let commands = [
            ["accounts", "show", "nobody"], ["accounts", "refresh", "nobody"], ["accounts", "adopt", "nobody"],
            ["accounts", "remove", "nobody"], ["accounts", "import", "nobody"], ["replicas", "forget", "nobody"],
            ["kill", "--account", "nobody", "--reason", "drill"],
            ["kill", "--provider", "nobody", "--reason", "drill"],
            ["revive", "--account", "nobody", "--reason", "drill"],
            ["revive", "--provider", "nobody", "--reason", "drill"],
        ]
        for command in commands {
            // When each runs
            let outcome = try await Program.run("martlet", command + options, in: directory, input: "a-refresh-token")

            // Then the exit code says that the input is wrong
            #expect(outcome.exitCode == 64, "\(command): \(outcome.errors)")
            #expect(outcome.errors.split(separator: "\n").count == 1)
        }
        withExtendedLifetime((mock, gateway)) {}
    }

    @Test(arguments: [0o644, 0o640, 0o602])
    func `an admin token file that others can read or write is refused before its token is sent`(
        mode: Int
    ) async throws {
        // Given a gateway, and its token in a file that other users can access
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(mock, in: directory)
        let token = try #require(directory.bytes(of: "state/admin.token"))
        try directory.write(token, to: "copy")
        try directory.setMode(mode, of: "copy")
        let arguments = ["accounts", "list", "--admin", gateway.admin, "--admin-token-file", "copy"]

        // When a command uses the file
        let refused = try await Program.run("martlet", arguments, in: directory)

        // Then the command reports the fault, as the gateway does for its own files
        let fault = "copy can be read or written by others (mode 0\(String(mode, radix: 8)), owner \(geteuid()), "
        #expect(refused.exitCode == 78)
        #expect(refused.errors.contains(fault), "\(refused.errors)")
        #expect(refused.errors.split(separator: "\n").count == 1, "\(refused.errors)")
        #expect(refused.output.isEmpty)

        // And it accepts the file once the mode is fixed
        try directory.setMode(0o600, of: "copy")
        let taken = try await Program.run("martlet", arguments, in: directory)
        #expect(taken.exitCode == 0, "\(taken.errors)")
        withExtendedLifetime((mock, gateway)) {}
    }

    @Test(arguments: ["client_secret_basic", "client_secret_post"])
    func `the client secret is refused as a refresh token and not shown`(proof: String) async throws {
        // Given a gateway whose client has a secret
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(mock, settings: "client_auth: \(proof)", in: directory)

        // When somebody pastes the secret in place of a token
        let outcome = try await gateway.martlet("accounts", "import", "alice", input: "mock-secret\n")

        // Then the command reports wrong input
        #expect(outcome.exitCode == 64)
        #expect(outcome.errors.contains("refresh_token is the client_secret of provider mock"), "\(outcome.errors)")
        #expect(!outcome.errors.contains("mock-secret"))
        #expect(!gateway.program.complaints.contains("mock-secret"))
        withExtendedLifetime(mock) {}
    }

    @Test func `a listener for callers is named as such even if the admin token is missing`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(mock, in: directory)
        let arguments = ["status", "--admin", gateway.callers, "--admin-token-file", "/no/such"]
        let outcome = try await Program.run("martlet", arguments, in: directory)
        #expect(outcome.exitCode == 69)
        #expect(outcome.errors.contains("that is not an admin address, but one for callers"), "\(outcome.errors)")
        #expect(outcome.errors.contains("; and nothing could be asked without a token: no admin token from /no/such"))
        withExtendedLifetime((mock, gateway)) {}
    }

    @Test func `a command over https tells an admin listener without TLS from an absent gateway`() async throws {
        // Given a gateway whose admin listener has no TLS
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(mock, in: directory)
        let address = gateway.admin.replacing("http://", with: "https://")

        // When a command connects with TLS
        let arguments = ["status", "--admin", address, "--admin-token-file", directory.path(of: "state/admin.token")]
        let outcome = try await Program.run("martlet", arguments, in: directory)

        // Then the command says that the listener uses plain HTTP
        #expect(outcome.exitCode == 69)
        #expect(outcome.errors.contains("speaks plain HTTP, without TLS"), "\(outcome.errors)")
        withExtendedLifetime((mock, gateway)) {}
    }
}
