import HTTPWire
import NIOSSL
import Proxy
import TestKit
import Testing

/// Limits of what a client certificate proves about a caller.
@Suite struct CertificateCallerTests {
    private static let identity = (TestCertificates.client, TestCertificates.clientKey)

    private func table(_ plans: [CallerConfiguration]) -> CallerTable {
        CallerTable(plans, routes: RouteTable([.sample(port: 1)]))
    }

    /// The error code for a request on a connection that has shown `certificate`; `nil` when its caller is let in.
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
            // The certificate is valid from 2020-01-01T00:00:00Z to 2021-01-01T00:00:00Z.
            (1_577_836_799, false), (1_577_836_800, true), (1_609_459_200, true), (1_609_459_201, false),
        ]
    )
    func `a certificate has names only in its validity period, first and last second included`(
        now: Int,
        isCurrent: Bool
    ) throws {
        let certificate = try #require(
            try NIOSSLCertificate.fromPEMBytes(Array(TestCertificates.expired.utf8)).first
        )
        let names: [CertificateName] = isCurrent ? [.subject("CN=Test server")] : []
        #expect(ClientCertificate(certificate, at: now).names == names)
    }

    @Test func `an expired certificate authenticates nobody, even when a handshake resumes a session`() throws {
        let certificate = try #require(
            try NIOSSLCertificate.fromPEMBytes(Array(TestCertificates.expired.utf8)).first
        )
        let table = self.table([CallerConfiguration(name: "batch", certificate: .subject("CN=Test server"))])
        let inTime = ClientCertificate(certificate, at: 1_600_000_000)
        #expect(try self.refusal("", showing: inTime, of: table) == nil)
        #expect(try self.refusal("", showing: ClientCertificate(certificate), of: table) == .callerUnknown)
    }

    @Test func `names that look alike are different`() throws {
        // Unicode treats U+212A, the kelvin sign, as equivalent to the letter K, and é to e with a combining accent.
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
            // A browser also sends a stored Basic password of its own accord.
            ("Origin: https://evil.example\r\nAuthorization: Basic dTpyaWdodA==\r\n", .callerForbidden),
        ] as [(String, GatewayError.Code?)]
    )
    func `a certificate admits no request from a web page`(fields: String, code: GatewayError.Code?) throws {
        let table = self.table([
            CallerConfiguration(name: "batch", keys: [try .of("right")], certificate: .dns("batch.internal"))
        ])
        let certificate = ClientCertificate(names: [.dns("batch.internal")])
        #expect(try self.refusal(fields, showing: certificate, of: table) == code)
        // An unknown certificate gets the same error whatever the fields say.
        let stranger = ClientCertificate(names: [.dns("other.internal")])
        #expect(try self.refusal(fields, showing: stranger, of: table) == .callerUnknown)
    }

    @Test func `over TLS a certificate admits no request from a web page either`() async throws {
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
