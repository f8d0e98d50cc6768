import TestKit
import Testing

/// Callers that use TLS, including curl.
@Suite struct CallerEncryptionTests {
    static let listener = "127.0.0.1:0, tls: { certificate: cert.pem, key: key.pem, client_ca: clients.pem }"

    /// Writes a listener's certificate, key and client CA.
    static func present(_ certificate: String, _ key: String, in directory: TemporaryDirectory) throws {
        for (name, text) in [("cert.pem", certificate), ("key.pem", key)] {
            try directory.write(Array(text.utf8), to: name)
            try directory.setMode(0o600, of: name)
        }
        try directory.write(Array(TestCertificates.clientAuthority.utf8), to: "clients.pem")
    }

    @Test func `a caller gets through over TLS and ALPN selects HTTP/1`() async throws {
        let directory = try TemporaryDirectory()
        try Self.present(TestCertificates.selfSigned, TestCertificates.selfSignedKey, in: directory)
        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(mock, in: directory, listener: Self.listener)
        try await gateway.importGrant(from: mock)
        #expect(gateway.callers.hasPrefix("https://127.0.0.1:"))

        let outcome = try await Program.run(
            "/usr/bin/curl",
            [
                "-q", "--noproxy", "*", "-sSv", "--cacert", "cert.pem", "--data-binary", "hello",
                "\(gateway.callers)/acme/echo",
            ],
            in: directory
        )

        #expect(outcome.exitCode == 0, "\(outcome.errors)")
        #expect(try Echo(outcome.output).body_size == 5)
        #expect(outcome.errors.contains(/ALPN.*accepted.*http\/1\.1/), "\(outcome.errors)")
    }

    @Test func `client certificates are optional and one from an unknown CA is refused`() async throws {
        let directory = try TemporaryDirectory()
        try Self.present(TestCertificates.selfSigned, TestCertificates.selfSignedKey, in: directory)
        for (name, text) in [("client.pem", TestCertificates.client), ("client.key", TestCertificates.clientKey)] {
            try directory.write(Array(text.utf8), to: name)
        }
        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(mock, in: directory, listener: Self.listener)
        try await gateway.importGrant(from: mock)

        func status(_ arguments: String...) async throws -> String {
            try await Program.run(
                "/usr/bin/curl",
                ["-q", "--noproxy", "*", "-s", "--cacert", "cert.pem", "-o", "/dev/null", "-w", "%{http_code}"]
                    + arguments + ["\(gateway.callers)/acme/echo"],
                in: directory
            ).output
        }

        #expect(try await status() == "200")
        #expect(try await status("--cert", "client.pem", "--key", "client.key") == "200")
        #expect(try await status("--cert", "cert.pem", "--key", "key.pem") == "000")
        try await eventually("a word of it") { gateway.program.complaints.contains("handshake_untrusted_caller") }
    }

    @Test func `the listener names its client CAs so that a caller can choose a certificate`() async throws {
        let directory = try TemporaryDirectory()
        try Self.present(TestCertificates.selfSigned, TestCertificates.selfSignedKey, in: directory)
        let gateway = try await Gateway(Mock(in: directory), in: directory, listener: Self.listener)

        let outcome = try await Program.run(
            "/usr/bin/openssl",
            ["s_client", "-connect", String(gateway.callers.dropFirst("https://".count)), "-CAfile", "cert.pem"],
            in: directory
        )

        #expect(
            outcome.output.contains("Acceptable client certificate CA names\nCN = Test client ca\n"),
            "\(outcome.output)"
        )
    }

    @Test(arguments: [
        ("a key of another certificate", TestCertificates.serverKey, 0o600, "is not that of the first certificate in"),
        ("a key that others can read", TestCertificates.selfSignedKey, 0o644, "can be read or written by others"),
    ])
    func `an unusable certificate or key keeps the gateway from starting`(
        what: String,
        key: String,
        mode: Int,
        reason: String
    ) async throws {
        let directory = try TemporaryDirectory()
        try Self.present(TestCertificates.selfSigned, key, in: directory)
        try directory.setMode(mode, of: "key.pem")
        let uses = [
            ("listener", Self.listener, "strip: true"),
            ("route", "127.0.0.1:0", "upstream_tls: { certificate: cert.pem, key: key.pem }"),
        ]
        for (place, listener, route) in uses {
            try Gateway.configure("https://127.0.0.1:9", in: directory, listener: listener, route: route)
            let outcome = try await Program.run("martlet", ["serve", "--config", "martlet.yaml"], in: directory)
            #expect(outcome.exitCode == 78, "\(place)")
            #expect(outcome.errors.split(separator: "\n").count == 1, "\(outcome.errors)")
            #expect(outcome.errors.contains("key.pem"))
            #expect(outcome.errors.contains(reason))
        }
    }
}
