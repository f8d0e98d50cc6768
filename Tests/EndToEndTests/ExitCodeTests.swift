import Glibc
import TestKit
import Testing

/// What scripts go by.
@Suite struct ExitCodeTests {
    @Test func `a name that nobody knows ends every command alike`() async throws {
        // Given a gateway, and commands about what it does not have
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

            // Then it is a slip of who has typed it
            #expect(outcome.exitCode == 64, "\(command): \(outcome.errors)")
            #expect(outcome.errors.split(separator: "\n").count == 1)
        }
        withExtendedLifetime((mock, gateway)) {}
    }

    @Test(arguments: [0o644, 0o640, 0o602])
    func `an admin token file that others can read or write is refused before its token goes anywhere`(
        mode: Int
    ) async throws {
        // Given a gateway, and its token in a file that is not this user's alone
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(mock, in: directory)
        let token = try #require(directory.bytes(of: "state/admin.token"))
        try directory.write(token, to: "copy")
        try directory.setMode(mode, of: "copy")
        let arguments = ["accounts", "list", "--admin", gateway.admin, "--admin-token-file", "copy"]

        // When a command is told of it
        let refused = try await Program.run("martlet", arguments, in: directory)

        // Then it says what is wrong, as the gateway does of its own
        let fault = "copy can be read or written by others (mode 0\(String(mode, radix: 8)), owner \(geteuid()), "
        #expect(refused.exitCode == 78)
        #expect(refused.errors.contains(fault), "\(refused.errors)")
        #expect(refused.errors.split(separator: "\n").count == 1, "\(refused.errors)")
        #expect(refused.output.isEmpty)

        // And takes it when that is done
        try directory.setMode(0o600, of: "copy")
        let taken = try await Program.run("martlet", arguments, in: directory)
        #expect(taken.exitCode == 0, "\(taken.errors)")
        withExtendedLifetime((mock, gateway)) {}
    }

    @Test(arguments: ["client_secret_basic", "client_secret_post"])
    func `the client's own secret is refused as a refresh token, and not shown`(proof: String) async throws {
        // Given a gateway whose client has a secret
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(mock, settings: "client_auth: \(proof)", in: directory)

        // When somebody pastes that in place of a token
        let outcome = try await gateway.martlet("accounts", "import", "alice", input: "mock-secret\n")

        // Then the input is what is wrong
        #expect(outcome.exitCode == 64)
        #expect(outcome.errors.contains("refresh_token is the client_secret of provider mock"), "\(outcome.errors)")
        #expect(!outcome.errors.contains("mock-secret"))
        #expect(!gateway.program.complaints.contains("mock-secret"))
        withExtendedLifetime(mock) {}
    }

    @Test func `where callers are answered no gateway's admin API is there, whatever token is missing`() async throws {
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

    @Test func `https to an admin listener without TLS is told from a gateway that is not there`() async throws {
        // Given a gateway whose admin listener has no TLS
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(mock, in: directory)
        let address = gateway.admin.replacing("http://", with: "https://")

        // When it is asked with TLS
        let arguments = ["status", "--admin", address, "--admin-token-file", directory.path(of: "state/admin.token")]
        let outcome = try await Program.run("martlet", arguments, in: directory)

        // Then the command says what is there
        #expect(outcome.exitCode == 69)
        #expect(outcome.errors.contains("speaks plain HTTP, without TLS"), "\(outcome.errors)")
        withExtendedLifetime((mock, gateway)) {}
    }
}
