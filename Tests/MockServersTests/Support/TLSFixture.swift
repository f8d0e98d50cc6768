import Foundation
import MockServers
import NIOSSL

/// A certificate for 127.0.0.1 that vouches for itself, with its key. It guards nothing but these tests.
enum TLSFixture {
    /// Puts both into files for the time of `body`.
    static func withFiles<Outcome>(_ body: (MockOptions.TLSFiles) async throws -> Outcome) async throws -> Outcome {
        let folder = FileManager.default.temporaryDirectory.appending(path: "martlet-mock-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let certificate = folder.appending(path: "cert.pem")
        let privateKey = folder.appending(path: "key.pem")
        try Data(Self.certificate.utf8).write(to: certificate)
        try Data(Self.privateKey.utf8).write(to: privateKey)
        return try await body(MockOptions.TLSFiles(certificate: certificate.path, privateKey: privateKey.path))
    }

    /// What a client must trust.
    static var root: NIOSSLCertificate {
        get throws { try NIOSSLCertificate(bytes: Array(Self.certificate.utf8), format: .pem) }
    }

    private static let certificate = """
        -----BEGIN CERTIFICATE-----
        MIIBWDCB/qADAgECAgEBMAoGCCqGSM49BAMCMBwxGjAYBgNVBAMMEW1hcnRsZXQt
        bW9jayB0ZXN0MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAcMRow
        GAYDVQQDDBFtYXJ0bGV0LW1vY2sgdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEH
        A0IABHJ1pwCOR1jD4SmrpJ6nKrCHhmhslyMbYnZtu9zbXUrkvNQ0+r/P5qEsy5u5
        9r/48QierWGD/9jlWqsOXfkDdX+jLzAtMBoGA1UdEQQTMBGCCWxvY2FsaG9zdIcE
        fwAAATAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0kAMEYCIQDwLYUrEufV
        6eViEmUMsU7arv20u30zxZyleX4BCbD84QIhANP4e66G4Yt42uh0WtZMSzYOnMPQ
        ZvU6Drf/CYa7mKf9
        -----END CERTIFICATE-----
        """

    private static let privateKey = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgTDI7OYqNt559Iubj
        +KqpY43mpQy3ksb/leAWlqGXOcqhRANCAARydacAjkdYw+Epq6Sepyqwh4ZobJcj
        G2J2bbvc211K5LzUNPq/z+ahLMubufa/+PEInq1hg//Y5VqrDl35A3V/
        -----END PRIVATE KEY-----
        """
}
