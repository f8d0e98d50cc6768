import TestKit
import Testing

/// How the gateway authenticates to a provider and signs in there, as an operator configures it.
@Suite struct ClientTests {
    /// Writes a secret file that only this user can read.
    private func write(_ secret: String, to file: String, in directory: TemporaryDirectory) throws {
        try directory.write(Array(secret.utf8), to: file)
        try directory.setMode(0o600, of: file)
    }

    @Test func `during a change of secrets the valid one is found at once and kept`() async throws {
        let directory = try TemporaryDirectory()
        try self.write("secret-of-last-year", to: "old-secret", in: directory)
        let mock = try await Mock("--rotate", "--reuse-detection", in: directory)
        let gateway = try await Gateway(mock, secret: "[{ file: old-secret }, { file: client-secret }]", in: directory)
        try await gateway.importGrant(from: mock)

        for _ in 1...2 {
            try await mock.expire()
            #expect(try await gateway.statuses(20, "echo") == ["200": 20])
        }

        let stats = try await mock.stats()
        #expect(stats.token_requests.ok == 2)
        #expect(stats.token_requests.invalid_client == 1)
        #expect(stats.reuse_detections == 0)
        try await eventually("the report") {
            gateway.program.complaints.contains("a provider takes another of the client's secrets than before")
        }
    }

    @Test func `a provider that refuses all secrets is held after one attempt with each`() async throws {
        let directory = try TemporaryDirectory()
        try self.write("secret-of-last-year", to: "old-secret", in: directory)
        try self.write("secret-of-next-year", to: "new-secret", in: directory)
        let mock = try await Mock("--rotate", in: directory)
        let gateway = try await Gateway(mock, secret: "[{ file: old-secret }, { file: new-secret }]", in: directory)
        try await gateway.importGrant(from: mock)
        try await mock.expire()

        #expect(try await gateway.statuses(10, "echo") == ["502": 10])
        #expect(try await gateway.statuses(10, "echo") == ["502": 10])
        let stats = try await mock.stats()
        #expect(stats.token_requests.invalid_client == 2)
        #expect(stats.token_requests.ok == 0)
    }

    @Test func `a password account signs in once, refreshes, and signs in again when its refresh token dies`()
        async throws
    {
        let directory = try TemporaryDirectory()
        try self.write("mock-password", to: "password", in: directory)
        try self.write("robot-2", to: "username", in: directory)
        let mock = try await Mock("--rotate", "--reuse-detection", in: directory)
        let gateway = try await Gateway(
            mock,
            grant: "password, username: { file: username }, password: { file: password }",
            in: directory
        )
        #expect(try Echo(try await gateway.curl("echo")).account == "robot-2")
        try await mock.expire()
        #expect(try await gateway.statuses(20, "echo") == ["200": 20])
        let first = try await mock.stats()
        #expect(first.token_requests.ok == 2)
        #expect(first.refresh_token_uses["robot-2"] == [1])

        try await mock.expire()
        try await mock.setFaults(
            #"[{"on": "token", "status": 400, "body": "{\"error\":\"invalid_grant\"}", "times": 1}]"#
        )
        #expect(try await gateway.statuses(20, "echo") == ["200": 20])
        let second = try await mock.stats()
        // This includes the second sign-in.
        #expect(second.token_requests.ok == 3)
        #expect(try await gateway.martlet("accounts", "import", "alice", input: "r").errors.contains("password"))
    }

    @Test func `check shows what a preset sets, and reports a private key of the wrong type`() async throws {
        let directory = try TemporaryDirectory()
        try self.write(TestCertificates.clientKey, to: "key.pem", in: directory)
        func check(_ algorithm: String) async throws -> Program.Outcome {
            let text = """
                state_dir: \(directory.path(of: "state"))
                providers:
                  acme:
                    preset: auth0
                    issuer: https://acme.example/
                    client_id: my-app
                    private_key: { file: key.pem, algorithm: \(algorithm) }
                accounts: { alice: { provider: acme } }
                routes: [{ name: acme, match: { path: / }, upstream: "http://127.0.0.1:9/", account: alice }]
                """
            try directory.write(Array(text.utf8), to: "martlet.yaml")
            return try await Program.run("martlet", ["check"], in: directory)
        }
        let good = try await check("ES256")
        #expect(good.exitCode == 0, "\(good.errors)")
        #expect(good.output.contains("preset auth0"))
        #expect(good.output.contains("authentication private_key_jwt, ES256 key from file"))
        let bad = try await check("RS256")
        #expect(bad.exitCode == 78)
        #expect(bad.errors.contains("martlet.yaml:7:26: providers.acme.private_key.file:"))
        #expect(bad.errors.contains("holds no RSA private key"))
    }
}
