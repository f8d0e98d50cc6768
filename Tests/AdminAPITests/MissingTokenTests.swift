internal import AdminAPI
internal import TestKit
internal import Testing

/// Commands without an admin token.
@Suite struct MissingTokenTests {
    private static let commands = [
        ["status"], ["accounts", "list"], ["accounts", "import", "alice"], ["kill", "--all", "--reason", "drill"],
        ["audit"],
    ]

    @Test(arguments: Self.commands)
    func `an absent gateway is reported first, together with the missing token`(command: [String]) async throws {
        // Given a configuration whose gateway does not run and has never created its token
        let program = try Program()
        let configuration = try program.file("some.yaml", "state_dir: other\nadmin: { address: 127.0.0.1:1 }\n")

        // When a command uses it
        let outcome = try await program.run(command + ["--config", configuration], input: "refresh-canary")

        // Then the command reports that no gateway is there, regardless of the token
        #expect(outcome.status == 69)
        let first = "martlet: can't reach the gateway at http://127.0.0.1:1: Connection refused; "
        #expect(outcome.complaint.hasPrefix(first), "\(outcome.complaint)")
        #expect(outcome.complaint.contains("/other/admin.token, where martlet serve makes it"))
        #expect(outcome.complaint.split(separator: "\n").count == 1)
    }

    @Test(arguments: Self.commands)
    func `a running gateway without a token is reported as a missing token`(command: [String]) async throws {
        try await AdminFixture.run { admin in
            // Given a running gateway, and a configuration that names another state_dir
            let program = try Program()
            let configuration = try program.file(
                "some.yaml",
                "state_dir: other\nadmin: { address: \"\(admin.server.address)\" }\n"
            )

            // When a command uses it
            let outcome = try await program.run(command + ["--config", configuration], input: "refresh-canary")

            // Then the command names the file that it looked for, and why the file may not exist
            #expect(outcome.status == 77)
            #expect(outcome.complaint.contains("/other/admin.token, where martlet serve makes it"))
            let hint =
                "; what answers at \(admin.caller.base) may be a gateway with another state_dir or token_file\n"
            #expect(outcome.complaint.hasSuffix(hint), "\(outcome.complaint)")
            #expect(outcome.complaint.split(separator: "\n").count == 1)
            // The gateway does not count the request as an attempt to guess tokens.
            #expect(!admin.logs.text.contains("an admin request was refused"))
        }
    }

    @Test func `a kill without a gateway and without a token says that nothing was killed`() async throws {
        let program = try Program()
        let outcome = try await program.run("kill", "--all", "--reason", "drill", "--admin", "http://127.0.0.1:1")
        #expect(outcome.status == 69)
        #expect(outcome.complaint.contains("nothing was killed: a kill goes through a gateway that runs"))
    }

    @Test(arguments: [["--admin-token-file", "/no/such"], []])
    func `without a configuration the absent gateway is reported first too`(options: [String]) async throws {
        let program = try Program()
        let outcome = try await program.run(["status", "--admin", "http://127.0.0.1:1"] + options)
        #expect(outcome.status == 69)
        #expect(outcome.complaint.contains("; and nothing could be asked without a token: no "))
        #expect(outcome.complaint.contains(options.last ?? "/.local/state/martlet/admin.token"))
    }
}
