import FoundationEssentials
import TestKit
import Testing

/// `check` finds the faults that would keep `serve` from starting.
@Suite struct CheckingTests {
    private func check(_ text: String, in directory: TemporaryDirectory) async throws -> Program.Outcome {
        for (name, content) in [
            ("cert.pem", TestCertificates.selfSigned), ("key.pem", TestCertificates.selfSignedKey),
            ("other.pem", TestCertificates.serverKey), ("garbled.pem", "not a certificate"),
            ("half.pem", String(TestCertificates.authority.prefix(200))),
        ] {
            try directory.write(Array(content.utf8), to: name)
            try directory.setMode(0o600, of: name)
        }
        try directory.write(Array(text.utf8), to: "martlet.yaml")
        return try await Program.run("martlet", ["check", "--config", "martlet.yaml"], in: directory)
    }

    @Test func `unusable certificates and keys are reported at their position, together with all other faults`()
        async throws
    {
        let directory = try TemporaryDirectory()

        let outcome = try await self.check(
            """
            state_dir: .
            listeners:
              - { address: 127.0.0.1:1, tls: { certificate: cert.pem, key: other.pem, client_ca: half.pem } }
              - { address: 127.0.0.1:2, tls: { certificate: garbled.pem, key: key.pem } }
              - { address: 127.0.0.1:3, tls: { certificate: cert.pem, key: garbled.pem } }
            shutdown_grace: 30
            providers:
              mock: { issuer: "https://127.0.0.1:9", client_id: me, tls: { ca: garbled.pem } }
            accounts:
              alice: { provider: mock }
            routes:
              - name: acme
                match: { path: /acme/ }
                upstream: https://127.0.0.1:9/
                account: alice
                upstream_tls: { ca: garbled.pem, certificate: cert.pem, key: other.pem }
            """,
            in: directory
        )

        #expect(outcome.exitCode == 78)
        #expect(outcome.output.isEmpty)
        let expected = [
            "3:64: listeners[0].tls.key: the key in \(directory.path(of: "other.pem")) is not that of the first certificate",
            "3:86: listeners[0].tls.client_ca: no certificates could be read from \(directory.path(of: "half.pem"))",
            "4:49: listeners[1].tls.certificate: no certificates could be read from ",
            "5:64: listeners[2].tls.key: \(directory.path(of: "garbled.pem")) holds no key in PEM form",
            "6:17: shutdown_grace: ",
            "8:68: providers.mock.tls.ca: no certificates could be read from ",
            "16:25: routes[0].upstream_tls.ca: no certificates could be read from ",
            "16:66: routes[0].upstream_tls.key: the key in ",
        ]
        let faults = outcome.errors.split(separator: "\n")
        #expect(faults.count == expected.count, "\(outcome.errors)")
        for (fault, start) in zip(faults, expected) {
            #expect(fault.hasPrefix("martlet.yaml:\(start)"))
        }
        #expect(!outcome.errors.contains("PRIVATE KEY"))
    }

    @Test func `usable certificates and keys cause no faults`() async throws {
        let directory = try TemporaryDirectory()

        let outcome = try await self.check(
            """
            state_dir: .
            listeners: [{ address: 127.0.0.1:1, tls: { certificate: cert.pem, key: key.pem, client_ca: cert.pem } }]
            providers:
              mock: { issuer: "https://127.0.0.1:9", client_id: me, tls: { ca: cert.pem } }
            accounts:
              alice: { provider: mock }
            routes:
              - name: acme
                match: { path: /acme/ }
                upstream: https://127.0.0.1:9/
                account: alice
                upstream_tls: { ca: cert.pem, certificate: cert.pem, key: key.pem }
            """,
            in: directory
        )

        #expect(outcome.exitCode == 0, "\(outcome.errors)")
        #expect(outcome.output.contains("shows the certificate in \(directory.path(of: "cert.pem"))"))
    }

    /// A configuration without faults.
    private static let plain = """
        state_dir: state
        listeners: [{ address: 127.0.0.1:0 }]
        providers:
          mock: { issuer: "https://127.0.0.1:9", client_id: me, client_auth: none }
        accounts:
          alice: { provider: mock }
        routes:
          - { name: acme, match: { path: /acme/ }, upstream: "https://127.0.0.1:9/", account: alice }
        """

