import TestKit
import Testing

/// What SIGHUP changes in a running gateway, and what the gateway reports about the rest.
@Suite struct ReloadTests {
    private let directory: TemporaryDirectory

    init() throws {
        self.directory = try TemporaryDirectory()
        try CallerEncryptionTests.present(
            TestCertificates.selfSigned,
            TestCertificates.selfSignedKey,
            in: self.directory
        )
        try self.directory.write(Array(TestCertificates.selfSigned.utf8), to: "first.pem")
        try self.directory.write(Array(TestCertificates.authority.utf8), to: "second.pem")
    }

    private func withGateway(_ test: (Gateway) async throws -> Void) async throws {
        let mock = try await Mock(in: self.directory)
        let gateway = try await Gateway(mock, in: self.directory, listener: CallerEncryptionTests.listener)
        try await gateway.importGrant(from: mock)
        try await test(gateway)
        withExtendedLifetime(mock) {}
    }

    /// The status code of a request from a caller that trusts `root`; 000 if the caller does not trust the gateway.
    private func status(_ gateway: Gateway, trusting root: String) async throws -> String {
        try await Program.run(
            "/usr/bin/curl",
            [
                "-q", "--noproxy", "*", "-s", "--cacert", root, "-o", "/dev/null", "-w", "%{http_code}",
                "\(gateway.callers)/acme/echo",
            ],
            in: self.directory
        ).output
    }

