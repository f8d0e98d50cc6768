import Foundation
import MockServers
import NIOSSL
import TestKit

/// A self-signed certificate for 127.0.0.1 and its key, used only in tests.
enum TLSFixture {
    /// Writes the certificate and the key to files that exist while `body` runs.
    static func withFiles<Outcome>(_ body: (MockOptions.TLSFiles) async throws -> Outcome) async throws -> Outcome {
        let folder = FileManager.default.temporaryDirectory.appending(path: "martlet-mock-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let certificate = folder.appending(path: "cert.pem")
        let privateKey = folder.appending(path: "key.pem")
        try Data(TestCertificates.selfSigned.utf8).write(to: certificate)
        try Data(TestCertificates.selfSignedKey.utf8).write(to: privateKey)
        return try await body(MockOptions.TLSFiles(certificate: certificate.path, privateKey: privateKey.path))
    }

    /// The root certificate that a client must trust.
    static var root: NIOSSLCertificate {
        get throws { try NIOSSLCertificate(bytes: Array(TestCertificates.selfSigned.utf8), format: .pem) }
    }
}
