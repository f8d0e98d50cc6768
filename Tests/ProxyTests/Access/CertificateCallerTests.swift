import HTTPWire
import NIOSSL
import Proxy
import TestKit
import Testing

/// What a certificate does not do for whoever shows it.
@Suite struct CertificateCallerTests {
    private static let identity = (TestCertificates.client, TestCertificates.clientKey)

    private func table(_ plans: [CallerConfiguration]) -> CallerTable {
        CallerTable(plans, routes: RouteTable([.sample(port: 1)]))
    }

    /// What is said to a request of a connection that has shown `certificate`; `nil` where its caller is let in.
    private func refusal(
        _ fields: String,
        showing certificate: ClientCertificate,
        of table: CallerTable
    ) throws -> GatewayError.Code? {
        var unverified = UnverifiedCaller(isOnUnixSocket: false, certificate: certificate)
        let request = try RequestHead.parsed("GET /acme/ HTTP/1.1\r\nHost: any.example\r\n\(fields)\r\n")
        do throws(GatewayError) {
            _ = try table.authenticate(request, &unverified)
            return nil
        } catch {
            return error.code
        }
    }

    @Test(
        arguments: [
            // 2020-01-01T00:00:00Z, and 2021-01-01T00:00:00Z.
            (1_577_836_799, false), (1_577_836_800, true), (1_609_459_200, true), (1_609_459_201, false),
        ]
    )
    func `a certificate has names from its first second to its last`(now: Int, isCurrent: Bool) throws {
        let certificate = try #require(
            try NIOSSLCertificate.fromPEMBytes(Array(TestCertificates.expired.utf8)).first
        )
        let names: [CertificateName] = isCurrent ? [.subject("CN=Test server")] : []
        #expect(ClientCertificate(certificate, at: now).names == names)
    }

    @Test func `one that has run out is nobody's, as in a handshake that resumes a session`() throws {
        let certificate = try #require(
            try NIOSSLCertificate.fromPEMBytes(Array(TestCertificates.expired.utf8)).first
        )
        let table = self.table([CallerConfiguration(name: "batch", certificate: .subject("CN=Test server"))])
        let inTime = ClientCertificate(certificate, at: 1_600_000_000)
        #expect(try self.refusal("", showing: inTime, of: table) == nil)
        #expect(try self.refusal("", showing: ClientCertificate(certificate), of: table) == .callerUnknown)
    }

    @Test func `names that look the same are not`() throws {
        // Unicode calls U+212A, the sign of the kelvin, equivalent to the letter, and é to e with an accent behind it.
        for (one, other) in [("CN=K", "CN=\u{212A}"), ("CN=\u{E9}", "CN=e\u{301}")] {
            let table = self.table([CallerConfiguration(name: "batch", certificate: .subject(one))])
            let itself = ClientCertificate(names: [.subject(one)])
            #expect(try self.refusal("", showing: itself, of: table) == nil)
            let lookalike = ClientCertificate(names: [.subject(other)])
            #expect(try self.refusal("", showing: lookalike, of: table) == .callerUnknown)
        }
    }

    @Test(
        arguments: [
            ("", nil), ("Sec-Fetch-Site: none\r\n", nil), ("Referer: https://evil.example/\r\n", nil),
            ("Origin: https://evil.example\r\n", .callerForbidden), ("Origin: null\r\n", .callerForbidden),
            ("Sec-Fetch-Site: cross-site\r\n", .callerForbidden),
            ("Sec-Fetch-Site: same-origin\r\n", .callerForbidden),
            // A browser sends a password that it knows by itself too.
            ("Origin: https://evil.example\r\nAuthorization: Basic dTpyaWdodA==\r\n", .callerForbidden),
        ] as [(String, GatewayError.Code?)]
    )
    func `a certificate lets no web page in`(fields: String, code: GatewayError.Code?) throws {
        let table = self.table([
            CallerConfiguration(name: "batch", keys: [try .of("right")], certificate: .dns("batch.internal"))
        ])
        let certificate = ClientCertificate(names: [.dns("batch.internal")])
        #expect(try self.refusal(fields, showing: certificate, of: table) == code)
        // Nor is a stranger told anything else than without one.
        let stranger = ClientCertificate(names: [.dns("other.internal")])
        #expect(try self.refusal(fields, showing: stranger, of: table) == .callerUnknown)
    }

    @Test func `over TLS too`() async throws {
        let files = try TLSFiles()
        var setup = Rig.Setup()
        setup.tls = try CallerTLS(files.pair("server"), clientAuthorities: files.path("client-ca.pem"))
        setup.callers = [CallerConfiguration(name: "batch", certificate: .dns("batch.internal"))]
        try await withRig(setup) { rig in
            let caller = try await rig.secureCaller(.caller(showing: Self.identity))
            for (field, status) in [("X: y", 404), ("Origin: https://evil.example", 403), ("X: y", 404)] {
                try await caller.send("GET /nowhere HTTP/1.1\r\nHost: a\r\n\(field)\r\n\r\n")
                #expect(try await caller.answer().head.status == status)
            }
        }
    }
}