    private func edit(_ change: (String) -> String) throws {
        let text = String(decoding: try #require(self.directory.bytes(of: "martlet.yaml")), as: UTF8.self)
        try self.directory.write(Array(change(text).utf8), to: "martlet.yaml")
    }

    @Test func `new connections see a rotated certificate, and an open one continues`() async throws {
        try await self.withGateway { gateway in
            #expect(try await self.status(gateway, trusting: "first.pem") == "200")
            // Given a caller in the middle of a response that sends its next request on the same connection
            let caller = try Program(
                "/usr/bin/curl",
                [
                    "-q", "--noproxy", "*", "-sSN", "--cacert", "first.pem", "-w", "connects %{num_connects}\\n",
                    "\(gateway.callers)/acme/stream/4?every=500ms", "\(gateway.callers)/acme/status/200",
                ],
                in: self.directory
            )
            try await eventually("the first event") { caller.written.contains("data:") }

            try CallerEncryptionTests.present(TestCertificates.valid, TestCertificates.serverKey, in: self.directory)
            let line = try await gateway.reload("config_reloaded")

            #expect(line.contains("listener 127.0.0.1:0"), "\(line)")
            #expect(try await self.status(gateway, trusting: "second.pem") == "200")
            #expect(try await self.status(gateway, trusting: "first.pem") == "000")
            let outcome = try await caller.ended()
            #expect(outcome.exitCode == 0, "\(outcome.errors)")
            #expect(outcome.output.split(separator: "\n").count { $0.hasPrefix("data:") } == 4)
            #expect(outcome.output.contains("connects 1\n"))
            #expect(outcome.output.contains("connects 0\n"))
            #expect(try await gateway.reload("config_reloaded").contains("nothing"))
        }
    }

    @Test func `an unusable certificate changes nothing`() async throws {
        try await self.withGateway { gateway in
            // The certificate is new and the key is still the old one.
            try self.directory.write(Array(TestCertificates.valid.utf8), to: "cert.pem")
            let line = try await gateway.reload("certificate_unusable")
            #expect(line.contains(#""level":"error""#), "\(line)")
            #expect(line.contains("is not that of the first certificate in"))
            #expect(try await self.status(gateway, trusting: "first.pem") == "200")
            // When the key is replaced too, the reload succeeds
            try CallerEncryptionTests.present(TestCertificates.valid, TestCertificates.serverKey, in: self.directory)
            _ = try await gateway.reload("config_reloaded")
            #expect(try await self.status(gateway, trusting: "second.pem") == "200")
        }
    }

    @Test func `an invalid file changes nothing, and its faults are reported`() async throws {
        try await self.withGateway { gateway in
            try CallerEncryptionTests.present(TestCertificates.valid, TestCertificates.serverKey, in: self.directory)
            try self.edit { $0.replacing("strip: true", with: "strip: maybe") }
            let line = try await gateway.reload("config_invalid")
            #expect(line.contains("routes[0].strip: expected true or false"), "\(line)")
            let status = try await gateway.martlet("status").output
            #expect(status.contains("\nconfiguration  reload failed "), "\(status)")
            #expect(status.contains("routes[0].strip: expected true or false"), "\(status)")
            #expect(try await self.status(gateway, trusting: "first.pem") == "200")
            // The fault is shown until a reload succeeds
            try self.edit { $0.replacing("strip: maybe", with: "strip: true") }
            _ = try await gateway.reload("config_reloaded")
            let after = try await gateway.martlet("status").output
            #expect(after.hasPrefix("martlet "), "\(after)")
            #expect(!after.contains("configuration"), "\(after)")
        }
    }

    @Test func `settings that can't change while the gateway runs are named`() async throws {
        try await self.withGateway { gateway in
            try CallerEncryptionTests.present(TestCertificates.valid, TestCertificates.serverKey, in: self.directory)
            try self.edit {
                $0.replacing("strip: true", with: "strip: false") + """

                    shutdown_grace: 7s
                    store: { driver: memory }
                    login: { address: 127.0.0.1:0, redirect_uri: https://martlet.example/login/callback }

                    """
            }
            let line = try await gateway.reload("config_needs_restart")
            #expect(line.contains(#""login, store, shutdown_grace""#), "\(line)")
            let status = try await gateway.martlet("status").output
            let needs = "restart needed for what was changed in login, store, shutdown_grace\n"
            #expect(status.contains(needs), "\(status)")
            // All other settings change nevertheless
            #expect(try await self.status(gateway, trusting: "second.pem") == "404")
        }
    }

    @Test func `a reload that changes nothing reports what needs a restart, also in the audit log`() async throws {
        try await self.withGateway { gateway in
            // Given a file in which only settings that need a restart have changed
            try self.edit { $0 + "\nshutdown_grace: 7s\n" }

            // When it is reloaded
            let line = try await gateway.reload("config_reloaded")

            // Then the log reports those settings
            let outcome = "nothing is different before a restart: shutdown_grace"
            #expect(line.contains(outcome), "\(line)")
            let audit = try await gateway.martlet("audit").output
            #expect(audit.contains(outcome), "\(audit)")
        }
    }

    @Test func `a new admin token is accepted, and a removed one is refused`() async throws {
        try await self.withGateway { gateway in
            let old = try #require(self.directory.bytes(of: "state/admin.token"))
            try self.directory.write(old, to: "old.token")
            try self.directory.setMode(0o600, of: "old.token")
            try self.directory.write(Array("new-token-canary\n".utf8), to: "state/admin.token")
            #expect(try await gateway.martlet("status").exitCode == 77)

            let line = try await gateway.reload("config_reloaded")

            #expect(line.contains("admin tokens"), "\(line)")
            #expect(try await gateway.martlet("status").exitCode == 0)
            let refused = try await Program.run(
                "martlet",
                ["status", "--admin", gateway.admin, "--admin-token-file", "old.token"],
                in: self.directory
            )
            #expect(refused.exitCode == 77)
            #expect(!gateway.program.complaints.contains("canary"))

            try self.directory.setMode(0o644, of: "state/admin.token")
            #expect(try await gateway.reload("admin_tokens_unusable").contains("admin.token"))
        }
    }

    @Test func `a reload reads an upstream's CA certificates again`() async throws {
        let mock = try await Mock("--tls", "first.pem,key.pem", in: self.directory)
        try self.directory.write(Array(TestCertificates.authority.utf8), to: "roots.pem")
        let gateway = try await Gateway(
            mock,
            settings: "tls: { ca: first.pem }",
            in: self.directory,
            route: "upstream_tls: { ca: roots.pem }"
        )
        try await gateway.importGrant(from: mock)
        #expect(try await gateway.curl("echo", ["-o", "/dev/null", "-w", "%{http_code}"]) == "502")
        try self.directory.write(Array(TestCertificates.selfSigned.utf8), to: "roots.pem")
        let line = try await gateway.reload("config_reloaded")
        #expect(line.contains("route acme"), "\(line)")
        #expect(try await gateway.curl("echo", ["-o", "/dev/null", "-w", "%{http_code}"]) == "200")
    }
}
