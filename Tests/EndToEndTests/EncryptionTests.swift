import TestKit
import Testing

/// An upstream that uses TLS must prove its identity.
@Suite struct EncryptionTests {
    private static let trusting = "upstream_tls: { ca: ca.pem }"

    /// The response body and status code that a caller gets from a route to a mock with that certificate, and the
    /// gateway's log.
    private func request(
        _ certificate: String,
        _ key: String,
        ca: String,
        host: String? = nil,
        route: String
    ) async throws -> (answer: String, log: String) {
        let directory = try TemporaryDirectory()
        for (name, text) in [("cert.pem", certificate), ("key.pem", key), ("ca.pem", ca)] {
            try directory.write(Array(text.utf8), to: name)
        }
        let mock = try await Mock("--tls", "cert.pem,key.pem", in: directory, host: host)
        let gateway = try await Gateway(mock, settings: "tls: { ca: ca.pem }", in: directory, route: route)
        try await gateway.importGrant(from: mock)
        let answer = try await gateway.curl("echo", ["-w", "\\n%{http_code}"])
        gateway.program.signal(15)
        return (answer, try await gateway.program.ended().errors)
    }

    @Test(arguments: ["127.0.0.1", "localhost"])
    func `an upstream whose CA is configured is trusted by address and by name`(host: String) async throws {
        let (text, _) = try await self.request(
            TestCertificates.selfSigned,
            TestCertificates.selfSignedKey,
            ca: TestCertificates.selfSigned,
            host: host,
            route: Self.trusting
        )
        #expect(text.hasSuffix("\n200"), "\(text)")
    }

    @Test(arguments: [
        ("an unknown root", TestCertificates.valid, "strip: true"),
        ("another name", TestCertificates.forAnotherHost, trusting),
        ("an expired certificate", TestCertificates.expired, trusting),
    ])
    func `any other upstream is not trusted`(what: String, certificate: String, route: String) async throws {
        let (text, log) = try await self.request(
            certificate,
            TestCertificates.serverKey,
            ca: TestCertificates.authority,
            route: route
        )
        #expect(text.hasSuffix("\n502"), "\(text)")
        #expect(text.contains("urn:martlet:error:upstream_unreachable"))
        #expect(log.contains("see upstream_tls"))
    }

    @Test func `a CA file that is no certificate keeps the gateway from starting`() async throws {
        let directory = try TemporaryDirectory()
        try directory.write(Array("not a certificate".utf8), to: "ca.pem")
        try Gateway.configure("https://127.0.0.1:9", in: directory, route: Self.trusting)
        let outcome = try await Program.run("martlet", ["serve", "--config", "martlet.yaml"], in: directory)
        #expect(outcome.exitCode == 78)
        #expect(outcome.errors.contains("ca.pem"))
    }
}