    @Test func `check --online asks the issuers, shows their endpoints and faults, and sends no token`() async throws {
        // Given an issuer that responds
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        func check(_ issuer: String) async throws -> Program.Outcome {
            let text = Self.plain.replacing("\"https://127.0.0.1:9\", client_id", with: "\"\(issuer)\", client_id")
            try directory.write(Array(text.utf8), to: "martlet.yaml")
            return try await Program.run("martlet", ["check", "--online", "--config", "martlet.yaml"], in: directory)
        }

        // When the configuration has its name, a similar name, and an address where nothing listens
        let right = try await check(mock.address)
        let other = try await check("\(mock.address)/")
        let nobody = try await check("http://127.0.0.1:9")

        // Then each result is reported
        #expect(right.exitCode == 0, "\(right.errors)")
        #expect(right.output.contains("tokens from \(mock.address)/oauth/token"), "\(right.output)")
        #expect(right.output.contains("revocation at \(mock.address)/oauth/revoke"))
        #expect(other.exitCode == 78)
        #expect(
            other.errors.contains("it is of issuer \(mock.address), and the configuration says \(mock.address)/"),
            "\(other.errors)"
        )
        #expect(nobody.exitCode == 69)
        #expect(nobody.errors.contains("can't be fetched (connect_failed)"), "\(nobody.errors)")
        let requests = try await mock.stats().token_requests
        #expect(requests.ok + requests.invalid_client + requests.invalid_grant == 0)
    }

    @Test(arguments: [
        ("brief\n", 0o600, ":1: an admin token has at least 16 characters"),
        ("two words of a line\n", 0o600, ":1: the line is neither a token nor a name, a role and a token, "),
        ("", 0o600, " holds no admin token"),
        ("long-enough-to-be-a-token\n", 0o644, " can be read or written by others (mode 0644, "),
    ])
    func `an admin token file that serve refuses is a fault, and check does not change it`(
        text: String,
        mode: Int,
        fault: String
    ) async throws {
        // Given an admin token file that serve refuses
        let directory = try TemporaryDirectory()
        let configuration = Self.plain.replacing("state_dir: state", with: "state_dir: .")
        try directory.write(Array(text.utf8), to: "admin.token")
        try directory.setMode(mode, of: "admin.token")

        // When the configuration is checked, and served
        let checked = try await self.check(configuration, in: directory)
        let served = try await Program.run("martlet", ["serve", "--config", "martlet.yaml"], in: directory)

        // Then both commands report the same fault
        let message = "/admin.token\(fault)"
        #expect(checked.exitCode == 78)
        #expect(checked.output.isEmpty)
        #expect(checked.errors.hasPrefix("martlet.yaml: \(directory.path)/"), "\(checked.errors)")
        #expect(checked.errors.contains(message), "\(checked.errors)")
        #expect(checked.errors.split(separator: "\n").count == 1)
        #expect(served.exitCode == 78)
        #expect(served.errors.contains(message), "\(served.errors)")
        #expect(directory.bytes(of: "admin.token") == Array(text.utf8))
        #expect(try directory.mode(of: "admin.token") == mode)
    }

    @Test func `an admin token file that is a broken symbolic link is a fault because no start can create it`()
        async throws
    {
        // Given a symbolic link to a missing file
        let directory = try TemporaryDirectory()
        let configuration = Self.plain.replacing("state_dir: state", with: "state_dir: .")
        try FileManager.default.createSymbolicLink(
            atPath: directory.path(of: "admin.token"),
            withDestinationPath: directory.path(of: "gone")
        )

        // When the configuration is checked, and served
        let checked = try await self.check(configuration, in: directory)
        let served = try await Program.run("martlet", ["serve", "--config", "martlet.yaml"], in: directory)

        // Then both commands report the same fault
        let message = "/admin.token is a symbolic link that leads nowhere"
        #expect(checked.exitCode == 78)
        #expect(checked.errors.contains(message), "\(checked.errors)")
        #expect(served.exitCode == 78)
        #expect(served.errors.contains(message), "\(served.errors)")
    }

    @Test func `files that a start would create are no fault, and check does not create them`() async throws {
        // Given a configuration whose gateway has not been started yet
        let directory = try TemporaryDirectory()

        // When it is checked
        let outcome = try await self.check(Self.plain, in: directory)

        // Then there is no fault, and no new file
        #expect(outcome.exitCode == 0, "\(outcome.errors)")
        #expect(try !directory.contents().contains("state"))
    }

    @Test func `a state_dir that is a file is a fault`() async throws {
        let directory = try TemporaryDirectory()
        try directory.write([], to: "state")

        let outcome = try await self.check(Self.plain, in: directory)

        #expect(outcome.exitCode == 78)
        #expect(outcome.output.isEmpty)
        let path = directory.path(of: "state")
        #expect(outcome.errors.hasPrefix("martlet.yaml: state_dir \(path) is not a directory"), "\(outcome.errors)")
        #expect(outcome.errors.split(separator: "\n").count == 1)
    }
}
